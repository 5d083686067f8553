"""The region of an array that `readers.numpy` reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.npy_header import Header, read_header
from gradiva.ops.image.crop_window import apply_policy
from gradiva.ops.indexing.slice_region import region_along, wrapped_axes
from gradiva.ops.storage.errors import StorageError
from gradiva.ops.storage.handles import PartlyLoadedFile, pread
from gradiva.ops.storage.ranges import Want
from gradiva.ops.storage.storage import Storage

_HEAD: Final = 1 << 16
"""Bytes at the beginning of a file that are read for its header: so few cost little more than the
question for them, and often hold the region."""


class Region(NamedTuple):
    """The part of each array that is read. given: rows of the numbers, as `slice` takes them."""

    given: dict[str, Any]
    axes: tuple[int, ...]
    policy: str

    @property
    def whole(self) -> bool:
        """Whether it is all of an array."""
        return not any(rows is not None and rows.size for rows in self.given.values())

    def of(self, header: Header) -> tuple[op.Int64Array, op.Int64Array]:
        """First element and shape. Raises OperatorValueError."""
        shapes = np.array([header.shape], np.int64)
        if self.whole:
            return np.zeros_like(shapes[0]), shapes[0]
        axes = wrapped_axes(np.array([self.axes], np.int64), len(header.shape), "roi_axes")
        found = region_along(self.given, shapes, axes)
        anchors, windows = apply_policy(shapes, *found, self.policy)
        return anchors[0], windows[0]


def rows_of(
    header: Header, low: op.Int64Array, high: op.Int64Array
) -> tuple[tuple[int, ...], int, int]:
    """The shape as the file stores it, whose axes are the array's, or these the other way round;
    and the rows of it that are read for the elements from `low` to `high`: first and last."""
    step = -1 if header.fortran else 1
    stored = header.shape[::step]
    return stored, *((int(low[::step][0]), int(high[::step][0])) if stored else (0, 1))


class FarRegions:
    """The regions of files on other machines: what of a file is asked for, before and when it is
    read. Files of one size mostly have one header, so that it is known where the region lies."""

    def __init__(self, region: Region, storage: Storage) -> None:
        self._region, self._storage = region, storage
        self._headers: dict[int, Header] = {}

    def expect(self, urls: Sequence[str]) -> None:
        """These will be read. What is wrong with them is told then."""
        wants: list[Want] = []
        for url, facts in zip(urls, self._storage.facts(urls), strict=True):
            if isinstance(facts, StorageError):
                continue
            wants.append(Want(url, 0, min(facts.size, _HEAD)))
            header = self._headers.get(facts.size)
            if header is not None:
                wants += self._span(url, header)
        self._storage.expect(wants)

    def open(self, urls: Sequence[str]) -> dict[str, PartlyLoadedFile | OSError]:
        """The files, with their headers and regions, which are asked for all at once."""
        found: dict[str, PartlyLoadedFile | OSError] = {}
        heads: list[Want] = []
        for url, facts in zip(urls, self._storage.facts(urls), strict=True):
            if isinstance(facts, StorageError):
                found[url] = facts
            elif url not in found:
                found[url] = PartlyLoadedFile(url, self._storage)
                heads.append(Want(url, 0, min(facts.size, _HEAD)))
        self._hold(heads, found)
        self._hold([want for url in found for want in self._wanted(url, found[url])], found)
        return found

    def _hold(self, wants: list[Want], files: dict[str, PartlyLoadedFile | OSError]) -> None:
        for want, content in zip(wants, self._storage.take(wants), strict=True):
            file = files[want.url]
            if isinstance(content, StorageError):
                files[want.url] = content
            elif not isinstance(file, OSError):
                file.hold(want.begin, content)

    def _wanted(self, url: str, file: PartlyLoadedFile | OSError) -> list[Want]:
        if isinstance(file, OSError):
            return []
        try:
            header = read_header(lambda count: pread(file, count, 0), file.facts.size)
            self._headers[file.facts.size] = header
            return self._span(url, header)
        except (OSError, op.GradivaError):
            return []  # who opens the file finds the same

    def _span(self, url: str, header: Header) -> list[Want]:
        """The bytes of the region. Raises OperatorValueError."""
        anchor, window = self._region.of(header)
        shape = np.array(header.shape, np.int64)
        low, high = np.clip(anchor, 0, shape), np.clip(anchor + window, 0, shape)
        if not (high > low).all():
            return []
        stored, first, last = rows_of(header, low, high)
        size = math.prod(stored[1:]) * header.dtype.itemsize
        return [Want(url, header.begin + first * size, header.begin + last * size)]
