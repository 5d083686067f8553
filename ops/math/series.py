"""Sine, cosine and exponential with the same bits on every machine, unlike library functions."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

Float32Array = np.ndarray[Any, np.dtype[np.float32]]
Float64Array = np.ndarray[Any, np.dtype[np.float64]]

_TERMS: Final = 9  # of the Taylor series; the next one is below 1e-17 at an eighth of a turn


def _series(square: Float64Array, first: int) -> Float64Array:
    """1 - x^2 / (first (first + 1)) + ..., for `square` = x^2."""
    total = np.ones_like(square)
    for term in range(_TERMS, 0, -1):
        step = first + 2 * (term - 1)
        total = 1.0 - square / (step * (step + 1.0)) * total
    return total


def sine_cosine(
    angles: Float32Array, *, radians: bool = False
) -> tuple[Float32Array, Float32Array]:
    """Sine and cosine of angles, in degrees unless `radians`; the angle in radians is rounded to
    float32 first, as DALI does. NaN for NaN and infinity."""
    with np.errstate(all="ignore"):
        if not radians:
            angles = (angles.astype(np.float64) * (math.pi / 180)).astype(np.float32)
        # A remainder is exact, here and in every library.
        angle = np.fmod(angles.astype(np.float64), 2 * math.pi)
        quarters = np.rint(angle * (2 / math.pi))
        rest = angle - quarters * (math.pi / 2)
        square = rest * rest
        sine, cosine = rest * _series(square, 2), _series(square, 1)
        odd, turned = np.mod(quarters, 2) == 1, np.mod(quarters, 4) >= 2
        signs = np.where(turned, -1.0, 1.0)
        sines = signs * np.where(odd, cosine, sine)
        cosines = signs * np.where(odd, -sine, cosine)
    return sines.astype(np.float32), cosines.astype(np.float32)


def decay(values: Float64Array) -> Float64Array:
    """exp(-x) for x >= 0, in float64."""
    values = np.minimum(values, 1000.0)
    doublings = np.rint(values * (1 / math.log(2)))
    rest = doublings * math.log(2) - values
    total = np.ones_like(values)
    for term in range(16, 0, -1):
        total = 1.0 + rest / term * total
    result: Float64Array = np.ldexp(total, -doublings.astype(np.int32))
    return result
