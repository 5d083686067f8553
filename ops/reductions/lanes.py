"""The inner loops of reductions: strips of values into lanes, lanes into one.

A block is `rows` x `columns` values, reduced over its rows. Where there are few columns, several
rows are added side by side, in up to 256 lanes, which are then added up in halves. So loops are
wide, and the order of additions depends on nothing but the shape of the block.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

SUM: Final = 0
SQUARES: Final = 1
DEVIATIONS: Final = 2
MINIMUM: Final = 3
MAXIMUM: Final = 4

LANES: Final = 256
_FLUSH: Final = 32768
"""So many squares of 8 bits, or values of 16 bits, fit into 32 bits."""


@op.jit
def put(values: Any, at: int, other: Any, kind: int) -> None:
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
def take(lanes: Any, strip: Any, centers: Any, kind: int) -> None:
    """Take one strip of values into as many lanes."""
    if kind == SUM:
        for j in range(strip.size):
            lanes[j] += strip[j]
    elif kind == SQUARES:
        for j in range(strip.size):
            lanes[j] += strip[j] * strip[j]
    elif kind == DEVIATIONS:
        for j in range(strip.size):
            apart = np.float64(strip[j]) - centers[j]
            lanes[j] += apart * apart
    elif kind == MINIMUM:
        for j in range(strip.size):
            lane, value = lanes[j], strip[j]
            lanes[j] = value if value < lane or lane != lane else lane
    else:
        for j in range(strip.size):
            lane, value = lanes[j], strip[j]
            lanes[j] = value if value > lane or lane != lane else lane


@op.jit
def _join(totals: Any, lanes: Any, kind: int) -> None:
    """Take lanes into totals."""
    for j in range(lanes.size):
        put(totals, j, lanes[j], kind)


@op.jit
def reduce_block(
    source: Any,
    rows: int,
    columns: int,
    first: int,
    count: int,
    centers: Any,
    kind: int,
    start: Any,
    lanes: Any,
    totals: Any,
    middles: Any,
) -> None:
    """Reduce columns `first` to `first + count` of a block: the results are `totals[:count]`.

    source: the block; centers: one number for all columns, or one per column, of DEVIATIONS; start:
    an array with the value that lanes start with; lanes, totals, middles: memory, LANES long.
    Where `count` is less than `columns`, it is at most LANES; else columns are.
    """
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
            take(lanes[:width], source[at : at + width], middles, kind)
            row += 1
        _join(totals, lanes[:width], kind)
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
