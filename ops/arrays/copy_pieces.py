"""Copying samples as they lie in memory, without the interpreter lock."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.geometry import Int64Array
from gradiva.eager.run import Call

__all__ = ["copy_pieces"]


def copy_pieces(call: Call, source: NDArray[Any], starts: Int64Array, number: int = 0) -> None:
    """Fill output `number` with pieces of `source`, in C order: for each sample as many bytes as
    it has, from the byte `starts[sample]` on.

    NumPy's assignment of arrays keeps the lock, so that threads would copy one at a time.
    """
    target = call.outputs[number]
    size = target.data.dtype.itemsize
    begins, sizes = target.geometry.offsets * size, target.geometry.volumes * size
    assert not call.size or (starts.min() >= 0 and (starts + sizes).max() <= source.nbytes)
    follow = bool((np.diff(starts) == sizes[:-1]).all() and (np.diff(begins) == sizes[:-1]).all())
    here, there = source.ctypes.data, target.data.ctypes.data

    def copy(begin: int, end: int) -> None:
        if follow and begin < end:
            whole = int(sizes[begin:end].sum())
            ctypes.memmove(there + int(begins[begin]), here + int(starts[begin]), whole)
            return
        for sample in range(begin, end):
            ctypes.memmove(
                there + int(begins[sample]), here + int(starts[sample]), int(sizes[sample])
            )

    call.for_samples(copy, work=target)
