"""Elementary functions of float32, with the same bits on every machine.

NumPy and the C libraries choose among several implementations by the CPU, and their last bits
differ. Here a function is computed in float64 by additions, multiplications, divisions and square
roots alone, which IEEE 754 rounds in one way only, and is then rounded once to float32. The error
before that rounding is below 1e-11 of the value, so nearly all results are the float32 that is
nearest to the true value.

The series are those of Taylor. Arguments are reduced first: by multiples of log(2) for `exp`, by
powers of two for `log`, by multiples of pi/2 for `sin` (after Cody and Waite below 2**24, after
Payne and Hanek above), by the tangent of pi/4 for `atan`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.simd.intrinsics import chosen

_TO_INTEGER: Final = 6755399441055744.0
"""1.5 * 2**52: a small number that is added to it is rounded to an integer, which then stands in
the lowest bits."""
LOG2_E: Final = 1.4426950408889634
_LN2_TOP: Final = float.fromhex("0x1.62e42fefa2000p-1")
"""log(2) to 40 bits: its products with integers of up to 12 bits are exact."""
_LN2_REST: Final = float.fromhex("0x1.9ef35793c7673p-41")
LN2: Final = 0.6931471805599453
LOG10_2: Final = 0.30102999566398120
LOG10_E: Final = 0.43429448190325182
_LARGEST: Final = 200.0
"""exp of more, or of less than minus that, is infinite, or zero, as a float32."""

_TWO_OVER_PI: Final = 0.6366197723675814
_HALF_PI: Final = 1.5707963267948966
_HALF_PI_TOP: Final = float.fromhex("0x1.921fb54000000p+0")
"""pi/2 to 28 bits, then the next 28: their products with integers of up to 24 bits are exact."""
_HALF_PI_NEXT: Final = float.fromhex("0x1.10b4610000000p-30")
_HALF_PI_REST: Final = float.fromhex("0x1.a62633145c06ep-58")
LARGE_ANGLE: Final = 16777216.0
"""From 2**24 on a float32 is an integer, and its quarter turns take more bits than are exact."""
_TWO_OVER_PI_BITS: Final = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBB
"""2/pi times 2**240."""
_TAN_EIGHTH: Final = 0.41421356237309503
"""The tangent of pi/8."""

_MAGNITUDE: Final = np.int64(0x7FFFFFFFFFFFFFFF)
_SQRT_HALF_BITS: Final = np.int64(0x3FE6A09E667F3BCD)
_LOW_WORD: Final = np.uint64(0xFFFFFFFF)
_QUARTER_BITS: Final = np.uint64(62)


def _large_angle_table() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """(105, 2): 2/pi times 2**e, without multiples of 4, in units of 2**-126, as two words each,
    the upper one first: e is the exponent of a float32 whose mantissa is an integer of 24 bits."""
    table = np.empty((105, 2), np.uint64)
    for exponent in range(len(table)):
        scaled = ((_TWO_OVER_PI_BITS << exponent) >> 114) & ((1 << 128) - 1)
        table[exponent] = scaled >> 64, scaled & ((1 << 64) - 1)
    return table


_LARGE_ANGLES: Final = _large_angle_table()


@op.jit
def bits_of(x: float) -> np.int64:
    """The bits of a float64."""
    return np.float64(x).view(np.int64)


@op.jit
def _number(bits: np.int64) -> float:
    """The float64 of these bits."""
    return np.int64(bits).view(np.float64)


@always_inline
def exp(x: float) -> float:
    """exp(x) for |x| <= 700, and for NaN."""
    turns = x * LOG2_E + _TO_INTEGER
    whole = turns - _TO_INTEGER
    r = (x - whole * _LN2_TOP) - whole * _LN2_REST
    total = 1 / 479001600
    total = total * r + 1 / 39916800
    total = total * r + 1 / 3628800
    total = total * r + 1 / 362880
    total = total * r + 1 / 40320
    total = total * r + 1 / 5040
    total = total * r + 1 / 720
    total = total * r + 1 / 120
    total = total * r + 1 / 24
    total = total * r + 1 / 6
    total = total * r + 1 / 2
    total = total * r + 1.0
    total = total * r + 1.0
    return total * _number((bits_of(turns) + np.int64(1023)) << np.int64(52))


@always_inline
def bounded(x: float) -> float:
    """x, within what `_exp` takes; NaN stays NaN."""
    below = chosen(x > _LARGEST, _LARGEST, x)
    return chosen(below < -_LARGEST, -_LARGEST, below)


@always_inline
def _log_near_one(s: float) -> float:
    """log((1 + s) / (1 - s)) for |s| <= 0.18."""
    z = s * s
    total = 2 / 17
    total = total * z + 2 / 15
    total = total * z + 2 / 13
    total = total * z + 2 / 11
    total = total * z + 2 / 9
    total = total * z + 2 / 7
    total = total * z + 2 / 5
    total = total * z + 2 / 3
    total = total * z + 2.0
    return s * total


@always_inline
def logarithm(x: float, of_two: float, of_e: float) -> float:
    """log(x) in a base with these logarithms of 2 and e, for a float32 x as float64."""
    bits = bits_of(x)
    exponent = (bits - _SQRT_HALF_BITS) >> np.int64(52)
    mantissa = _number(bits - (exponent << np.int64(52)))
    value: float = exponent * of_two + _log_near_one((mantissa - 1) / (mantissa + 1)) * of_e
    value = chosen(x == np.inf, x, value)
    value = chosen(x == 0, -np.inf, value)
    return chosen(x >= 0, value, np.nan)


@always_inline
def log_of_one_plus(t: float) -> float:
    """log(1 + t) for t >= 0."""
    small = _log_near_one(t / (t + 2))
    return chosen(t < 0.4, small, logarithm(t + 1, LN2, 1.0))


@always_inline
def _sine_series(r: float) -> float:
    """sin(r) for |r| <= pi/4."""
    z = r * r
    total = -1 / 1307674368000
    total = total * z + 1 / 6227020800
    total = total * z + -1 / 39916800
    total = total * z + 1 / 362880
    total = total * z + -1 / 5040
    total = total * z + 1 / 120
    total = total * z + -1 / 6
    total = total * z + 1.0
    return r * total


@always_inline
def _cosine_series(r: float) -> float:
    """cos(r) for |r| <= pi/4."""
    z = r * r
    total = 1 / 20922789888000
    total = total * z + -1 / 87178291200
    total = total * z + 1 / 479001600
    total = total * z + -1 / 3628800
    total = total * z + 1 / 40320
    total = total * z + -1 / 720
    total = total * z + 1 / 24
    total = total * z + -1 / 2
    return total * z + 1.0


@always_inline
def quarter_turns(x: float) -> float:
    """x times 2/pi, rounded to an integer that stands in the lowest bits."""
    return x * _TWO_OVER_PI + _TO_INTEGER


@always_inline
def within_quarter(x: float, turns: float) -> float:
    """x without these quarter turns, for |x| < 2**24."""
    whole = turns - _TO_INTEGER
    return ((x - whole * _HALF_PI_TOP) - whole * _HALF_PI_NEXT) - whole * _HALF_PI_REST


@op.jit
def large_angle(x: float) -> tuple[np.int64, float]:
    """For a finite float32 of at least 2**24: the quarter turns, and what is left."""
    bits = abs(x)
    exponent = 0
    while bits >= 16777216.0:
        bits = bits * 0.5
        exponent += 1
    mantissa = np.uint64(bits)
    top, low = _LARGE_ANGLES[exponent, 0], _LARGE_ANGLES[exponent, 1]
    carried = (mantissa * (low & _LOW_WORD)) >> np.uint64(32)
    carried = (mantissa * (low >> np.uint64(32)) + carried) >> np.uint64(32)
    turned = mantissa * top + carried
    nearest = turned + (np.uint64(1) << np.uint64(61))
    quarters = np.int64(nearest >> _QUARTER_BITS)
    rest = np.int64(turned - (np.uint64(quarters) << _QUARTER_BITS))
    r = np.float64(rest) * (_HALF_PI / 4611686018427387904.0)
    return (-quarters, -r) if x < 0 else (quarters, r)


@always_inline
def turned_sine(quarters: np.int64, r: float) -> float:
    """The sine of r and so many quarter turns."""
    value = chosen((quarters & 1) != 0, _cosine_series(r), _sine_series(r))
    return chosen((quarters & 2) != 0, -value, value)


@always_inline
def turned_tangent(quarters: np.int64, r: float) -> float:
    """The tangent of r and so many quarter turns."""
    sine, cosine = _sine_series(r), _cosine_series(r)
    odd = (quarters & 1) != 0
    return chosen(odd, -cosine, sine) / chosen(odd, sine, cosine)


@always_inline
def _arc_tangent(t: float) -> float:
    """atan(t) for t from 0 to 1."""
    beyond = t > _TAN_EIGHTH
    u = chosen(beyond, (t - 1) / (t + 1), t)
    z = u * u
    total = -1 / 31
    total = total * z + 1 / 29
    total = total * z + -1 / 27
    total = total * z + 1 / 25
    total = total * z + -1 / 23
    total = total * z + 1 / 21
    total = total * z + -1 / 19
    total = total * z + 1 / 17
    total = total * z + -1 / 15
    total = total * z + 1 / 13
    total = total * z + -1 / 11
    total = total * z + 1 / 9
    total = total * z + -1 / 7
    total = total * z + 1 / 5
    total = total * z + -1 / 3
    total = total * z + 1.0
    return u * total + chosen(beyond, _HALF_PI / 2, 0.0)


@always_inline
def with_sign(value: float, sign: float) -> float:
    """The magnitude of `value` with the sign of `sign`."""
    bits = bits_of(value) & _MAGNITUDE
    return _number(bits | (bits_of(sign) & ~_MAGNITUDE))


@always_inline
def angle(y: float, x: float) -> float:
    """atan2(y, x)."""
    height, width = abs(y), abs(x)
    steep = height > width
    less, more = chosen(steep, width, height), chosen(steep, height, width)
    t = chosen(more == 0, 0.0, less / more)
    t = chosen(less == np.inf, 1.0, t)
    value = _arc_tangent(t)
    value = chosen(steep, _HALF_PI - value, value)
    value = chosen(bits_of(x) < 0, 2 * _HALF_PI - value, value)
    value = with_sign(value, y)
    return chosen((x == x) & (y == y), value, np.nan)


@always_inline
def power(x: float, y: float) -> float:
    """x to the power of y, as C's pow."""
    size = abs(x)
    value = exp(bounded(y * logarithm(size, LN2, 1.0)))
    value = chosen(y == 2.0, size * size, value)
    value = chosen(y == 0.5, np.sqrt(size), value)
    value = chosen(y == 1.0, size, value)
    value = chosen(y == -1.0, 1.0 / size, value)
    value = chosen(size == 1.0, 1.0, value)
    broken = np.floor(y) != y
    odd = (np.floor(y * 0.5) * 2 != y) & ~broken
    value = chosen((bits_of(x) < 0) & odd, -value, value)
    value = chosen((x < 0) & (size != np.inf) & broken, np.nan, value)
    value = chosen((x != x) | (y != y), np.nan, value)
    return chosen((y == 0) | (x == 1), 1.0, value)


@always_inline
def sinh(x: float) -> float:
    """The hyperbolic sine for |x| <= 700."""
    z = x * x
    total = 1 / 6227020800
    total = total * z + 1 / 39916800
    total = total * z + 1 / 362880
    total = total * z + 1 / 5040
    total = total * z + 1 / 120
    total = total * z + 1 / 6
    total = total * z + 1.0
    power = exp(x)
    return chosen(abs(x) < 0.3, x * total, (power - 1 / power) * 0.5)


@always_inline
def cosh(x: float) -> float:
    """The hyperbolic cosine for |x| <= 700."""
    power = exp(x)
    return (power + 1 / power) * 0.5
