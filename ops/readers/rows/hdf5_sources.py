"""Files that the data sets of HDF5 files lie in, in whole or in parts.

The library puts fill values or zeros in the place of what is missing there, without a word.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module

__all__ = ["Source", "Sources", "check_not_missing", "sources_of"]

h5py: Any = lazy_module("h5py", "'gradiva[hdf5]'")


def check_not_missing(found: Any) -> None:
    """Raise SampleDataError for a data set in raw files that are missing or too short."""
    for name, begin, size in found.external or ():
        path = _beside(found, name)
        try:
            there = os.stat(path).st_size
        except OSError:
            there = -1
        endless = size == h5py.h5s.UNLIMITED
        if there < 0 or (not endless and there < begin + size):
            raise op.SampleDataError(f"{name}, where values of it lie, is missing or too short")


class Source(NamedTuple):
    """A part of a virtual data set: of which file and data set in it, and into which rows it goes;
    high: the last place in each axis that is read of it."""

    file: str
    data: str
    begin: int
    stride: int
    number: int
    block: int
    high: tuple[int, ...]

    def touches(self, rows: op.Int64Array) -> Any:
        """Which of these rows have values of it."""
        distance = rows - self.begin
        inside = (distance >= 0) & (distance % self.stride < self.block)
        return inside & (distance < self.stride * self.number if self.number else True)


def sources_of(found: Any) -> list[Source]:
    """The parts of a virtual data set that may be missing."""
    made = []
    for vspace, file, data, space in found.virtual_sources():
        if file == "." or "%" in file:  # this file; files with numbers, of which there may be any
            continue
        high: tuple[int, ...] = ()
        if space.get_select_type() == h5py.h5s.SEL_HYPERSLABS:
            high = tuple(map(int, space.get_select_bounds()[1]))
        made.append(Source(file, data, *_rows_of(vspace), high))
    return made


def _rows_of(space: Any) -> tuple[int, int, int, int]:
    """First row, stride, number and size of the blocks of rows of a selection; number 0 for any."""
    endless = h5py.h5s.UNLIMITED
    if space.get_select_type() != h5py.h5s.SEL_HYPERSLABS:
        return 0, 1, 0, 1
    if space.is_regular_hyperslab():
        begin, stride, count, block = (int(one[0]) for one in space.get_regular_hyperslab())
        if endless in (count, block):
            return (
                begin,
                max(stride, 1) if count == endless else 1,
                0,
                1 if block == endless else block,
            )
        return begin, max(stride, 1), count, block
    low, high = space.get_select_bounds()
    return int(low[0]), int(high[0]) - int(low[0]) + 1, 1, int(high[0]) - int(low[0]) + 1


class Sources:
    """What is known of the sources of virtual data sets."""

    def __init__(self) -> None:
        self._good: dict[tuple[str, Source], tuple[int, int]] = {}

    def apply(
        self, found: Any, sources: list[Source], rows: op.Int64Array, values: list[Any]
    ) -> list[Any]:
        """The values of these rows, with an error in place of each to which a file or a data set
        belongs that is not there."""
        left = list(values)
        for source in sources:
            hit = np.flatnonzero(source.touches(rows))
            if hit.size and (problem := self._problem(found, source)):
                for row in hit.tolist():
                    left[row] = op.SampleDataError(problem)
        return left

    def _problem(self, found: Any, source: Source) -> str:
        """What is wrong with a source, or nothing."""
        path = _beside(found, source.file)
        try:
            facts = os.stat(path)
            known = facts.st_size, facts.st_mtime_ns
            if self._good.get((path, source)) == known:
                return ""
            with h5py.File(path, "r") as opened:
                shape = getattr(opened.get(source.data), "shape", None)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            reason = (str(error).splitlines() or [""])[0]
            return f"{source.file}, of which values are, cannot be read: {reason}"
        if shape is None:
            return f"{source.file}, of which values are, has no data set {source.data!r}"
        if any(last >= extent for last, extent in zip(source.high, shape, strict=False)):
            return f"{source.file}, of which values are, has fewer than there were"
        self._good[path, source] = known
        return ""


def _beside(found: Any, name: str) -> str:
    """Where the library looks for another file: in the folder of the first one."""
    folder = os.path.dirname(os.path.abspath(found.file.filename))
    path = os.path.join(folder, name)
    return path if os.path.exists(path) else name
