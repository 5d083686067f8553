"""Coefficients of `resize`: which inputs one output position reads, and with which weights."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gradiva.eager.jit import jit

F32: TypeAlias = npt.NDArray[np.float32]
I64: TypeAlias = npt.NDArray[np.int64]

# The values are those of the public `InterpType`.
NN, LINEAR, CUBIC, LANCZOS3, TRIANGULAR, GAUSSIAN = 0, 1, 2, 3, 4, 5

# Like the reference, curved filters are read from a table with 32 steps per unit and linear
# interpolation: the exact curve would differ from it by up to 6e-4 of the value range.
_STEPS = 32


def _curve(filt: int) -> F32:
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


@jit
def axis_taps(n: int, m: int, lo: float, hi: float, filt: int, antialias: int) -> int:
    """How many input positions one output position of this axis reads."""
    if filt == 0:
        return 1
    spread = max(abs(hi - lo) / m, 1.0) if antialias else 1.0
    return max(min(int(math.ceil(2.0 * _RADII[filt] * spread - 1e-9)), n), 1)


@jit
def _nearest(
    n: int,
    lo: float,
    hi: float,
    scale: np.float32,
    stepped: bool,
    first: int,
    last: int,
    starts: I64,
) -> None:
    """Indices of the nearest inputs, to the last bit those of the reference.

    `stepped` is the rule of rows and slices: there the position is the sum of float32 steps. The
    columns use a product. Both differ from the exact position where that is nearly an integer.
    """
    half = np.float32(0.5)
    if not stepped:
        for i in range(first, last):
            at = (np.float32(i) + half) * scale + np.float32(lo)
            starts[i - first] = min(max(int(math.floor(at)), 0), n - 1)
        return
    origin = max(int(math.floor(min(lo, hi))), 0)
    at = np.float32(lo - origin) + half * scale
    for i in range(last):
        if i >= first:
            starts[i - first] = min(max(int(math.floor(at)) + origin, 0), n - 1)
        at = at + scale


@jit
def _reach(filt: int, spread: np.float32) -> np.float32:
    """How far a filter reaches, to the last bit.

    The Gaussian is not 0 at its ends (it weighs 0.018 there), so the last bit decides which of two
    taps at the same distance is taken. The reference goes through the standard deviation.
    """
    if filt != GAUSSIAN:
        return np.float32(_RADII[filt]) * spread
    sigma = np.float32(np.float64(spread) * 0.5 / math.sqrt(2.0))
    return np.float32(_STEPS) / (np.float32(_STEPS) / (sigma * _ROOT8))


@jit
def fill_axis(
    n: int,
    m: int,
    lo: float,
    hi: float,
    filt: int,
    antialias: int,
    stepped: bool,
    first: int,
    last: int,
    starts: I64,
    weights: F32,
) -> int:
    """Coefficients of the outputs `first .. last - 1` of one axis; returns the taps of each.

    Taps outside the input are folded onto its border, so no inner loop has to clamp. The float32
    arithmetic of the positions is the reference's. `stepped` matters to nearest neighbour only.
    """
    taps = axis_taps(n, m, lo, hi, filt, antialias)
    scale = (np.float32(hi) - np.float32(lo)) / np.float32(m)
    if filt == 0:
        _nearest(n, lo, hi, scale, stepped, first, last, starts)
        weights[: last - first] = np.float32(1.0)
        return 1
    spread = max(abs(hi - lo) / m, 1.0) if antialias else 1.0
    wide = int(math.ceil(2.0 * _RADII[filt] * spread - 1e-9))
    # Positions count from about the first input that is read, as in the reference: the last bit
    # of a Gaussian's reach depends on it.
    origin = max(int(math.floor(min(lo, hi))) - wide + 1, 0)
    offset = np.float32(0.5) * scale + np.float32(lo - origin)
    offset = np.float32(offset - np.float32(0.5))
    offset = np.float32(offset - _reach(filt, np.float32(spread)))
    inv = _STEPS / spread
    table = _CURVE_AT[filt]
    size = 2.0 * _RADII[filt] * _STEPS + 1.0
    for i in range(first, last):
        left = np.float64(np.float32(np.float32(i) * scale) + offset)
        begin = int(math.ceil(left))
        base = (i - first) * taps
        start = min(max(begin + origin, 0), n - taps)
        starts[i - first] = start
        for k in range(taps):
            weights[base + k] = np.float32(0.0)
        total = 0.0
        for k in range(wide):
            total += _curve_at(table, size, (begin + k - left) * inv)
        norm = 1.0 / total
        for k in range(wide):
            value = _curve_at(table, size, (begin + k - left) * inv)
            slot = min(max(begin + origin + k, 0), n - 1) - start
            weights[base + slot] += np.float32(value * norm)
    return taps


@jit
def _curve_at(table: int, size: float, at: float) -> float:
    if at < 0.0 or at >= size:
        return 0.0
    i = int(at)
    a = np.float64(_CURVES[table + i])
    return a + (at - i) * (np.float64(_CURVES[table + i + 1]) - a)
