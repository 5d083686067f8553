"""The taps by which planes of chroma grow to the size of luma, in integers.

FFmpeg's scaler has a table of weights for each size (bilinear, chroma centered between the pixels
it belongs to), whose rounding is part of the pixels. This makes the same table: two taps at most
for each place. Of an interlaced frame, each field has a table of its own: the chroma of the upper
one stands higher than between its lines, that of the lower one deeper.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Int64Array

ALONE: Final = 0
DOUBLED: Final = 1
MIXED: Final = 2
"""Ways of tables: a sample for each place; weights of 3:1 and 1:3 in turns, as for even sizes; any
weights."""

ACROSS: Final = 1 << 14
"""The sum of the weights along a row."""
DOWN: Final = 1 << 12
"""The sum of the weights along a column."""
_ONE: Final = 1 << 17
"""One sample of chroma, in units of places."""
_MIDDLE: Final = 128
_PEAK: Final = 1 << 30
_NEXT_TO_NOTHING: Final = 0.002
"""A share of the weights that the table leaves out on the left."""


class Taps(NamedTuple):
    """Of each place: the first sample, and the weights of it and of the one after it, (n, 3). way:
    ALONE, DOUBLED or MIXED."""

    table: Int64Array
    way: int


def field_taps(lines: int, halvings: int, lower: bool, there: int) -> Taps:
    """The taps for the lines of a field, of which so many lines of chroma are there.

    >>> field_taps(8, 1, False, 4).table[2].tolist()
    [0, 512, 3584]
    """
    middle = 128 * ((1 << halvings) - 1)
    stands = (middle + (256 if lower else 0)) >> 1
    table = chroma_taps(lines, halvings, DOWN, (stands + 128) >> halvings).table.copy()
    missing = table[:, 0] >= there
    table[missing] = there - 1, DOWN, 0
    cut = (table[:, 0] == there - 1) & (table[:, 2] > 0)
    table[cut, 1:] = DOWN, 0
    return Taps(table, MIXED)


@lru_cache(maxsize=256)
def chroma_taps(made: int, halvings: int, whole: int, stands: int = _MIDDLE) -> Taps:
    """The taps for `made` places from planes that were halved so often; whole: the sum of weights;
    stands: where the first sample does within the places that it belongs to, in units of the
    scaler.

    >>> chroma_taps(8, 1, 4096).table[1].tolist()
    [0, 3072, 1024]
    """
    size = (made + (1 << halvings) - 1) >> halvings
    pace = ((size << 16) + (made >> 1)) // made
    table = np.zeros((made, 3), np.int64)
    if abs(pace - (1 << 16)) < 10:
        table[:, 0], table[:, 1] = np.arange(made), whole
        return Taps(table, ALONE)
    count = max(1, min(3, size - 2))
    following: int | None = None
    for place in range(made - 1, -1, -1):
        at = pace - (stands << 9) + 2 * pace * place
        head = at - (count - 2) * (1 << 16)
        first = head // _ONE if head >= 0 else -(-head // _ONE)
        weights = [max(_PEAK - (abs((first + k) * _ONE - at) << 13), 0) for k in range(count)]
        left = 0
        for _ in range(count):
            left += weights[0]
            if left > _NEXT_TO_NOTHING * _PEAK or (following is not None and first >= following):
                break
            weights, first = [*weights[1:], 0], first + 1
        following = first
        table[place] = _rounded(first, weights, size, whole)
    odd, even = table[1:-1:2], table[2:-1:2]
    doubled = (
        made == 2 * size
        and made > 6
        and bool((odd[:, 1:] == (3 * whole // 4, whole // 4)).all())
        and bool((even[:, 1:] == (whole // 4, 3 * whole // 4)).all())
    )
    return Taps(table, DOUBLED if doubled else MIXED)


def _rounded(first: int, weights: list[int], size: int, whole: int) -> tuple[int, int, int]:
    """Weights whose sum is `whole`, of samples that exist: what lies outside is that at the edge.
    What rounding leaves over goes to the next one."""
    total = (sum(weights) + whole // 2) // whole or 1
    inside: dict[int, int] = {}
    for k, weight in enumerate(weights):
        where = min(max(first + k, 0), size - 1)
        inside[where] = inside.get(where, 0) + weight
    left, parts = 0, list[tuple[int, int]]()
    for where, weight in inside.items():
        value = weight + left
        part = (value + (total >> 1)) // total if value >= 0 else -(((total >> 1) - value) // total)
        left = value - part * total
        if part:
            parts.append((where, part))
    parts.append((parts[0][0], 0))
    (where, one), (_, other) = parts[:2]
    return where, one, other
