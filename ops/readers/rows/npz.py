"""`readers.npz`: rows of arrays in npz files."""

from __future__ import annotations

import math
import struct
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.decoders.npy_header import Header, read_header
from gradiva.ops.readers.core.containers import Containers, Places, check_not_empty
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions, storage_of
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.handles import Handle, close_handle, open_handle, pread
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.streams import opened_file

from .conversions import as_array
from .fitting import attempted, fitted
from .row_table import FileRows
from .values import column_of, types_of_columns

if TYPE_CHECKING:
    import zipfile
else:
    zipfile = lazy_module("zipfile")

__all__ = ["Npz", "npz"]


@source_operator("readers.npz", schema="readers__Npz")
@op.uses_arguments(ReaderArguments)
def npz(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read rows of the arrays in npz files, as `numpy.savez` writes them.

    A sample is a row of all of them: an element along their first axis. Of a file, only the rows of
    a batch are read.

    Args:
        paths: the files, one or several.
        columns: for each output the name of an array. All of a file have as many rows.
        dtypes: for each output its type; that of the array by default.

    Returns:
        For each output the rows of its array.

    Raises:
        OperatorValueError: for a missing file, and one that lacks an array.
        OperatorRuntimeError: with the file, for one that is damaged or compressed
            (`numpy.savez_compressed`), and with the row, for what cannot be read, and for a value
            that the type does not hold.

    Example:
        reader = gradiva.readers.Npz(paths="data.npz", columns=["images", "labels"])
        for images, labels in reader.next_epoch(batch_size=4):
            print(images.shape)  # [(8, 8, 3), (8, 8, 3), (8, 8, 3), (8, 8, 3)]
    """
    return types_of_columns(columns, dtypes)


class _Member(NamedTuple):
    """An array in a file: its header, and the byte where its values begin."""

    header: Header
    begin: int

    @property
    def stride(self) -> int:
        return math.prod(self.header.shape[1:]) * self.header.dtype.itemsize


class NpzTable(FileRows):
    """Rows of npz files."""

    def __init__(
        self, containers: Containers, members: list[list[_Member]], types: tuple[op.SampleType, ...]
    ) -> None:
        super().__init__(containers, [one[0].header.shape[0] for one in members], types)
        self._members = members

    def _chosen(self, indices: op.Int64Array, column: int) -> Places:
        files, rows = self._places(indices)
        begins = np.array([one[column].begin for one in self._members], np.int64)
        strides = np.array([one[column].stride for one in self._members], np.int64)
        return Places(files, begins[files] + rows * strides[files], strides[files])

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        files = self._places(indices)[0].tolist()
        columns = []
        for number, type in enumerate(self._types):
            raw = self._containers.read(self._chosen(indices, number), pool, failures)
            headers = [self._members[file][number].header for file in files]
            values = _values(raw, headers, type.dtype, failures)
            columns.append(column_of(values, type.dtype, failures))
        return Records(tuple(columns), failures)

    def sizes(self) -> op.Int64Array:
        strides = [sum(one.stride for one in columns) for columns in self._members]
        return np.repeat(np.array(strides, np.int64), np.diff(self._ends, prepend=0))

    def prefetch(self, indices: op.Int64Array) -> None:
        for number in range(len(self._types)):
            self._containers.prefetch(self._chosen(indices, number))


def _values(
    raw: op.Batch, headers: list[Header], dtype: op.DType | None, failures: Failures
) -> list[np.ndarray[Any, Any] | None]:
    """The rows in a type; None for those that have failed."""
    whole: Any = None
    if dtype is not None and len({header.dtype for header in headers}) == 1:  # all at once
        stored = raw.data[: raw.batch_shape.size].view(headers[0].dtype)
        whole = attempted(partial(fitted, stored, dtype))
        whole = None if isinstance(whole, op.SampleDataError) else whole
    views = raw.batch_shape.views(raw.data)
    values: list[np.ndarray[Any, Any] | None] = []
    for sample, (header, view) in enumerate(zip(headers, views, strict=True)):
        if sample in failures:
            values.append(None)
        elif whole is not None:
            begin = int(raw.batch_shape.offsets[sample]) // header.dtype.itemsize
            count = view.size // header.dtype.itemsize
            values.append(whole[begin : begin + count].reshape(header.shape[1:]))
        else:
            try:
                stored = view.view(header.dtype).reshape(header.shape[1:])
                values.append(as_array(stored, dtype))
            except op.SampleDataError as error:
                failures.setdefault(sample, error)
                values.append(None)
    return values


def _members(
    path: str, size: int, columns: tuple[str, ...], storage: Storage | None
) -> list[_Member]:
    """The arrays of these names. Raises OperatorValueError, SampleDataError, OSError."""
    handle = open_handle(path, storage)
    try:
        try:
            with opened_file(path, storage) as stream, zipfile.ZipFile(stream) as archive:
                entries = {one.filename: one for one in archive.infolist()}
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
            raise op.SampleDataError(f"this is no npz file, or a damaged one: {error}") from None
        found = []
        for name in columns:
            entry = entries.get(f"{name}.npy")
            if entry is None:
                names = ", ".join(one.removesuffix(".npy") for one in list(entries)[:5])
                raise op.OperatorValueError(
                    argument="columns",
                    expected=f"arrays of the file, which has {names or 'none'}",
                    got=repr(name),
                    file=path,
                )
            found.append(_member(handle, size, entry))
        return found
    finally:
        close_handle(handle)


def _member(handle: Handle, size: int, entry: zipfile.ZipInfo) -> _Member:
    """Where the array of an entry lies. (ZIP: a local header has 30 bytes, a name and more.)"""
    name = entry.filename
    if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
        raise op.SampleDataError(
            f"{name} is compressed: its rows have no places; write it with numpy.savez"
        )
    local = pread(handle, 30, max(entry.header_offset, 0))
    if len(local) < 30 or local[:4] != b"PK\3\4":
        raise op.SampleDataError(f"a damaged npz file: the header of {name}")
    begin = entry.header_offset + 30 + sum(struct.unpack("<HH", local[26:30]))
    end = begin + entry.file_size
    if end > size:
        raise op.SampleDataError(f"a damaged npz file: {name} ends behind it")
    header = read_header(
        lambda count: pread(handle, min(count, end - begin), begin), entry.file_size
    )
    if not header.shape:
        raise op.SampleDataError(f"{name} has no rows", expected="at least one axis")
    if header.fortran and len(header.shape) > 1:
        raise op.SampleDataError(f"{name} is in the order of Fortran: its rows have no places")
    return _Member(header, begin + header.begin)


@opens_table(npz, container=True)
def _open_table(given: dict[str, Any]) -> NpzTable:
    containers = Containers(given["paths"], "paths", storage_of(given))
    members = []
    for path, facts in zip(containers.paths, containers.facts, strict=True):
        try:
            found = _members(path, facts.size, given["columns"], containers.storage)
        except op.SampleDataError as error:
            raise op.OperatorRuntimeError(
                error.problem, expected=error.expected, got=error.got, file=path
            ) from None
        except OSError as error:
            raise op.OperatorRuntimeError(f"the file cannot be read: {error}", file=path) from error
        rows = {one.header.shape[0] for one in found}
        if len(rows) != 1:
            raise op.OperatorValueError(
                argument="columns",
                expected="arrays of as many rows",
                got=", ".join(str(one.header.shape) for one in found),
                file=path,
            )
        members.append(found)
    types = types_of_columns(given["columns"], given["dtypes"])
    table = NpzTable(containers, members, types)
    check_not_empty(len(table), containers, "paths")
    return table


Npz = reader_class("Npz", npz)
