"""Reading the records of a batch by one compiled kernel, without the interpreter."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.simd.c_calls import addresses, call_c
from gradiva.eager.types.arrays import BoolVector, I64Vector, U8Vector

_background = BackgroundKernel()


@functools.cache
def _calls() -> op.Int64Array | None:
    return addresses("pread")


@op.jit
def _read(
    calls: I64Vector,
    handle: int,
    data: U8Vector,
    targets: I64Vector,
    offsets: I64Vector,
    sizes: I64Vector,
    whole: BoolVector,
) -> None:
    """Read records of an open file; whole: whether all bytes of each were there.

    calls: the address of `pread`; handle: of the file; targets: where each record goes in `data`;
    offsets, sizes: where it lies in the file, in bytes.
    """
    for record in range(targets.size):
        done, size = 0, sizes[record]
        address = data.ctypes.data + targets[record]
        while done < size:
            count = call_c(calls[0], handle, address + done, size - done, offsets[record] + done)
            if count <= 0:
                break
            done += count
        whole[record] = done == size


def read_records(
    handle: int,
    data: np.ndarray[Any, Any],
    targets: op.Int64Array,
    offsets: op.Int64Array,
    sizes: op.Int64Array,
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Read bytes of a file to places in `data`, and say which records are whole. The caller reads
    the others again, to learn what is wrong."""
    whole = np.zeros(len(targets), np.bool_)

    def read(count: int) -> None:
        calls = _calls()
        if calls is not None:
            rows = targets[:count], offsets[:count], sizes[:count], whole[:count]
            _read(calls, handle, data, *rows)

    if _background.is_worth_compiling(len(targets), lambda: read(0)):
        read(len(targets))
    return whole
