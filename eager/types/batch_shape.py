"""The shapes of the samples of a batch, and their places in its slab. Immutable, shared by
batches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.eager.support.errors import OperatorValueError

from .arrays import Int64Array

_MOST = 1 << 42
SHARED = 1024
"""Batch shapes of at most this many samples are cached, with derived values: larger ones would take
much memory, and making them is cheap in comparison with the work on their samples."""
_MOST_EMPTY = 1 << 28
"""The largest product of the other extents of an empty sample: a limit for loops over them."""
_MOST_AXES = 31
"""The most axes of a sample; with the axis of the samples, the maximum of the oldest NumPy."""
_STEP = 64
"""Samples start at multiples of 64 elements, so at multiples of 64 bytes for every dtype."""


def _check_volume(volume: float, shape: Sequence[int], sample: int | None) -> None:
    if volume > _MOST:
        raise OperatorValueError(
            "the output is too large",
            expected=f"at most {_MOST} elements",
            got=f"{volume:.0f}, with samples of shape {tuple(shape)}",
            sample=sample,
        )


def _check_axes(ndim: int) -> None:
    if ndim > _MOST_AXES:
        raise OperatorValueError(
            "the samples have too many axes", expected=f"at most {_MOST_AXES}", got=ndim
        )


def _check_extents(least: int, shape: Sequence[int], sample: int | None) -> None:
    """Raise an error for extents from arithmetic that has overflowed 64 bits."""
    if least < 0:
        raise OperatorValueError(
            "the output is too large", got=f"samples of shape {tuple(shape)}", sample=sample
        )


def _around(shapes: Int64Array) -> Any:
    """The products of the extents that are not 0."""
    return np.maximum(shapes, 1).astype(np.float64).prod(axis=1)


def _check_empty(shape: Sequence[int], sample: int | None) -> None:
    """Raise an error for an empty sample with huge extents: loops over these would hardly end."""
    if 0 in shape and _around(np.array([shape]))[0] > _MOST_EMPTY:
        raise OperatorValueError(
            "the output has no elements, and large extents",
            expected=f"at most {_MOST_EMPTY}, multiplied",
            got=f"samples of shape {tuple(shape)}",
            sample=sample,
        )


def fault_of(shape: Sequence[int]) -> str:
    """Why the sample of a file cannot have this shape; an empty text if it can."""
    try:
        _check_axes(len(shape))
        _check_extents(min(shape, default=0), shape, None)
        _check_empty(shape, None)
        _check_volume(float(math.prod(shape)), shape, None)
    except OperatorValueError as error:
        return str(error)
    except OverflowError:  # beyond floats
        return f"a shape of {len(shape)} axes whose volume is no number"
    return ""


def _check_volumes(shapes: Int64Array) -> None:
    """Raise an error for what cannot be allocated, before its size overflows 64 bits."""
    least = int(shapes.min(initial=0))
    if least < 0:
        sample = int(shapes.min(axis=1).argmin())
        _check_extents(least, shapes[sample].tolist(), sample)
    volumes = shapes.astype(np.float64).prod(axis=1)
    if not volumes.all():
        sample = int(np.where(volumes == 0, _around(shapes), 0).argmax())
        _check_empty(shapes[sample].tolist(), sample)
    if volumes.sum() > _MOST:
        sample = int(volumes.argmax())
        _check_volume(float(volumes.sum()), shapes[sample].tolist(), sample)


class BatchShape:
    """Shapes and places of N samples of the same rank.

    shapes: int64 (N, ndim); offsets: int64 (N,), in elements from the start of the slab;
    volumes: int64 (N,), elements of each sample; size: elements the slab must hold;
    uniform: whether all shapes are equal; dense: whether they also follow each other without gaps;
    packed: whether the slab holds nothing else, so that a new batch can be laid out like this.
    """

    __slots__ = ("_volumes", "dense", "offsets", "packed", "shapes", "size", "uniform")

    def __init__(
        self,
        shapes: Int64Array,
        offsets: Int64Array,
        size: int,
        uniform: bool,
        dense: bool,
        packed: bool = True,
    ) -> None:
        self.shapes = shapes
        self.offsets = offsets
        self.size = size
        self.uniform = uniform
        self.dense = dense
        self.packed = packed
        self._volumes: Int64Array | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def ndim(self) -> int:
        return int(self.shapes.shape[1])

    @property
    def volumes(self) -> Int64Array:
        if self._volumes is None:
            self._volumes = self.shapes.prod(axis=1)
        return self._volumes

    def shape(self, sample: int) -> tuple[int, ...]:
        return tuple(self.shapes[sample].tolist())

    def views(self, data: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """The samples in a slab of memory, as arrays."""
        places = zip(
            self.offsets.tolist(), self.shapes.tolist(), self.volumes.tolist(), strict=True
        )
        if self.ndim == 1:
            return [data[first : first + size] for first, _, size in places]
        return [data[first : first + size].reshape(shape) for first, shape, size in places]

    @staticmethod
    def of(shapes: Int64Array) -> BatchShape:
        """Lay out samples of the given shapes: dense if they are equal, else padded to 64."""
        count = len(shapes)
        if count == 0:
            return BatchShape(shapes, np.empty(0, np.int64), 0, True, True)
        first = shapes[0].tolist()
        if first == shapes[-1].tolist() and (shapes == first).all():
            return BatchShape.equal(count, tuple(first))
        ndim = shapes.shape[1]
        _check_axes(ndim)
        # As numbers without a sign, negative extents are greater than all others.
        if int(shapes.view(np.uint64).max()) ** ndim * count > _MOST or not shapes.all():
            _check_volumes(shapes)
        volumes = shapes[:, 0].copy() if ndim == 1 else np.multiply.reduce(shapes, axis=1)
        padded = (volumes + (_STEP - 1)) & -_STEP
        ends = padded.cumsum()
        result = BatchShape(shapes, ends - padded, int(ends[-1]), False, False)
        result._volumes = volumes
        return result

    @staticmethod
    def equal(count: int, shape: tuple[int, ...]) -> BatchShape:
        """`count` samples of one shape, one after the other."""
        return (_equal if count <= SHARED else _equal.__wrapped__)(count, shape)

    @staticmethod
    def repeated(count: int, shape: tuple[int, ...]) -> BatchShape:
        """`count` samples that all share the same memory."""
        return (_repeated if count <= SHARED else _repeated.__wrapped__)(count, shape)

    def select(self, samples: Sequence[int]) -> BatchShape:
        """Some of the samples, at their places."""
        index = list(samples)
        shapes = self.shapes[index]
        uniform = self.uniform or not len(shapes) or bool((shapes == shapes[0]).all())
        return BatchShape(shapes, self.offsets[index], self.size, uniform, False, False)

    def shares(self, threads: int) -> list[tuple[int, int]]:
        """Cut the samples into about four ranges per thread, of about equal volume."""
        count = len(self)
        parts = min(count, 4 * threads)
        if self.uniform:
            cuts = [count * part // parts for part in range(parts + 1)]
        else:
            ends = self.volumes.cumsum()
            goals = ends[-1] * np.arange(1, parts) / parts
            cuts = sorted({0, *(np.searchsorted(ends, goals) + 1).tolist(), count})
        return [(begin, end) for begin, end in itertools.pairwise(cuts) if begin < end]


@lru_cache(maxsize=256)
def _repeated(count: int, shape: tuple[int, ...]) -> BatchShape:
    base = BatchShape.equal(count, shape)
    if not count:
        return base  # there are no samples, so the contents of the memory do not matter
    offsets = np.zeros(count, np.int64)
    offsets.flags.writeable = False
    return BatchShape(base.shapes, offsets, math.prod(shape), True, count == 1, count == 1)


@lru_cache(maxsize=256)
def _equal(count: int, shape: tuple[int, ...]) -> BatchShape:
    volume = math.prod(shape)
    _check_axes(len(shape))
    _check_extents(min(shape, default=0), shape, None)
    if volume == 0:
        _check_empty(shape, None)
    _check_volume(volume * max(count, 1), shape, None)
    shapes = np.empty((count, len(shape)), np.int64)
    shapes[:] = shape
    offsets = np.arange(count, dtype=np.int64) * volume
    shapes.flags.writeable = offsets.flags.writeable = False
    return BatchShape(shapes, offsets, count * volume, True, True)
