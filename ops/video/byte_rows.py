"""Kernel: pixels from planes of bytes whose rows of chroma are half as wide as luma, which most
videos have.

What `color_rows` computes, bit by bit, in fewer and smaller steps: of bytes no intermediate result
is rounded, so lines of chroma are blended before they are made twice as wide, in 16 bits, and all
that follows is done for a number of pixels at once.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.intrinsics import span, without_refcount
from gradiva.eager.simd.streaming import AHEAD, fetch_line, finish_lines
from gradiva.eager.types.arrays import Array, I16Vector, I64Table, I64Vector, U8Table, U8Vector

from .byte_pixels import LINE, ONE, PARTS, PIXELS, put_pixels, put_pixels_past


def use_nontemporal_rows(out: Array) -> bool:
    """Whether all places in `out` allow it."""
    return not (out.ctypes.data % LINE or out.shape[1] % (3 * PIXELS))


@op.jit
def _blend(near: U8Vector, far: U8Vector, target: I16Vector) -> None:
    """Two lines of chroma as one, times `PARTS`: three quarters of the nearer and one of the other.
    Before and behind them stand the first sample and the last one once more."""
    count = near.size
    three, one = np.int16(PARTS // 4 * 3), np.int16(PARTS // 4)
    for k in range(count):
        target[k + 1] = np.int16(
            np.int16(np.int16(near[k]) * three) + np.int16(np.int16(far[k]) * one)
        )
    target[0], target[count + 1] = target[1], target[count]


@op.jit
def convert_bytes(
    luma: U8Vector,
    blue: U8Vector,
    red: U8Vector,
    form: I64Vector,
    down: I64Table,
    numbers: I64Vector,
    out: U8Table,
    past: bool | None,
) -> None:
    """Fill `out`, uint8 (rows, 3 * columns), with red, green and blue of a picture.

    luma, blue, red: the planes, 1-D, uint8; form: bytes from one row to the next of luma and
    of chroma; down: the table of `chroma_taps`, of weights of 0, one or three quarters; numbers:
    of `color_numbers`; past: not None to write past the caches, where `use_nontemporal_rows` allows
    it. There are `PIXELS` columns or more.
    """
    rows, width = out.shape[0], out.shape[1] // 3
    count = width // 2
    luma, blue, red = without_refcount(luma), without_refcount(blue), without_refcount(red)
    u, v = np.empty(count + 2, np.int16), np.empty(count + 2, np.int16)
    target = out.reshape(out.size)
    scale, offset = numbers[0], numbers[1] >> 5
    rest = 16 * ((1 << 16) - scale * offset) // ONE
    zero = numbers[0] - numbers[0]
    weights = 2 * scale, rest, zero, numbers[2], numbers[4], numbers[3], numbers[5], zero
    for y in range(rows):
        first, share = down[y, 0], down[y, 2]
        near = (first + (1 if share == 3072 else 0)) * form[1]
        far = (first + (1 if share == 1024 else 0)) * form[1]
        _blend(span(blue, near, count), span(blue, far, count), u)
        _blend(span(red, near, count), span(red, far, count), v)
        at, line = y * form[0], span(target, y * 3 * width, 3 * width)
        if past is not None:
            for x in range(0, width, PIXELS):
                put_pixels_past(luma, at + x, u, v, x // 2, weights, line, 3 * x)
            continue
        for x in range(0, width - PIXELS, PIXELS):
            for k in range(0, 3 * PIXELS, 64):
                fetch_line(line, 3 * x + AHEAD + k)
            put_pixels(luma, at + x, u, v, x // 2, weights, line, 3 * x)
        x = width - PIXELS  # some of the last ones once more
        put_pixels(luma, at + x, u, v, x // 2, weights, line, 3 * x)
    if past is not None:
        finish_lines()
