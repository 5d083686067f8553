"""`experimental.readers.fits`: images from FITS files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.batch_shape import fault_of
from gradiva.ops.readers.core.containers import FileFacts
from gradiva.ops.readers.core.files import unreadable
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records
from gradiva.ops.readers.listing import FilesTable, list_arrays
from gradiva.ops.readers.reader_arguments import (
    DTypes,
    ReaderArguments,
    ReaderOptions,
    dtypes_of,
    storage_of,
)
from gradiva.ops.readers.table_source import opens_table
from gradiva.ops.storage.handles import (
    Handle,
    LoadedFile,
    close_handle,
    load_files,
    open_handle,
    read_fully,
)
from gradiva.ops.storage.storage import Storage

from .fits_header import HeaderUnit, units_of

__all__ = ["Fits", "fits"]


@source_operator("experimental.readers.fits", schema="experimental__readers__Fits")
@op.uses_arguments(ReaderArguments)
def fits(
    *,
    file_root: op.Path | None = None,
    file_filter: str = "*.fits",
    file_list: op.Path | None = None,
    files: op.Paths | None = None,
    hdu_indices: op.Ints = (2,),
    dtypes: DTypes | None = None,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read images from FITS files.

    Args:
        file_root: a folder, whose files are read, and those in the folders in it, in alphabetical
            order; or the folder that paths in `file_list` and `files` are relative to.
        file_filter: a pattern for the names of the files in `file_root`.
        file_list: a text file with a path in each line.
        files: the same as a Python list.
        hdu_indices: numbers of the units (HDUs) that are read, counted from 1: an output for each.
        dtypes: the types of the outputs. A file with another one is an error. If none are given,
            they are those of the first file in a batch.

    Returns:
        The images, the axis that varies fastest (NAXIS1) last. Integers that the file stores with
        an offset, as the standard has it for unsigned ones, are of their own type; other scales and
        offsets (BSCALE, BZERO) are not applied.

    Raises:
        OperatorValueError: for a missing folder or list, and one that names no files.
        OperatorRuntimeError: with the file, for one that cannot be read, is not a FITS file or is
            cut, for a unit that is not there or holds no plain image, and for images of a batch of
            several types or numbers of axes.

    Example:
        reader = gradiva.experimental.readers.Fits(file_root="fits")
        for images in reader.next_epoch(batch_size=4):
            print(images.shape)  # [(4, 6)]
    """
    return _types(hdu_indices, dtypes)


def _types(hdu_indices: Any, dtypes: Any) -> tuple[op.SampleType, ...]:
    """The types of the outputs. Raises OperatorValueError."""
    numbers = (hdu_indices,) if isinstance(hdu_indices, int) else tuple(hdu_indices)
    if not numbers or min(numbers) < 1:
        raise op.wrong_value("hdu_indices", "numbers from 1 on", list(numbers))
    kinds: tuple[op.DType | None, ...] = (None,) * len(numbers)
    if dtypes is not None:
        kinds = dtypes_of(dtypes)
        if len(kinds) != len(numbers):
            raise op.wrong_value("dtypes", f"one for each unit, {len(numbers)}", len(kinds))
    return tuple(op.SampleType(kind, None, "", "cpu") for kind in kinds)


class _OpenedUnits(NamedTuple):
    """A file, and the units that are wanted of it."""

    handle: Handle
    units: list[HeaderUnit]


class FitsTable(FilesTable):
    """FITS files."""

    selecting = frozenset(("file_filter",))

    def __init__(
        self,
        paths: list[str],
        numbers: list[int],
        types: tuple[op.SampleType, ...],
        storage: Storage,
    ) -> None:
        super().__init__(paths, storage)
        self._numbers, self._types = numbers, types

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        paths = self.names(indices)
        failures: Failures = {}
        opened: dict[int, _OpenedUnits] = {}
        loaded = load_files(paths, self.storage)

        def open_files(begin: int, end: int) -> None:
            for sample in range(begin, end):
                try:
                    opened[sample] = self._open(paths[sample], loaded.get(paths[sample]))
                except OSError as error:
                    failures[sample] = unreadable(error, paths[sample], sample)
                except op.SampleDataError as error:
                    failures[sample] = error

        ranges = [(sample, sample + 1) for sample in range(len(paths))]
        try:
            pool.run(open_files, ranges)
            made = [self._empty(output, paths, opened) for output in range(len(self._numbers))]
            targets = [batch.batch_shape.views(batch.data) for batch in made]

            def read(begin: int, end: int) -> None:
                for sample in range(begin, end):
                    try:
                        one = opened.get(sample)
                        for output, unit in enumerate(one.units if one else ()):
                            assert one is not None
                            _load(one.handle, unit, targets[output][sample])
                    except OSError as error:
                        failures[sample] = unreadable(error, paths[sample], sample)

            pool.run(read, ranges)
        finally:
            for one in opened.values():
                close_handle(one.handle)
        return Records(tuple(made), failures)

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        return self.identities_of_files(indices, before)

    def _open(self, path: str, loaded: LoadedFile | OSError | None) -> _OpenedUnits:
        if isinstance(loaded, OSError):
            raise loaded
        handle = open_handle(path, self.storage) if loaded is None else loaded
        try:
            units = units_of(handle, FileFacts.of(handle).size, max(self._numbers))
            for number in self._numbers:
                if number > len(units):
                    raise op.SampleDataError(
                        "the file has no such unit",
                        expected=f"unit {number}, of `hdu_indices`",
                        got=f"{len(units)} units",
                    )
                problem = units[number - 1].problem or fault_of(units[number - 1].shape)
                if problem:
                    raise op.SampleDataError(f"unit {number}: {problem}")
            return _OpenedUnits(handle, [units[number - 1] for number in self._numbers])
        except BaseException:
            close_handle(handle)
            raise

    def _empty(self, output: int, paths: list[str], opened: dict[int, _OpenedUnits]) -> op.Batch:
        """The batch of an output, in the type of the first file. Raises OperatorRuntimeError."""
        units = {sample: opened[sample].units[output] for sample in sorted(opened)}
        first = next(iter(units.values()), None)
        dtype = self._types[output].dtype
        if dtype is None:
            dtype = op.float32 if first is None else op.DType.from_numpy(first.dtype)
        ndim = 1 if first is None else len(first.shape)
        shapes = np.zeros((len(paths), ndim), np.int64)
        for sample, unit in units.items():
            found = op.DType.from_numpy(unit.dtype)
            if found is not dtype or len(unit.shape) != ndim:
                raise op.OperatorRuntimeError(
                    f"unit {self._numbers[output]}: images of a batch have one type and one number "
                    "of axes",
                    expected=f"{ndim}-D {dtype.name}",
                    got=f"{len(unit.shape)}-D {found.name}",
                    sample=sample,
                    file=paths[sample],
                )
            shapes[sample] = unit.shape
        return op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(dtype, ndim, "", "cpu"))


def _load(handle: Handle, unit: HeaderUnit, target: Array) -> None:
    """Read an image into the target, which lies in one piece. Raises OSError."""
    bits = target.reshape(-1).view(f"u{unit.stored.itemsize}")
    read_fully(handle, unit.begin, bits.view(np.uint8))
    if unit.stored.byteorder == ">" and sys.byteorder == "little":
        bits.byteswap(inplace=True)
    if unit.dtype != unit.stored.newbyteorder("="):
        bits ^= bits.dtype.type(1 << 8 * unit.stored.itemsize - 1)  # the offset is half the range


@opens_table(fits)
def _open(given: dict[str, Any]) -> FitsTable:
    types = _types(given["hdu_indices"], given["dtypes"])
    storage = storage_of(given)
    paths = list_arrays(
        given["file_root"], given["file_filter"], given["file_list"], given["files"], storage
    )
    return FitsTable(paths, [*given["hdu_indices"]], types, storage)


Fits = reader_class("Fits", fits)
