"""Coefficients of `resize`: which inputs one output position reads, and with which weights."""

from __future__ import annotations

import math

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import noinline
from gradiva.eager.simd.intrinsics import LOCAL, local_floats
from gradiva.eager.types.arrays import Float32Array, Float64Array, Int64Array

from .columns import OUT_D, OUT_H, OUT_W

# The values are those of the public `InterpType`.
NN, LINEAR, CUBIC, LANCZOS3, TRIANGULAR, GAUSSIAN = 0, 1, 2, 3, 4, 5

# Like DALI, curved filters are read from a table with 32 steps per unit and linear
# interpolation: the exact curve would differ from it by up to 6e-4 of the value range.
_STEPS = 32


def _curve(filt: int) -> Float32Array:
    """Samples of a filter on [-radius, radius], with one spare zero for the interpolation."""
    radius = {CUBIC: 2, LANCZOS3: 3}.get(filt, 1)
    x = np.abs(np.arange(2 * radius * _STEPS + 1) / _STEPS - radius)
    if filt == CUBIC:
        y = np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, ((2.5 - 0.5 * x) * x - 4) * x + 2)
    elif filt == LANCZOS3:
        y = np.sinc(x) * np.sinc(x / 3)
    elif filt == GAUSSIAN:
        y = np.exp(-4.0 * x * x)
    else:
        y = 1.0 - x
    return np.append(y, 0.0).astype(np.float32)


# One flat table: a frozen global is what a cached kernel can hold.
_PARTS = [_curve(f) for f in (LINEAR, CUBIC, LANCZOS3, TRIANGULAR, GAUSSIAN)]
_CURVES = np.concatenate(_PARTS)
_CURVE_AT = np.cumsum([0, 0, *(len(p) for p in _PARTS[:-1])]).astype(np.int64)
_RADII = np.array([0.0, 1.0, 2.0, 3.0, 1.0, 1.0], np.float64)
_ROOT8 = np.float32(np.sqrt(8.0))


@op.jit
def _spread(m: int, lo: float, hi: float, antialias: int) -> float:
    """How much the filter of an axis is stretched, as float32 numbers.

    m: outputs; lo, hi: the ends of the region, in inputs; antialias: 1 or 0.
    """
    scale = abs(np.float32(hi) - np.float32(lo)) / np.float32(max(m, 1))
    return max(np.float64(scale), 1.0) if antialias else 1.0


@op.jit
def _wide(filt: int, spread: float) -> int:
    """How many inputs a filter covers, those beyond the border included.

    filt: the number of the filter; spread: in inputs.
    """
    if filt == 0:
        return 1
    wide: int = math.ceil(2.0 * _RADII[filt] * spread - 1e-9)
    return wide


@op.jit
def axis_of(
    axis: int, size: Int64Array, region: Float64Array, filt: Int64Array
) -> tuple[int, int, float, float, int, int]:
    """The facts of an axis: inputs, outputs, both ends of the region, filter, antialiasing.

    axis: 0, 1, 2 for D, H, W; size: a row of `sizes`; region: a row of `roi`, in pixels; filt: a
    row of `filters` (see cpu.py).
    """
    lo, hi = region[2 * axis], region[2 * axis + 1]
    return size[2 + axis], size[5 + axis], lo, hi, filt[axis], filt[3]


@op.jit
def axis_taps(facts: tuple[int, int, float, float, int, int]) -> int:
    """How many input positions one output position of this axis reads.

    facts: as `axis_of` returns them.
    """
    n, m, lo, hi, filt, antialias = facts
    taps: int = max(min(_wide(filt, _spread(m, lo, hi, antialias)), n), 1)
    return taps


@op.jit
def axis_origin(facts: tuple[int, int, float, float, int, int]) -> int:
    """The first input position that DALI keeps for this axis.

    facts: as `axis_of` returns them.
    """
    n, m, lo, hi, filt, antialias = facts
    reach = _RADII[filt] * _spread(m, lo, hi, antialias)
    first: int = min(max(math.floor(min(lo, hi) - reach), 0), n)
    return first


@op.jit
def first_axis(size: Int64Array, region: Float64Array, filt: Int64Array) -> int:
    """The axis (0, 1, 2 for D, H, W) that DALI resamples first.

    It takes the cheapest order of passes, W before H before D among equals. A pass costs its
    output elements times `3 + 1.2 taps` (D), `3 + taps` (H) or `3 + 1.4 taps` (W); here times 5,
    for whole numbers. An axis that is yet to come has the extent that its taps can reach.

    size, region, filt: as for `axis_of`.
    """
    kept, cost = local_floats(), local_floats()
    for axis in range(3):
        facts = axis_of(axis, size, region, filt)
        n, m, lo, hi = facts[:4]
        spread = _spread(m, lo, hi, filt[3])
        wide = _wide(filt[axis], spread)
        end = math.ceil(max(lo, hi) - _RADII[filt[axis]] * spread + wide)
        kept[axis] = max(min(end, n) - axis_origin(facts), 0)
        cost[axis] = 15.0 + wide * (6.0, 5.0, 7.0)[axis]
    if filt[4] == 2:
        cost[0] = 0.0
    first, best = 2, np.inf
    for a in (2, 1, 0):
        for b in (2, 1, 0):
            if a == b:
                continue
            c = 3 - a - b
            one = size[OUT_D + a] * kept[b] * kept[c]
            two = size[OUT_D + a] * size[OUT_D + b] * kept[c]
            three = float(size[OUT_D]) * size[OUT_H] * size[OUT_W]
            total = cost[a] * one + cost[b] * two + cost[c] * three
            if total < best:
                first, best = a, total
    return first


@op.jit
def _nearest(
    facts: tuple[int, int, float, float, int, int],
    scale: np.float32,
    stepped: bool,
    origin: int,
    first: int,
    last: int,
    starts: Int64Array,
) -> None:
    """Indices of the nearest inputs, to the last bit those of DALI.

    `stepped` is the rule of rows and slices: there the position is the sum of float32 steps. The
    columns use a product. Both differ from the exact position where that is nearly an integer.
    """
    (n, _, lo, _, _, _), half = facts, np.float32(0.5)
    if not stepped:
        for i in range(first, last):
            at = (np.float32(i) + half) * scale + np.float32(lo - origin)
            starts[i - first] = min(max(math.floor(at) + origin, 0), n - 1)
        return
    at = np.float32(lo - origin) + half * scale
    for i in range(last):
        if i >= first:
            starts[i - first] = min(max(math.floor(at) + origin, 0), n - 1)
        at = at + scale


@op.jit
def _reach(filt: int, spread: np.float32) -> np.float32:
    """How far a filter reaches, to the last bit.

    The Gaussian is not 0 at its ends (it weighs 0.018 there), so the last bit decides which of two
    taps at the same distance is taken. DALI goes through the standard deviation.

    filt: the number of the filter; spread, and the result: in inputs.
    """
    if filt != GAUSSIAN:
        return np.float32(_RADII[filt]) * spread
    sigma = np.float32(np.float64(spread) * 0.5 / math.sqrt(2.0))
    return np.float32(_STEPS) / (np.float32(_STEPS) / (sigma * _ROOT8))


@noinline
def fill_axis(
    facts: tuple[int, int, float, float, int, int],
    stepped: bool,
    origin: int,
    first: int,
    last: int,
    starts: Int64Array,
    weights: Float32Array,
) -> int:
    """Coefficients of the outputs `first .. last - 1` of one axis; returns the taps of each.

    Taps outside the input are folded onto its border, so no inner loop has to clamp. The float32
    arithmetic of the positions is DALI's. `stepped` matters to nearest neighbor only.
    Positions count from `origin`: 0 for the axis that DALI resamples first, for the others
    the first input that its first pass keeps. The last bit depends on it.

    facts: as `axis_of` returns them; starts: in inputs; weights: (last - first, taps), flat.
    """
    n, m, lo, hi, filt, antialias = facts
    taps = axis_taps(facts)
    scale = (np.float32(hi) - np.float32(lo)) / np.float32(max(m, 1))
    if filt == 0:
        _nearest(facts, scale, stepped, origin, first, last, starts)
        for i in range(last - first):
            weights[i] = np.float32(1.0)
        return 1
    spread = _spread(m, lo, hi, antialias)
    wide = _wide(filt, spread)
    half = np.float32(0.5)
    offset = np.float32(half * scale - half)
    offset = np.float32(offset - _reach(filt, np.float32(spread)))
    offset = np.float32(lo - origin) + offset
    inv = _STEPS / spread
    table = _CURVE_AT[filt]
    size = 2.0 * _RADII[filt] * _STEPS + 1.0
    values = local_floats()
    for i in range(first, last):
        left = np.float64(np.float32(np.float32(i) * scale) + offset)
        begin = math.ceil(left)
        base = (i - first) * taps
        start = min(max(begin + origin, 0), n - taps)
        starts[i - first] = start
        for k in range(taps):
            weights[base + k] = np.float32(0.0)
        total = 0.0
        for k in range(wide):
            value = _curve_at(table, size, (begin + k - left) * inv)
            if k < LOCAL:
                values[k] = value
            total += value
        norm = 1.0 / total
        for k in range(wide):
            value = values[k] if k < LOCAL else _curve_at(table, size, (begin + k - left) * inv)
            slot = min(max(begin + origin + k, 0), n - 1) - start
            weights[base + slot] += np.float32(value * norm)
    return taps


@op.jit
def _curve_at(table: int, size: float, at: float) -> float:
    """A filter's value, between two of its table.

    table: where the table begins; size: its length; at: the place in it.
    """
    if at < 0.0 or at >= size:
        return 0.0
    i = np.int64(at)
    a = np.float64(_CURVES[table + i])
    return a + (at - i) * (np.float64(_CURVES[table + i + 1]) - a)


@op.jit
def is_new(key: Float64Array, values: Float64Array) -> bool:
    """Whether these differ from those of the sample before; keeps them."""
    new = False
    for k in range(len(key)):
        new = new or key[k] != values[k]
        key[k] = values[k]
    return new
