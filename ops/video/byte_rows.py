"""Kernel: pixels from planes of bytes whose rows of chroma are half as wide as luma, which most
videos have.

What `color_rows` computes, bit by bit, in fewer and smaller steps: of bytes no intermediate result
is rounded, so lines of chroma are blended before they are made twice as wide, in 16 bits, and each
color is one loop over luma and chroma.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .color_rows import join

__all__ = ["convert_bytes"]

_GRAY: Final = np.int16(16 * 128)
"""Chroma of no color, as the lines here have it."""
_HALF: Final = np.int32(1 << 21)
_NONE: Final = np.int32(0)
_FULL: Final = np.int32(255)


@op.jit
def _blend(near: Any, far: Any, target: Any) -> None:
    """Two lines of chroma as one, times 4: three parts of the nearer and one of the other."""
    for k in range(target.size):
        target[k] = np.int16(np.int16(np.int16(near[k]) * np.int16(3)) + np.int16(far[k]))


@op.jit
def _double(line: Any, target: Any) -> None:
    """Each sample as two, times 4, about zero: three parts of the nearer and one of the other."""
    last = line.size - 1
    target[0] = np.int16(line[0] * np.int16(4)) - _GRAY
    target[1] = np.int16(np.int16(line[0] * np.int16(3)) + line[1]) - _GRAY
    for k in range(1, last):
        three = np.int16(np.int16(line[k] * np.int16(3)) - _GRAY)
        target[2 * k] = np.int16(three + line[k - 1])
        target[2 * k + 1] = np.int16(three + line[k + 1])
    target[2 * last] = np.int16(np.int16(line[last] * np.int16(3)) + line[last - 1]) - _GRAY
    target[2 * last + 1] = np.int16(line[last] * np.int16(4)) - _GRAY


@op.jit
def _weigh_one(luma: Any, line: Any, scale: int, weight: int, least: int, target: Any) -> None:
    """A color of luma and one line of chroma. The sum wraps at 32 bits, as that of the scaler."""
    a, b, rest = np.int32(scale << 9), np.int32(weight << 5), np.int32(least)
    for x in range(target.size):
        light = np.int32(np.int32(np.int32(luma[x]) * a) + rest)
        total = np.int32(light + np.int32(np.int32(line[x]) * b))
        target[x] = min(max(np.int32(total >> 22), _NONE), _FULL)


@op.jit
def _weigh(
    luma: Any, one: Any, other: Any, scale: int, first: int, second: int, least: int, target: Any
) -> None:
    """The same of two lines of chroma."""
    a, rest = np.int32(scale << 9), np.int32(least)
    b, c = np.int32(first << 5), np.int32(second << 5)
    for x in range(target.size):
        light = np.int32(np.int32(np.int32(luma[x]) * a) + rest)
        color = np.int32(np.int32(np.int32(one[x]) * b) + np.int32(np.int32(other[x]) * c))
        total = np.int32(light + color)
        target[x] = min(max(np.int32(total >> 22), _NONE), _FULL)


@op.jit
def convert_bytes(planes: Any, form: Any, down: Any, numbers: Any, out: Any) -> None:
    """Fill `out`, uint8 (rows, 3 * columns), with red, green and blue of a picture.

    planes: luma, blue and red chroma, 1-D, uint8; form: bytes from one row to the next of luma and
    of chroma; down: the table of `chroma_taps`, of weights of 0, one or three quarters; numbers:
    of `color_numbers`.
    """
    luma, blue, red = planes
    rows, width = out.shape[0], out.shape[1] // 3
    count = width // 2
    blend = np.empty(count, np.int16)
    u, v = np.empty(width, np.int16), np.empty(width, np.int16)
    colors = np.empty((3, width), np.uint8)
    scale = numbers[0]
    least: Any = np.int32(_HALF - np.int32(numbers[1] * scale))
    for y in range(rows):
        first, share = down[y, 0], down[y, 2]
        near = (first + (1 if share == 3072 else 0)) * form[1]
        far = (first + (1 if share == 1024 else 0)) * form[1]
        _blend(blue[near : near + count], blue[far : far + count], blend)
        _double(blend, u)
        _blend(red[near : near + count], red[far : far + count], blend)
        _double(blend, v)
        light = luma[y * form[0] : y * form[0] + width]
        _weigh_one(light, v, scale, numbers[2], least, colors[0])
        _weigh(light, u, v, scale, numbers[4], numbers[3], least, colors[1])
        _weigh_one(light, u, scale, numbers[5], least, colors[2])
        join(colors[0], colors[1], colors[2], out[y])
