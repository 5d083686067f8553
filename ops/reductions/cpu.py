"""The kernel of all reductions: a sample after the other, block by block."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.convert import convert_sat

from .lanes import DEVIATIONS, LANES, put, reduce_block, take

PLAIN: Final = 0
MEAN: Final = 1
ROOT: Final = 2

_FEW: Final = 16
"""Blocks of one column with at most so many rows are not worth lanes."""


@op.jit
def _finish(value: Any, divisor: float, ending: int, like: Any) -> Any:
    """What a sum becomes in the end: itself, a mean, or the root of a mean."""
    if ending == PLAIN:
        return convert_sat(value, like)
    mean = np.float64(value) / divisor
    if ending == ROOT:
        mean = np.sqrt(mean)
    return convert_sat(mean, like)


@op.jit
def _few_rows(
    source: Any,
    rows: int,
    first: int,
    count: int,
    center: Any,
    kind: int,
    start: Any,
    lanes: Any,
    middles: Any,
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
def reduce_samples(
    src: Any,
    src_offsets: Any,
    dst: Any,
    dst_offsets: Any,
    extents: Any,
    centers: Any,
    center_offsets: Any,
    center_counts: Any,
    kind: int,
    start: Any,
    like: Any,
    ddof: int,
    ending: int,
    begin: int,
    end: int,
) -> None:
    """Reduce samples `begin` to `end`.

    extents: of groups of axes (see `axes.groups`); centers: float64, of DEVIATIONS: one number for
    a sample or one for each result; start: two values of the dtype of sums: what they start with,
    and what they are if nothing is reduced; like: an empty array of the lanes' dtype.
    """
    pairs = extents.shape[1] // 2
    lanes = np.empty(LANES, like.dtype)
    totals = np.empty(LANES, start.dtype)
    middles = np.empty(LANES, np.float64)
    for i in range(begin, end):
        outer, kept, reduced = 1, 1, 1
        for group in range(2 * pairs - 1):
            outer *= extents[i, group]
        for group in range(0, 2 * pairs + 1, 2):
            kept *= extents[i, group]
        for group in range(1, 2 * pairs + 1, 2):
            reduced *= extents[i, group]
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
            # Where the block's results go: its number without the reduced groups in it.
            to, rest, pitch = 0, block, columns
            for group in range(2 * pairs - 2, -1, -1):
                if group % 2 == 0:
                    to += rest % extents[i, group] * pitch
                    pitch *= extents[i, group]
                rest //= extents[i, group]
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
