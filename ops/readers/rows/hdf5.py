"""`readers.hdf5`: rows of data sets in HDF5 files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.readers.core.containers import Containers, check_not_empty
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.reader_arguments import DTypes, ReaderArguments, ReaderOptions, storage_of
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.streams import opened_file
from gradiva.ops.storage.urls import is_url

from .fitting import rows_fitted
from .hdf5_guard import GuardedFile
from .hdf5_sources import Source, Sources, check_not_missing, sources_of
from .row_table import RowTable
from .values import first_line, types_of_columns

__all__ = ["HDF5", "hdf5"]

h5py: Any = lazy_module("h5py", "'gradiva[hdf5]'")


@source_operator("readers.hdf5", schema="readers__HDF5")
@op.uses_arguments(ReaderArguments)
def hdf5(
    *,
    paths: op.Paths,
    columns: op.Strings,
    dtypes: DTypes | None = None,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read rows of data sets in HDF5 files.

    A sample is a row of all of them: an element along their first axis. This needs h5py:
    `gradiva[hdf5]`.

    Args:
        paths: the files, one or several.
        columns: for each output the name of a data set in the files, such as `train/images`. All of
            a file have as many rows.
        dtypes: for each output its type; that of the data set by default.

    Returns:
        For each output the rows of its data set; texts and bytes as uint8, 1-D.

    Raises:
        OperatorValueError: for a missing file, and one that lacks a data set.
        OperatorRuntimeError: with the file and the row, for what cannot be read, for a file that
            has changed, for values of a virtual data set whose file is missing, and for a value
            that the type does not hold.

    Example:
        reader = gradiva.readers.HDF5(paths="data.h5", columns=["train/images", "train/labels"])
        for images, labels in reader.next_epoch(batch_size=4):
            print(images.shape)  # [(8, 8, 3), (8, 8, 3), (8, 8, 3), (8, 8, 3)]
    """
    return types_of_columns(columns, dtypes)


_STRANGE = (RuntimeError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_ERRORS = (OSError, MemoryError, *_STRANGE)
"""What h5py raises for files that are damaged."""


_COMPRESSED: Final = 1032
"""No compressed data stand for more than so many times their size (deflate's limit)."""


class HDF5Table(RowTable):
    """Rows of HDF5 files. The library's own lock lets one thread read at a time."""

    def __init__(
        self,
        containers: Containers,
        counts: list[int],
        types: tuple[op.SampleType, ...],
        columns: tuple[str, ...],
        ragged: list[bool],
    ) -> None:
        """ragged: of each file, whether it has values of any length in these columns."""
        super().__init__(containers, counts, types)
        self._columns = columns
        self._heaps: list[dict[int, int] | None] = [{} if one else None for one in ragged]
        """Of these files, the heaps that were good."""
        self._sources = Sources()
        self._parts: dict[tuple[int, str], list[Source]] = {}
        """Of virtual data sets: of what they are made."""

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """None: data sets may have values in other files, by links and as virtual data sets."""
        return [None] * len(indices)

    def load(self, file: int, rows: op.Int64Array) -> list[Sequence[Any]]:
        cuts = np.flatnonzero(np.diff(rows) != 1) + 1
        found: list[Sequence[Any]] = []
        # It is opened for each batch: what it keeps open does not survive a fork.
        path, heaps = self._containers.paths[file], self._heaps[file]
        try:
            with _opened(path, self.storage, heaps) as opened:
                for name, type in zip(self._columns, self._types, strict=True):
                    parts = np.split(rows, cuts)
                    found.append(self._column(file, opened, name, parts, type.dtype))
        except op.GradivaError:
            raise
        except _STRANGE as error:
            raise _damaged(error) from None
        self.check(file)  # what it was before is not enough: it may have changed meanwhile
        return found

    def _column(
        self, file: int, opened: Any, name: str, parts: list[op.Int64Array], dtype: op.DType | None
    ) -> list[Any]:
        """The values of a data set. parts: rows that follow each other."""
        values: list[Any] = []
        try:
            found = opened[name]
            if not isinstance(found, h5py.Dataset):
                raise KeyError(f"{name} is no data set")
            take = found
            if dtype not in (None, op.uint8) and h5py.check_string_dtype(found.dtype) is not None:
                take = found.asstr()
            is_virtual = bool(found.is_virtual)
        except _ERRORS as error:
            return [_damaged(error)] * sum(map(len, parts))
        for part in parts:
            try:
                values += rows_fitted(take[int(part[0]) : int(part[-1]) + 1], dtype)
            except _ERRORS:
                for row in part.tolist():  # some of them can be read
                    try:
                        values += rows_fitted(take[row : row + 1], dtype)
                    except _ERRORS as error:
                        values.append(_damaged(error))
        if is_virtual:
            sources = self._parts.get((file, name))
            if sources is None:
                sources = self._parts[file, name] = sources_of(found)
            values = self._sources.apply(found, sources, np.concatenate(parts), values)
        return values


def _damaged(error: BaseException) -> op.SampleDataError:
    return op.SampleDataError(f"a damaged HDF5 file: {first_line(error)}")


@contextmanager
def _opened(
    path: str, storage: Storage | None, heaps: dict[int, int] | None = None
) -> Iterator[Any]:
    """heaps: of a file with values of any length, those that were good."""
    with ExitStack() as stack:
        source: Any = path  # its own reading of files is faster than that of streams
        if heaps is not None:
            source = stack.enter_context(GuardedFile(path, storage, heaps))
        elif is_url(path):
            source = stack.enter_context(opened_file(path, storage))
        try:
            file = h5py.File(source, "r")
        except _STRANGE as error:
            raise _damaged(error) from None
        yield stack.enter_context(file)


def _rows(opened: Any, name: str, path: str, size: int) -> int:
    """How many rows a data set has. Raises OperatorValueError, SampleDataError."""
    try:
        found = opened.get(name)
        shape = getattr(found, "shape", None)
        stored = 0 if found is None or not shape else int(found.id.get_storage_size())
        chunked = found is not None and bool(getattr(found, "chunks", None))
        itemsize = 0 if found is None or not shape else found.dtype.itemsize
        names = "" if shape else ", ".join(list(opened)[:5])
        if shape:
            check_not_missing(found)
    except _ERRORS as error:
        raise _damaged(error) from None
    if not shape:
        raise op.OperatorValueError(
            argument="columns",
            expected=f"data sets with rows, in a file with {names or 'none'}",
            got=repr(name),
            file=path,
        )
    volume = float(np.prod([float(extent) for extent in shape])) * itemsize
    if (not chunked and 0 < stored < volume) or stored > size:
        raise op.SampleDataError("a damaged HDF5 file: a data set is larger than the file")
    if volume / max(shape[0], 1) > _COMPRESSED * size:
        raise op.SampleDataError(f"a row of {name!r} is larger than the file can hold")
    return int(shape[0])


def _is_ragged(opened: Any, name: str, path: str) -> bool:
    """Whether a data set has values of any length, in this file itself. Raises SampleDataError."""
    try:
        found = opened[name]
        if found.dtype.kind != "O" or found.is_virtual or found.external:
            return False
        return is_url(path) or os.path.samefile(found.file.filename, path)
    except _STRANGE as error:
        raise _damaged(error) from None


@opens_table(hdf5, container=True)
def _open_table(given: dict[str, Any]) -> HDF5Table:
    containers = Containers(given["paths"], "paths", storage_of(given))
    counts, ragged = [], []
    for path, facts in zip(containers.paths, containers.facts, strict=True):
        try:
            with _opened(path, containers.storage) as opened:
                sizes = [_rows(opened, name, path, facts.size) for name in given["columns"]]
                ragged.append(any(_is_ragged(opened, name, path) for name in given["columns"]))
        except ImportError as error:
            raise op.OperatorRuntimeError(str(error)) from None
        except (OSError, op.SampleDataError) as error:
            reason = error.problem if isinstance(error, op.GradivaError) else str(error)
            raise op.OperatorRuntimeError(
                f"the file cannot be read: {reason}", file=path
            ) from error
        if len(set(sizes)) != 1:
            raise op.OperatorValueError(
                argument="columns",
                expected="data sets of as many rows",
                got=", ".join(map(str, sizes)),
                file=path,
            )
        counts.append(sizes[0])
    types = types_of_columns(given["columns"], given["dtypes"])
    table = HDF5Table(containers, counts, types, given["columns"], ragged)
    check_not_empty(len(table), containers, "paths")
    return table


HDF5 = reader_class("HDF5", hdf5)
