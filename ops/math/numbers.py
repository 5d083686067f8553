"""Integers and a number that give float32, past the caches: four times the bytes are written, and
NumPy's casts go through buffers. The values are NumPy's to the bit."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.simd.intrinsics import span
from gradiva.eager.simd.streaming import copy_nontemporal, finish_lines, use_nontemporal
from gradiva.eager.types.arrays import Array, U32Vector, Vector

_CODES: Final = {"+": 0, "-": 1, "*": 2, "/": 3}
_FROM_LEFT: Final = 4
"""Is added where the number is the first operand."""
_TYPES: Final = tuple(map(np.dtype, ("u1", "i1", "u2", "i2")))
"""Integers that float32 has all of."""
_STRIP: Final = 2048
_background = BackgroundKernel()


def fill_with_number(symbol: str, a: Array, b: Array, out: Array) -> bool:
    """Fill `out` with `a symbol b`, if one of them is a number, the other one holds small integers,
    and the result is large and float32. Returns whether that was done."""
    if out.dtype != np.float32 or symbol not in _CODES or not use_nontemporal(out):
        return False
    left = a.ndim == 0
    number, values = (a, b) if left else (b, a)
    flat = values.flags.c_contiguous and out.flags.c_contiguous and values.shape == out.shape
    if number.ndim or number.dtype != np.float32 or values.dtype not in _TYPES or not flat:
        return False
    if not values.flags.writeable or not _background.is_worth_compiling(1, _prepare):
        return False
    code = _CODES[symbol] + (_FROM_LEFT if left else 0)
    put_numbers(values.reshape(-1), np.float32(number), code, out.reshape(-1).view(np.uint32))
    return True


def _prepare() -> None:
    for kind in _TYPES:
        put_numbers(np.empty(0, kind), np.float32(1), 0, np.empty(0, np.uint32))


@op.jit
def put_numbers(values: Vector, number: np.float32, code: int, out: U32Vector) -> None:
    """The bits of the results as unsigned integers, strip by strip."""
    strip = np.empty(_STRIP, np.float32)
    bits = strip.view(np.uint32)
    for first in range(0, values.size, _STRIP):
        count = min(_STRIP, values.size - first)
        part = span(values, first, count)
        if code == 0 or code == 4:
            for k in range(count):
                strip[k] = np.float32(part[k]) + number
        elif code == 1:
            for k in range(count):
                strip[k] = np.float32(part[k]) - number
        elif code == 2 or code == 6:
            for k in range(count):
                strip[k] = np.float32(part[k]) * number
        elif code == 3:
            for k in range(count):
                strip[k] = np.float32(part[k]) / number
        elif code == 5:
            for k in range(count):
                strip[k] = number - np.float32(part[k])
        else:
            for k in range(count):
                strip[k] = number / np.float32(part[k])
        copy_nontemporal(bits, 0, out, first, count)
    finish_lines()
