"""`readers.numpy`: arrays from npy files, whole or a region of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.ops.decoders.npy_header import Header, read_header
from gradiva.ops.image.crop_window import POLICIES
from gradiva.ops.indexing.slice import slice as slice_operator
from gradiva.ops.indexing.slice_region import check_region
from gradiva.ops.readers.core.containers import FileFacts
from gradiva.ops.readers.core.files import unreadable
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records
from gradiva.ops.storage.handles import (
    Handle,
    RemoteFile,
    close_handle,
    load_files,
    open_handle,
    pread,
    read_fully,
)
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url, parent

from .listing import FilesTable, list_arrays
from .numpy_region import FarRegions, Region, rows_of
from .reader_arguments import ReaderArguments, ReaderOptions, storage_of
from .sampling.names import part_of
from .table_source import opens_table

__all__ = ["Numpy", "numpy"]


@source_operator("readers.numpy", schema="readers__Numpy", formerly=("numpy_reader",))
@op.uses_arguments(ReaderArguments)
def numpy(
    *,
    file_root: op.Path | None = None,
    file_filter: str = "*.npy",
    file_list: op.Path | None = None,
    files: op.Paths | None = None,
    split: op.Floats | None = None,
    roi_start: op.Ints | None = None,
    roi_end: op.Ints | None = None,
    roi_shape: op.Ints | None = None,
    rel_roi_start: op.Floats | None = None,
    rel_roi_end: op.Floats | None = None,
    rel_roi_shape: op.Floats | None = None,
    roi_axes: op.Ints = (),
    out_of_bounds_policy: str = "error",
    fill_value: float = 0.0,
    cache_header_information: bool = False,
    use_o_direct: bool = False,
    register_buffers: bool = True,
    **options: op.Unpack[ReaderOptions],
) -> op.SampleType:
    """Read arrays from npy files.

    A region may be given, as to `slice`: only the part of a file that it needs is read. In a
    pipeline it may differ per sample; it is then cut by `slice` from whole arrays.

    Args:
        file_root: a folder, whose files are read, and those in the folders in it, in alphabetical
            order; or the folder that paths in `file_list` and `files` are relative to.
        file_filter: a pattern for the names of the files in `file_root`.
        file_list: a text file with a path in each line.
        files: the same as a Python list.
        split: read a part of the files, such as (0, 0.9), by a hash of their paths below
            `file_root`, as `readers.file` does.
        roi_start, rel_roi_start: the low end of the region, in elements or as fractions; 0 if
            neither is given.
        roi_end, rel_roi_end: the high end, not included.
        roi_shape, rel_roi_shape: the extent in its place. The end of the array if none is given.
            One number stands for all axes.
        roi_axes: which axes the numbers are about, all if none are given.
        out_of_bounds_policy: what to do with a region that leaves the array: "error", "pad" (with
            `fill_value`) or "trim_to_shape".
        fill_value: with "pad".
        cache_header_information: keep the headers of all files that were read.
        use_o_direct: accepted: files are always read by the system's cache.
        register_buffers: accepted.

    Returns:
        The arrays. Those of a batch have one type and one number of axes.

    Raises:
        OperatorValueError: for a missing folder or list, one that names no files, and a region that
            leaves an array or ends before it starts.
        OperatorRuntimeError: with the file, for one that cannot be read, is not an npy file or is
            cut, and for one of another type or number of axes.

    Example:
        reader = gradiva.readers.Numpy(file_root="arrays")
        for arrays in reader.next_epoch(batch_size=4):
            print(arrays.shape)  # [(6, 8), (6, 8), (6, 8), (6, 8)]
    """
    return op.SampleType(None, None, "", "cpu")


_NUMBERS = tuple(f"{rel}roi_{end}" for rel in ("", "rel_") for end in ("start", "end", "shape"))


def _sliced(given: dict[str, Any]) -> Any:
    """A region that differs per sample: whole arrays, and `slice`."""
    region: dict[str, Any] = {name.replace("roi_", ""): given.get(name) for name in _NUMBERS}
    kept = {
        name: value
        for name, value in given.items()
        if name not in (*_NUMBERS, "roi_axes", "out_of_bounds_policy", "fill_value")
    }
    axes = given.get("roi_axes")
    whole: dict[str, Any] = {"axis_names": ""} if axes is None or not len(axes) else {"axes": axes}
    return slice_operator(
        numpy(**kept),
        **region,
        **whole,
        out_of_bounds_policy=given.get("out_of_bounds_policy") or "error",
        fill_values=given.get("fill_value") or 0.0,
    )


numpy.per_sample = _NUMBERS, _sliced


class _OpenedRegion(NamedTuple):
    """A file, its header, and the region of it that is wanted."""

    handle: Handle
    header: Header
    anchor: op.Int64Array
    window: op.Int64Array


class NumpyTable(FilesTable):
    """npy files."""

    selecting = frozenset(("file_filter", "split", "cache_header_information", "register_buffers"))

    def __init__(
        self, paths: list[str], region: Region, fill: float, keep: bool, storage: Storage
    ) -> None:
        super().__init__(paths, storage)
        self._region, self._fill = region, fill
        # Of files on other machines, no more than the region is fetched.
        far = self.storage is not None and not region.whole
        self._far = FarRegions(region, storage) if far else None
        self._headers: dict[str, tuple[FileFacts, Header]] | None = {} if keep else None

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        paths = self.names(indices)
        failures: Failures = {}
        opened: dict[int, _OpenedRegion] = {}
        loaded = self._loaded(paths)

        def open_files(begin: int, end: int) -> None:
            for sample in range(begin, end):
                try:
                    opened[sample] = self._open(paths[sample], loaded.get(paths[sample]))
                except OSError as error:
                    failures[sample] = unreadable(error, paths[sample], sample)
                except op.SampleDataError as error:
                    failures[sample] = error
                except op.OperatorValueError as error:
                    error.sample = sample
                    raise error.complete(file=paths[sample]) from None

        ranges = [(first, min(first + 8, len(paths))) for first in range(0, len(paths), 8)]
        try:
            pool.run(open_files, ranges)
            made = self._empty(paths, opened)
            targets = made.batch_shape.views(made.data)

            def read(begin: int, end: int) -> None:
                for sample in range(begin, end):
                    if sample in opened:
                        try:
                            self._load(opened[sample], targets[sample])
                        except OSError as error:
                            failures[sample] = unreadable(error, paths[sample], sample)

            pool.run(read, ranges)
        finally:
            for one in opened.values():
                close_handle(one.handle)
        return Records((made,), failures)

    def _loaded(self, paths: list[str]) -> Mapping[str, RemoteFile | OSError]:
        """What is on other machines: whole files, or the regions of them."""
        if self._far is not None:
            return self._far.open([path for path in paths if is_url(path)])
        return load_files(paths, self.storage)

    def _open(self, path: str, loaded: RemoteFile | OSError | None = None) -> _OpenedRegion:
        if isinstance(loaded, OSError):
            raise loaded
        handle = open_handle(path, self.storage) if loaded is None else loaded
        try:
            facts = FileFacts.of(handle)
            kept = None if self._headers is None else self._headers.get(path)
            if kept is None or kept[0] != facts:
                kept = facts, read_header(lambda count: _head(handle, count), facts.size)
                if self._headers is not None and facts.changed:  # "" where nothing tells
                    self._headers[path] = kept
            return _OpenedRegion(handle, kept[1], *self._region.of(kept[1]))
        except BaseException:
            close_handle(handle)
            raise

    def _empty(self, paths: list[str], opened: dict[int, _OpenedRegion]) -> op.Batch:
        """The batch, in the type of the first file. Raises OperatorRuntimeError."""
        headers = {sample: opened[sample].header for sample in sorted(opened)}
        first = next(iter(headers.values()), None) or self._any_header()
        dtype, ndim = op.DType.from_numpy(first.dtype), len(first.shape)
        for sample, header in headers.items():
            facts: dict[str, Any] = {"sample": sample, "file": paths[sample]}
            if len(header.shape) != ndim:
                raise op.OperatorRuntimeError(
                    "arrays of a batch have one number of axes",
                    expected=f"{ndim}-D",
                    got=f"{len(header.shape)}-D",
                    **facts,
                )
            found = op.DType.from_numpy(header.dtype)
            if found is not dtype:
                raise op.OperatorRuntimeError(
                    "arrays of a batch have one type", expected=dtype.name, got=found.name, **facts
                )
        shapes = np.zeros((len(paths), ndim), np.int64)
        for sample in headers:
            shapes[sample] = opened[sample].window
        made = op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(dtype, ndim, "", "cpu"))
        if len(headers) < len(paths):
            made.data[...] = 0  # a sample without axes has a value even if there is no file
        return made

    def _any_header(self) -> Header:
        """Of the first file that can be read: for a batch in which none can."""
        for path in self._paths:
            try:
                opened = self._open(path)
            except (OSError, op.GradivaError):
                continue
            close_handle(opened.handle)
            return opened.header
        return Header(np.dtype(np.float32), False, (0,), 0)

    def _load(self, opened: _OpenedRegion, target: np.ndarray[Any, Any]) -> None:
        """Read the region into the target. Raises OSError."""
        handle, header, anchor, window = opened
        shape = np.array(header.shape, np.int64)
        low, high = np.clip(anchor, 0, shape), np.clip(anchor + window, 0, shape)
        if ((high - low) != window).any():
            target[...] = convert_array(np.array(self._fill), target.dtype)
        if not (high > low).all():
            return
        step = -1 if header.fortran else 1
        stored, first, last = rows_of(header, low, high)
        whole = (low == 0).all() and (high == shape).all() and (window == shape).all()
        if whole and not header.fortran and header.dtype == target.dtype:
            read_fully(handle, header.begin, target.reshape(-1).view(np.uint8))
            return
        rows = np.empty((last - first, *stored[1:]), header.dtype)
        skipped = first * (rows.nbytes // max(len(rows), 1))
        read_fully(handle, header.begin + skipped, rows.reshape(-1).view(np.uint8))
        inner = zip(low[::step].tolist()[1:], high[::step].tolist()[1:], strict=True)
        part = rows[(slice(None), *(slice(begin, end) for begin, end in inner))]
        part = part if stored else part.reshape(())
        place = tuple(
            slice(begin, end)
            for begin, end in zip((low - anchor).tolist(), (high - anchor).tolist(), strict=True)
        )
        target[place] = part.T if header.fortran else part

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        return self.identities_of_files(indices, before)

    def prefetch(self, indices: op.Int64Array) -> None:
        if self._far is not None:
            self._far.expect([path for path in self.names(indices) if is_url(path)])
        else:
            super().prefetch(indices)


def _head(handle: Handle, count: int) -> bytes:
    return pread(handle, count, 0)


numpy.not_serializable("split")


@opens_table(numpy)
def _open(given: dict[str, Any]) -> NumpyTable:
    numbers = {name.replace("roi_", ""): given[name] for name in _NUMBERS}
    if any(numbers.values()):
        check_region(None, None, {**numbers, "axes": None, "axis_names": None})
    if given["out_of_bounds_policy"] not in POLICIES:
        raise op.wrong_value(
            "out_of_bounds_policy",
            f"one of {', '.join(POLICIES)}",
            repr(given["out_of_bounds_policy"]),
        )
    rows = {
        name: np.array([value], np.float32 if name.startswith("rel") else np.int64)
        if value
        else None
        for name, value in numbers.items()
    }
    region = Region(rows, given["roi_axes"], given["out_of_bounds_policy"])
    storage, root, listed = storage_of(given), given["file_root"], given["file_list"]
    paths = list_arrays(root, given["file_filter"], listed, given["files"], storage)
    paths = part_of(paths, root or parent(listed or ""), given["split"])
    keep = given["cache_header_information"]
    return NumpyTable(paths, region, given["fill_value"], keep, storage)


Numpy = reader_class("Numpy", numpy)
