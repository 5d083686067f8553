"""The kernels of all reductions on the CPU: strips of values into lanes, lanes into one.

A block is `rows` x `columns` values, reduced over its rows. Where there are few columns, several
rows are added side by side, in up to 256 lanes, which are then added up in halves. So loops are
wide, and the order of additions depends on nothing but the shape of the block.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.simd.intrinsics import span, without_refcount
from gradiva.eager.types.arrays import F64Vector, I64Table, I64Vector, Number, Slabs, Vector

SUM: Final = 0
SQUARES: Final = 1
DEVIATIONS: Final = 2
MINIMUM: Final = 3
MAXIMUM: Final = 4

LANES: Final = 256
_FLUSH: Final = 32768
"""So many squares of 8 bits, or values of 16 bits, fit into 32 bits."""


@op.jit
def put(values: Vector, at: int, other: Number, kind: int) -> None:
    """Take one value into `values[at]`."""
    if kind == MINIMUM:
        if other < values[at] or values[at] != values[at]:
            values[at] = other
    elif kind == MAXIMUM:
        if other > values[at] or values[at] != values[at]:
            values[at] = other
    else:
        values[at] += other


@op.jit
def take(lanes: Vector, strip: Vector, centers: F64Vector, kind: int) -> None:
    """Take one strip of values into as many lanes."""
    if kind == SUM:
        for j in range(strip.size):
            lanes[j] += strip[j]
    elif kind == SQUARES:
        for j in range(strip.size):
            lanes[j] += strip[j] * strip[j]
    elif kind == DEVIATIONS:
        for j in range(strip.size):
            deviation = np.float64(strip[j]) - centers[j]
            lanes[j] += deviation * deviation
    elif kind == MINIMUM:
        for j in range(strip.size):
            lane, value = lanes[j], strip[j]
            lanes[j] = value if value < lane or lane != lane else lane
    else:
        for j in range(strip.size):
            lane, value = lanes[j], strip[j]
            lanes[j] = value if value > lane or lane != lane else lane


@op.jit
def _join(totals: Vector, lanes: Vector, kind: int) -> None:
    """Take lanes into totals."""
    for j in range(lanes.size):
        put(totals, j, lanes[j], kind)


@op.jit
def reduce_block(
    source: Vector,
    rows: int,
    columns: int,
    first: int,
    count: int,
    centers: F64Vector,
    kind: int,
    start: Vector,
    lanes: Vector,
    totals: Vector,
    middles: F64Vector,
) -> None:
    """Reduce columns `first` to `first + count` of a block: the results are `totals[:count]`.

    source: the block; centers: one number for all columns, or one per column, of DEVIATIONS; start:
    an array with the value that lanes start with; lanes, totals, middles: memory, LANES long.
    Where `count` is less than `columns`, it is at most LANES; else columns are.
    """
    source, lanes = without_refcount(source), without_refcount(lanes)
    side = 1
    if count == columns:
        while side * 2 <= rows and side * 2 * columns <= LANES:
            side *= 2
    width = side * count
    if kind == DEVIATIONS:
        for j in range(width):
            middles[j] = centers[0 if centers.size == 1 else first + j % count]
    totals[:width] = start[0]
    step = side * columns
    whole = rows // side
    row = 0
    while row < whole:
        end = min(row + _FLUSH, whole)
        lanes[:width] = start[0]
        while row < end:
            at = row * step + first
            take(span(lanes, 0, width), span(source, at, width), middles, kind)
            row += 1
        _join(totals, span(lanes, 0, width), kind)
    rest = (rows - whole * side) * columns
    if rest > 0:
        lanes[:rest] = start[0]
        at = whole * step
        take(lanes[:rest], source[at : at + rest], middles, kind)
        _join(totals, lanes[:rest], kind)
    while side > 1:
        side //= 2
        half = side * count
        _join(totals, totals[half : 2 * half], kind)


PLAIN: Final = 0
MEAN: Final = 1
ROOT: Final = 2

_FEW: Final = 16
"""Blocks of one column with at most so many rows are not worth lanes."""


@op.jit
def _finish(value: Number, divisor: float, ending: int, like: Vector) -> Number:
    """What a sum becomes in the end: itself, a mean, or the root of a mean."""
    if ending == PLAIN:
        return convert_sat(value, like)
    mean = np.float64(value) / divisor
    if ending == ROOT:
        mean = np.sqrt(mean)
    return convert_sat(mean, like)


@op.jit
def _few_rows(
    source: Vector,
    rows: int,
    first: int,
    count: int,
    center: F64Vector,
    kind: int,
    start: Vector,
    lanes: Vector,
    middles: F64Vector,
) -> None:
    """Blocks of one column and few rows, side by side: the channels of interleaved pixels."""
    if kind == DEVIATIONS:
        for j in range(count):
            middles[j] = center[0 if center.size == 1 else first + j]
    lanes[:count] = start[0]
    for row in range(rows):
        strip = source[first * rows + row : (first + count - 1) * rows + row + 1 : rows]
        take(lanes[:count], strip, middles, kind)


@op.jit
def _counts(extents: I64Vector, pairs: int) -> tuple[int, int, int]:
    """Of a sample: how many blocks it has, how many results, and how many values each is made of.

    extents: of its groups of axes, those that stay and those that are reduced in turns."""
    outer, kept, reduced = 1, 1, 1
    for group in range(2 * pairs - 1):
        outer *= extents[group]
    for group in range(0, 2 * pairs + 1, 2):
        kept *= extents[group]
    for group in range(1, 2 * pairs + 1, 2):
        reduced *= extents[group]
    return outer, kept, reduced


@op.jit
def _place(block: int, extents: I64Vector, pairs: int) -> int:
    """Where the results of a block begin: its number without the reduced groups in it, times the
    columns."""
    place, rest, pitch = 0, block, extents[2 * pairs]
    for group in range(2 * pairs - 2, -1, -1):
        if group % 2 == 0:
            place += rest % extents[group] * pitch
            pitch *= extents[group]
        rest //= extents[group]
    return place


@op.jit
def reduce_samples(
    slabs: Slabs,
    extents: I64Table,
    given: tuple[F64Vector, I64Vector, I64Vector],
    rule: tuple[int, int, int, Vector, Vector],
    begin: int,
    end: int,
) -> None:
    """Reduce samples `begin` to `end`.

    extents: of groups of axes (see `reduce.groups`); given: centers of DEVIATIONS, float64, one for
    a sample or one for each result, their offsets and counts; rule: kind, ending, ddof, start (two
    values of the dtype of sums: what they start with, and what they are if nothing is reduced),
    like (an empty array of the lanes' dtype).
    """
    src, src_offsets, dst, dst_offsets = slabs
    centers, center_offsets, center_counts = given
    kind, ending, ddof, start, like = rule
    pairs = extents.shape[1] // 2
    lanes = np.empty(LANES, like.dtype)
    totals = np.empty(LANES, start.dtype)
    middles = np.empty(LANES, np.float64)
    for i in range(begin, end):
        outer, kept, reduced = _counts(extents[i], pairs)
        rows, columns = extents[i, 2 * pairs - 1], extents[i, 2 * pairs]
        divisor = np.float64(reduced - ddof)
        target = dst[dst_offsets[i] : dst_offsets[i] + kept]
        center = centers[center_offsets[i] : center_offsets[i] + center_counts[i]]
        if reduced == 0:
            for k in range(kept):
                target[k] = _finish(start[1], divisor, ending, dst)
            continue
        if pairs == 1 and columns == 1 and rows <= _FEW:
            source = src[src_offsets[i] : src_offsets[i] + outer * rows]
            for first in range(0, outer, LANES):
                count = min(LANES, outer - first)
                _few_rows(source, rows, first, count, center, kind, start, lanes, middles)
                for k in range(count):
                    target[first + k] = _finish(lanes[k], divisor, ending, dst)
            continue
        sums = np.empty(0 if pairs == 1 else kept, start.dtype)
        sums[:] = start[0]
        for block in range(outer):
            to = _place(block, extents[i], pairs)
            s = src_offsets[i] + block * rows * columns
            source = src[s : s + rows * columns]
            about = center if center.size == 1 else center[to : to + columns]
            for first in range(0, columns, LANES):
                count = min(LANES, columns - first)
                reduce_block(
                    source, rows, columns, first, count, about, kind, start, lanes, totals, middles
                )
                at = to + first
                if pairs == 1:
                    for k in range(count):
                        target[at + k] = _finish(totals[k], divisor, ending, dst)
                else:
                    for k in range(count):
                        put(sums, at + k, totals[k], kind)
        if pairs > 1:
            for k in range(kept):
                target[k] = _finish(sums[k], divisor, ending, dst)
