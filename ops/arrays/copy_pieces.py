"""Copying samples as they lie in memory, without the interpreter lock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op


@op.jit
def _copy(source: Any, target: Any, pieces: Any, firsts: Any, begin: int, end: int) -> None:
    for piece in range(firsts[begin], firsts[end]):
        here, there, size = pieces[piece]
        part, room = source[here : here + size], target[there : there + size]
        for k in range(size):
            room[k] = part[k]


def copy_pieces(
    call: op.Call,
    source: NDArray[Any],
    starts: op.Int64Array,
    number: int = 0,
    counts: op.Int64Array | None = None,
) -> None:
    """Fill output `number` with pieces of `source`, in C order, from the bytes `starts` on.

    Without counts there is one piece for each sample, of as many bytes as it has; else so many of
    equal size, one after the other.
    """
    target = call.outputs[number]
    size = target.data.dtype.itemsize
    begins, sizes = target.geometry.offsets * size, target.geometry.volumes * size
    firsts = np.arange(call.size + 1)
    if counts is not None:
        firsts[1:] = counts.cumsum()
        owners = np.repeat(np.arange(call.size), counts)
        sizes = (sizes // np.maximum(counts, 1))[owners]
        begins = begins[owners] + (np.arange(len(owners)) - firsts[owners]) * sizes
    assert not len(starts) or (starts.min() >= 0 and (starts + sizes).max() <= source.nbytes)
    if (np.diff(starts) == sizes[:-1]).all() and (np.diff(begins) == sizes[:-1]).all():
        here, there = source.ctypes.data, target.data.ctypes.data

        def move(begin: int, end: int) -> None:
            first, last = int(firsts[begin]), int(firsts[end])
            if first < last:
                whole = int(sizes[first:last].sum())
                ctypes.memmove(there + int(begins[first]), here + int(starts[first]), whole)

        call.for_samples(move, work=target)
        return
    pieces = np.stack([starts, begins, sizes], axis=1).astype(np.int64)
    bytes_of = source.view(np.uint8), target.data.view(np.uint8)
    call.for_samples(_copy, *bytes_of, pieces, firsts, work=target)
