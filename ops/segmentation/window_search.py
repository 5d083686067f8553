"""The search of `random_bbox_crop`: windows are drawn until one fits the boxes.

Of the random words of a sample, each choice takes a block, and each attempt two: sizes, places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import BoolVector, Draws, F32Vector, F64Table, F64Vector, I64Vector
from gradiva.ops.random.scaled import scaled

MOST_ATTEMPTS = 1 << 20
"""After so many attempts without a limit of the user's, there is no window."""


@op.jit
def _whole(word: np.uint32, count: int) -> np.int64:
    """A number below `count` from a random word of 32 bits."""
    return np.int64(scaled(np.uint64(word) << np.uint64(32), np.uint64(count)))


@op.jit
def _beyond(scaling: F64Vector, ratios: F64Table, input_shape: F64Vector) -> bool:
    """Whether a ratio that is one number allows no window with both sides in `scaling`."""
    low, high = scaling[0], scaling[1]
    for one in range(input_shape.size - 1):
        for other in range(one + 1, input_shape.size):
            pair = one + other - 1
            ratio = ratios[pair, 0] * input_shape[other] / input_shape[one]
            if ratios[pair, 0] == ratios[pair, 1] and (
                ratio * low > high * (1.0 + 1e-9) or ratio * high < low * (1.0 - 1e-9)
            ):
                return True
    return False


@op.jit
def _sizes(
    words: tuple[np.uint32, ...],
    scaling: F64Vector,
    ratios: F64Table,
    input_shape: F64Vector,
    sizes: F64Vector,
    beyond: bool,
) -> bool:
    """Draw the sizes of a window, as fractions; whether they are allowed. A ratio that is one
    number leaves the longer side as it is and fixes the other; ratios else accept or reject.
    beyond: the shorter side may be below `scaling`; what is above is made smaller as a whole."""
    ndim = sizes.size
    low, high = scaling[0], scaling[1]
    for axis in range(ndim):
        sizes[axis] = low + np.float64(words[axis]) * 2.0**-32 * (high - low)
    for one in range(ndim - 1):
        for other in range(one + 1, ndim):
            pair = one + other - 1
            if ratios[pair, 0] == ratios[pair, 1]:
                ratio = ratios[pair, 0]
                longest = max(sizes[one] * input_shape[one], sizes[other] * input_shape[other])
                first = longest if ratio >= 1.0 else longest * ratio
                sizes[one] = first / input_shape[one]
                sizes[other] = (longest / ratio if ratio >= 1.0 else longest) / input_shape[other]
    if beyond:
        excess = max(sizes.max() / high, 1.0)
        for axis in range(ndim):
            sizes[axis] /= excess
        low = 0.0
    for axis in range(ndim):
        if sizes[axis] < low - 1e-9 or sizes[axis] > high + 1e-9 or sizes[axis] <= 0.0:
            return False
    for one in range(ndim - 1):
        for other in range(one + 1, ndim):
            pair = one + other - 1
            ratio = sizes[one] * input_shape[one] / (sizes[other] * input_shape[other])
            if ratio < ratios[pair, 0] * (1.0 - 1e-9) or ratio > ratios[pair, 1] * (1.0 + 1e-9):
                return False
    return True


@op.jit
def _metric(boxes: F64Table, window: F64Vector, overlap: bool, every: bool) -> float:
    """The least (`every`) or largest overlap of boxes with the window."""
    ndim = window.size // 2
    result = np.inf if every else -np.inf
    for b in range(len(boxes)):
        common, own, outer = 1.0, 1.0, 1.0
        for axis in range(ndim):
            begin, end = boxes[b, axis], boxes[b, ndim + axis]
            first, last = window[axis], window[axis] + window[ndim + axis]
            common *= max(min(end, last) - max(begin, first), 0.0)
            own *= end - begin
            outer *= window[ndim + axis]
        whole = own if overlap else own + outer - common
        value = common / whole if whole > 0.0 else 0.0
        result = min(result, value) if every else max(result, value)
    return result


@op.jit
def _keep(boxes: F64Table, window: F64Vector, prune: float, kept: BoolVector) -> int:
    """Mark the boxes that stay, and count them: whose center is in the window, or with `prune`,
    of whose volume so much is. A box that ends before it begins has a negative volume, or none in
    common with the window."""
    ndim = window.size // 2
    count = 0
    for b in range(len(boxes)):
        common, own, centered = 1.0, 1.0, True
        for axis in range(ndim):
            begin, end = boxes[b, axis], boxes[b, ndim + axis]
            first, last = window[axis], window[axis] + window[ndim + axis]
            center = (begin + end) * 0.5
            centered = centered and first <= center <= last
            common *= max(min(end, last) - max(begin, first), 0.0)
            own *= end - begin
        if prune < 0.0 or own == 0.0:
            kept[b] = centered
        else:
            kept[b] = common > 0.0 and common >= prune * own
        count += kept[b]
    return count


@op.jit
def _search(
    boxes: F64Table,
    draws: tuple[np.uint64, np.uint64, np.uint32],
    rules: tuple[F64Vector, bool, int, int, F64Vector, F64Table, bool, bool, float],
    input_shape: F64Vector,
    crop: F64Vector,
    window: F64Vector,
    kept: BoolVector,
) -> int:
    """Find a window (starts, sizes, as fractions of the input) and the boxes that stay.

    boxes: (n, 2 * ndim), starts and ends. crop: the window's size in pixels, or empty. Returns 0, 1
    for the best of windows none of which fits, or 2 if there was none.
    """
    position, seed, number = draws
    thresholds, no_crop, attempts, total, scaling, ratios, overlap, every, prune = rules
    ndim = window.size // 2
    options = thresholds.size + (1 if no_crop else 0)
    best = -1.0
    beyond = crop.size == 0 and _beyond(scaling, ratios, input_shape)
    drawn = np.empty(2 * ndim)
    sizes = np.empty(ndim)
    tried, block = 0, 0
    limit = total if total > 0 else MOST_ATTEMPTS
    while tried < limit:
        words = philox(np.uint32(block), number, position, seed)
        block += 1
        option = _whole(words[0], options)
        if option == thresholds.size:
            window[:ndim] = 0.0
            window[ndim:] = 1.0
            kept[:] = True
            return 0
        for _ in range(attempts):
            if tried >= limit:
                break
            tried += 1
            first = philox(np.uint32(block), number, position, seed)
            second = philox(np.uint32(block + 1), number, position, seed)
            block += 2
            if crop.size:
                for axis in range(ndim):
                    free: Any = np.int64(input_shape[axis] - crop[axis])
                    start = _whole(second[axis], abs(free) + 1) + min(free, 0)
                    drawn[axis] = start / input_shape[axis]
                    drawn[ndim + axis] = crop[axis] / input_shape[axis]
            elif _sizes(first, scaling, ratios, input_shape, sizes, beyond):
                for axis in range(ndim):
                    drawn[axis] = np.float64(second[axis]) * 2.0**-32 * (1.0 - sizes[axis])
                    drawn[ndim + axis] = sizes[axis]
            else:
                continue
            if len(boxes) == 0:
                window[:] = drawn
                return 0
            value = _metric(boxes, drawn, overlap, every)
            if value >= thresholds[option] and _keep(boxes, drawn, prune, kept) > 0:
                window[:] = drawn
                return 0
            if value > best:
                best = value
                window[:] = drawn
    if total > 0 and best >= 0.0:
        _keep(boxes, window, prune, kept)
        return 1
    return 2


@op.jit
def search_all(
    rows: tuple[F64Table, I64Vector, I64Vector],
    draws: Draws,
    rules: tuple[F64Vector, bool, int, int, F64Vector, F64Table, bool, bool, float],
    limits: tuple[F64Table, F64Table],
    results: tuple[F64Table, BoolVector, I64Vector],
    begin: int,
    end: int,
) -> None:
    """`_search` for a range of samples.

    rows: boxes, of which a sample has `counts` from `starts` on. rules: of `Options`; limits: the
    fields of `Limits`. results: windows, kept boxes, and states, what `_search` returns.
    """
    boxes, starts, counts = rows
    positions, seed, number = draws
    inputs, crops = limits
    windows, kept, states = results
    for i in range(begin, end):
        own = slice(starts[i], starts[i] + counts[i])
        key = np.uint64(positions[i]), seed, number
        states[i] = _search(boxes[own], key, rules, inputs[i], crops[i], windows[i], kept[own])


@op.jit
def place_kernel(
    table: tuple[F64Table, tuple[I64Vector, I64Vector], F64Table, BoolVector],
    columns: I64Vector,
    sized: bool,
    result: tuple[F32Vector, I64Vector],
    begin: int,
    end: int,
) -> None:
    """Write the boxes that are kept, in fractions of the window of their sample, cut at its edges.

    table: boxes, of which a sample has `counts` from `starts` on, windows, and which boxes are
    kept. columns: where starts and ends (or sizes, if `sized`) stand in a row of the result.
    """
    boxes, (starts, counts), windows, kept = table
    target, offsets = result
    ndim = columns.size // 2
    for i in range(begin, end):
        there = offsets[i]
        for row in range(starts[i], starts[i] + counts[i]):
            if not kept[row]:
                continue
            for axis in range(ndim):
                first, size = windows[i, axis], windows[i, ndim + axis]
                low, high = (
                    (boxes[row, axis] - first) / size,
                    (boxes[row, ndim + axis] - first) / size,
                )
                low, high = low if low > 0.0 else 0.0, high if high > 0.0 else 0.0
                low, high = low if low < 1.0 else 1.0, high if high < 1.0 else 1.0
                target[there + columns[axis]] = np.float32(low)
                target[there + columns[ndim + axis]] = np.float32(high - low if sized else high)
            there += 2 * ndim
