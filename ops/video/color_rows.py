"""Kernels: pixels from planes of luma and chroma, a row at a time, in integers.

The arithmetic is that of FFmpeg's scaler with accurate rounding and full chroma: 15 bits for
samples, wide sums that wrap at 32 bits. Each stage of a row is a loop of its own, of which LLVM
makes vectors; of one loop that does it all it makes none.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import (
    I16Vector,
    I32Vector,
    I64Table,
    I64Vector,
    Number,
    U8Table,
    U8Vector,
    Vector,
)

from .chroma_taps import ALONE, DOUBLED

RGB: Final = 0
YCBCR: Final = 1
GRAY: Final = 2
"""What comes out: red, green and blue; luma and chroma as they are; three times luma."""

_MOST: Final = np.int32(32767)
_TOP: Final = np.int32((1 << 30) - 1)
_NONE: Final = np.int32(0)
_HALF: Final = np.int32(1 << 21)
_FULL: Final = np.int32(255)


@op.jit
def _double(line: Vector, shift: int, target: I16Vector) -> None:
    """Each sample as two: three parts of the nearer and one of the other."""
    count = line.size
    edge: Number = np.int32(line[0]) * 16384 >> shift
    target[0] = min(edge, 32767)
    for k in range(count - 1):
        one, other = np.int32(line[k]), np.int32(line[k + 1])
        # Without its bounds and types a shift is one of 64 bits, of which there are no vectors.
        near = np.int32(np.int32(one * 12288 + other * 4096) >> (shift & 15))
        far = np.int32(np.int32(one * 4096 + other * 12288) >> (shift & 15))
        target[2 * k + 1] = min(near, _MOST)
        target[2 * k + 2] = min(far, _MOST)
    edge = np.int32(line[count - 1]) * 16384 >> shift
    target[2 * count - 1] = min(edge, 32767)


@op.jit
def _double_shifted(line: Vector, up: int, target: I16Vector) -> None:
    """What `_double` makes of samples of up to 13 bits, from which it drops nothing: four samples
    and `up` bits are 15 bits at most."""
    count = line.size
    shift = np.int16(up & 15)
    target[0] = np.int16(line[0]) << 2 << shift
    for k in range(count - 1):
        one, other = np.int16(line[k]), np.int16(line[k + 1])
        target[2 * k + 1] = np.int16(np.int16(one + one + one + other) << shift)
        target[2 * k + 2] = np.int16(np.int16(one + other + other + other) << shift)
    target[2 * count - 1] = np.int16(line[count - 1]) << 2 << shift


@op.jit
def _raise(line: Vector, shift: int, target: I16Vector) -> None:
    """A sample for each place."""
    for x in range(target.size):
        target[x] = np.int32(np.int32(np.int32(line[x]) * 16384) >> (shift & 15))


@op.jit
def _widen(line: Vector, taps: I64Table, shift: int, target: I16Vector) -> None:
    """One sample for each place, of two at most."""
    last = line.size - 1
    for x in range(target.size):
        first = taps[x, 0]
        one, other = np.int32(line[first]), np.int32(line[min(first + 1, last)])
        target[x] = min(np.int32(one * taps[x, 1] + other * taps[x, 2]) >> shift, _MOST)


@op.jit
def _blend(one: I16Vector, other: I16Vector, share: int, target: I32Vector) -> None:
    """Two lines of chroma as one, about zero, times 4."""
    first, second = np.int32(4096 - share), np.int32(share)
    for x in range(target.size):
        total = np.int32(np.int32(one[x]) * first + np.int32(other[x]) * second)
        target[x] = np.int32(total - np.int32(128 << 19)) >> 10


@op.jit
def _blend_quarters(one: I16Vector, other: I16Vector, target: I32Vector) -> None:
    """What `_blend` makes of three parts and one: as sums, of which nothing is dropped."""
    for x in range(target.size):
        near = np.int32(one[x])
        target[x] = np.int32(near + near + near + np.int32(other[x])) - np.int32(128 << 9)


@op.jit
def _weigh(
    luma: I32Vector, one: I32Vector, other: I32Vector, first: int, second: int, target: U8Vector
) -> None:
    """A color: luma and two weighted lines of chroma."""
    a, b = np.int32(first), np.int32(second)
    for x in range(target.size):
        total = np.int32(luma[x] + np.int32(one[x] * a) + np.int32(other[x] * b))
        target[x] = min(max(np.int32(total >> 22), _NONE), _FULL)


@op.jit
def _weigh_one(luma: I32Vector, line: I32Vector, weight: int, target: U8Vector) -> None:
    """A color of one line of chroma only."""
    a = np.int32(weight)
    for x in range(target.size):
        total = np.int32(luma[x] + np.int32(line[x] * a))
        target[x] = min(max(np.int32(total >> 22), _NONE), _FULL)


@op.jit
def _brighten(line: Vector, depth: int, numbers: I64Vector, target: I32Vector) -> None:
    """A line of luma, in the range of colors."""
    # Of 16 bits the last one is dropped before anything is computed.
    down, up = max(depth - 15, 0), max(15 - depth, 0) + 2
    scale = np.int32(numbers[0] << up)
    least = np.int32(_HALF - np.int32(numbers[1] * numbers[0]))
    for x in range(target.size):
        target[x] = np.int32(np.int32(np.int32(np.int32(line[x]) >> (down & 1)) * scale) + least)


@op.jit
def _eight_bits(line: Vector, drop: int, target: U8Vector) -> None:
    """Samples of more than 8 bits as bytes, rounded; `drop`: how many bits more."""
    half = np.int32((1 << drop) >> 1)
    for x in range(target.size):
        target[x] = min(np.int32(np.int32(line[x]) + half) >> drop, _FULL)


@op.jit
def _chroma_bytes(line: I32Vector, target: U8Vector) -> None:
    """Chroma about zero, as bytes about 128."""
    for x in range(target.size):
        total = np.int32(line[x] + np.int32((128 << 9) + 256)) >> 9
        target[x] = min(max(total, _NONE), _FULL)


@op.jit
def join(one: U8Vector, two: U8Vector, three: U8Vector, target: U8Vector) -> None:
    """A row of pixels of its three colors."""
    for x in range(one.size):
        target[3 * x] = one[x]
        target[3 * x + 1] = two[x]
        target[3 * x + 2] = three[x]


@op.jit
def _gather(line: Vector, step: int, drop: int, target: Vector) -> None:
    """Every `step`-th sample; they may stand in the upper bits of their words."""
    for x in range(target.size):
        target[x] = line[x * step] >> drop


@op.jit
def _spread(line: Vector, way: int, depth: int, taps: I64Table, target: I16Vector) -> None:
    """A row of chroma in the width of luma, 15 bits a sample. depth: bits of the samples of `line`;
    way: ALONE, DOUBLED, or else by `taps`, a table of `chroma_taps`."""
    if way == ALONE:
        _raise(line, depth - 1, target)
    elif way == DOUBLED and depth <= 13:
        _double_shifted(line, 13 - depth, target)
    elif way == DOUBLED:
        _double(line, depth - 1, target)
    else:
        _widen(line, taps, depth - 1, target)


@op.jit
def convert_planes(
    planes: tuple[Vector, Vector, Vector],
    form: I64Vector,
    across: I64Table,
    down: I64Table,
    numbers: I64Vector,
    window: I64Vector,
    kind: int,
    out: U8Table,
) -> None:
    """Fill `out`, uint8 (rows, 3 * columns), with a window of a picture.

    planes: luma, blue and red chroma, 1-D, unsigned; form: elements from one row to the next of
    luma and of chroma, elements from one chroma sample to the next, samples of a chroma row, bits
    of a sample, bits below them, the way of `across`; across, down: the tables of `chroma_taps`;
    numbers: of `color_numbers`; window: its top row and left column.
    """
    luma, blue, red = planes
    pitch, chroma_pitch, step, count = form[0], form[1], form[2], form[3]
    depth, drop, way = form[4], form[5], form[6]
    rows, width, whole = out.shape[0], out.shape[1] // 3, len(across)
    top, left = window[0], window[1]
    lines = np.empty((2, 2, whole), np.int16)
    held = np.full(2, -1, np.int64)
    u, v = np.empty(width, np.int32), np.empty(width, np.int32)
    bright = np.empty(width, np.int32)
    colors = np.empty((3, width), np.uint8)
    room = np.empty(max(width, count), luma.dtype)
    for y in range(rows):
        at = (top + y) * pitch + left
        light = luma[at : at + width]
        if drop:
            _gather(light, 1, drop, room[:width])
            light = room[:width]
        if kind == YCBCR:
            _eight_bits(light, depth - 8, colors[0])
        else:
            _brighten(light, depth, numbers, bright)
        if kind == GRAY:
            for x in range(width):
                colors[0, x] = min(max(bright[x], _NONE), _TOP) >> 22
            join(colors[0], colors[0], colors[0], out[y])
            continue
        first, share = down[top + y, 0], down[top + y, 2]
        for k in range(2):
            if k and not share:
                continue
            row = first + k
            slot = row % 2
            if held[slot] != row:
                held[slot] = row
                for c in range(2):
                    plane = blue if c == 0 else red
                    begin = row * chroma_pitch
                    line = plane[begin : begin + (count - 1) * step + 1]
                    if drop or step > 1:
                        _gather(line, step, drop, room[:count])
                        line = room[:count]
                    _spread(line, way, depth, across, lines[slot, c])
        one, other = lines[first % 2], lines[(first + 1) % 2 if share else first % 2]
        if share == 3072:
            one, other = other, one
        for c in range(2):
            near, far = one[c, left : left + width], other[c, left : left + width]
            if share == 1024 or share == 3072:
                _blend_quarters(near, far, u if c == 0 else v)
            else:
                _blend(near, far, share, u if c == 0 else v)
        if kind == YCBCR:
            _chroma_bytes(u, colors[1])
            _chroma_bytes(v, colors[2])
        else:
            _weigh_one(bright, v, numbers[2], colors[0])
            _weigh(bright, u, v, numbers[4], numbers[3], colors[1])
            _weigh_one(bright, u, numbers[5], colors[2])
        join(colors[0], colors[1], colors[2], out[y])
