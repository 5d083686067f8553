"""Kernels of the elementary functions: float32 arrays of one axis, in strips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.simd.intrinsics import chosen
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array

from .elementary import (
    LARGE_ANGLE,
    LN2,
    LOG2_E,
    LOG10_2,
    LOG10_E,
    angle,
    bits_of,
    bounded,
    cosh,
    exp,
    large_angle,
    log_of_one_plus,
    logarithm,
    power,
    quarter_turns,
    sinh,
    turned_sine,
    turned_tangent,
    with_sign,
    within_quarter,
)

_STRIP: Final = 1 << 13
"""Elements of operands that are converted or repeated at a time."""


@op.jit
def _fill_exp(source: F32Vector, target: F32Vector) -> None:
    """target = exp(x) for each x of the source."""
    for k in range(source.size):
        target[k] = np.float32(exp(bounded(np.float64(source[k]))))


@op.jit
def _fill_log(source: F32Vector, target: F32Vector) -> None:
    """target = log(x) for each x of the source."""
    for k in range(source.size):
        target[k] = np.float32(logarithm(np.float64(source[k]), LN2, 1.0))


@op.jit
def _fill_log2(source: F32Vector, target: F32Vector) -> None:
    """target = log2(x) for each x of the source."""
    for k in range(source.size):
        target[k] = np.float32(logarithm(np.float64(source[k]), 1.0, LOG2_E))


@op.jit
def _fill_log10(source: F32Vector, target: F32Vector) -> None:
    """target = log10(x) for each x of the source."""
    for k in range(source.size):
        target[k] = np.float32(logarithm(np.float64(source[k]), LOG10_2, LOG10_E))


@op.jit
def _fill_cbrt(source: F32Vector, target: F32Vector) -> None:
    """target = the cube root of x for each x of the source."""
    for k in range(source.size):
        x = np.float64(source[k])
        size = abs(x)
        root = exp(bounded(logarithm(size, LN2, 1.0) / 3))
        root = root - (root * root * root - size) / (3 * root * root)
        root = chosen((size > 0) & (size < np.inf), root, size)
        target[k] = np.float32(with_sign(root, x))


@op.jit
def _fill_sin(source: F32Vector, target: F32Vector) -> None:
    """target = sin(x) for each x of the source, x in radians."""
    _fill_sine(source, target, np.int64(0))


@op.jit
def _fill_cos(source: F32Vector, target: F32Vector) -> None:
    """target = cos(x) for each x of the source, x in radians."""
    _fill_sine(source, target, np.int64(1))


@always_inline
def _fill_sine(source: F32Vector, target: F32Vector, ahead: np.int64) -> None:
    """Sines of angles and so many quarter turns."""
    large: Any = False
    for k in range(source.size):
        x = np.float64(source[k])
        turns = quarter_turns(x)
        large |= abs(x) >= LARGE_ANGLE
        quarters = bits_of(turns) + ahead
        target[k] = np.float32(turned_sine(quarters, within_quarter(x, turns)))
    if large:
        for k in range(source.size):
            x = np.float64(source[k])
            if abs(x) >= LARGE_ANGLE and abs(x) < np.inf:
                quarters, r = large_angle(x)
                target[k] = np.float32(turned_sine(quarters + ahead, r))


@op.jit
def _fill_tan(source: F32Vector, target: F32Vector) -> None:
    """target = tan(x) for each x of the source, x in radians."""
    large: Any = False
    for k in range(source.size):
        x = np.float64(source[k])
        turns = quarter_turns(x)
        large |= abs(x) >= LARGE_ANGLE
        value = turned_tangent(bits_of(turns), within_quarter(x, turns))
        target[k] = np.float32(value)
    if large:
        for k in range(source.size):
            x = np.float64(source[k])
            if abs(x) >= LARGE_ANGLE and abs(x) < np.inf:
                quarters, r = large_angle(x)
                target[k] = np.float32(turned_tangent(quarters, r))


@op.jit
def _fill_asin(source: F32Vector, target: F32Vector) -> None:
    """target = asin(x) for each x of the source, in radians."""
    for k in range(source.size):
        x = np.float64(source[k])
        target[k] = np.float32(angle(x, np.sqrt((1 - x) * (1 + x))))


@op.jit
def _fill_acos(source: F32Vector, target: F32Vector) -> None:
    """target = acos(x) for each x of the source, in radians."""
    for k in range(source.size):
        x = np.float64(source[k])
        target[k] = np.float32(angle(np.sqrt((1 - x) * (1 + x)), x))


@op.jit
def _fill_atan(source: F32Vector, target: F32Vector) -> None:
    """target = atan(x) for each x of the source, in radians."""
    for k in range(source.size):
        target[k] = np.float32(angle(np.float64(source[k]), 1.0))


@op.jit
def _fill_sinh(source: F32Vector, target: F32Vector) -> None:
    """target = sinh(x) for each x of the source."""
    for k in range(source.size):
        target[k] = np.float32(sinh(bounded(np.float64(source[k]))))


@op.jit
def _fill_cosh(source: F32Vector, target: F32Vector) -> None:
    """target = cosh(x) for each x of the source."""
    for k in range(source.size):
        target[k] = np.float32(cosh(bounded(np.float64(source[k]))))


@op.jit
def _fill_tanh(source: F32Vector, target: F32Vector) -> None:
    """target = tanh(x) for each x of the source."""
    for k in range(source.size):
        x = bounded(np.float64(source[k]))
        target[k] = np.float32(sinh(x) / cosh(x))


@op.jit
def _fill_asinh(source: F32Vector, target: F32Vector) -> None:
    """target = asinh(x) for each x of the source."""
    for k in range(source.size):
        x = np.float64(source[k])
        size, square = abs(x), x * x
        more = chosen(size < np.inf, square / (1 + np.sqrt(square + 1)), size)
        value = log_of_one_plus(size + more)
        target[k] = np.float32(with_sign(value, x))


@op.jit
def _fill_acosh(source: F32Vector, target: F32Vector) -> None:
    """target = acosh(x) for each x of the source."""
    for k in range(source.size):
        t = np.float64(source[k]) - 1
        value = log_of_one_plus(t + np.sqrt(t * (t + 2)))
        target[k] = np.float32(chosen(t >= 0, value, np.nan))


@op.jit
def _fill_atanh(source: F32Vector, target: F32Vector) -> None:
    """target = atanh(x) for each x of the source."""
    for k in range(source.size):
        x = np.float64(source[k])
        size = abs(x)
        value = 0.5 * log_of_one_plus(2 * size / (1 - size))
        target[k] = np.float32(chosen(size <= 1, with_sign(value, x), np.nan))


@op.jit
def _fill_atan2(left: F32Vector, right: F32Vector, target: F32Vector) -> None:
    """target = atan2(left, right), in radians."""
    for k in range(left.size):
        target[k] = np.float32(angle(np.float64(left[k]), np.float64(right[k])))


@op.jit
def _fill_power(left: F32Vector, right: F32Vector, target: F32Vector) -> None:
    """target = left to the power of right."""
    for k in range(left.size):
        target[k] = np.float32(power(np.float64(left[k]), np.float64(right[k])))


_Fill = Callable[..., None]

KERNELS: Final[dict[str, _Fill]] = {
    "exp": _fill_exp, "log": _fill_log, "log2": _fill_log2, "log10": _fill_log10,
    "cbrt": _fill_cbrt, "sin": _fill_sin, "cos": _fill_cos, "tan": _fill_tan, "asin": _fill_asin,
    "acos": _fill_acos, "atan": _fill_atan, "sinh": _fill_sinh, "cosh": _fill_cosh,
    "tanh": _fill_tanh, "asinh": _fill_asinh, "acosh": _fill_acosh, "atanh": _fill_atanh,
    "atan2": _fill_atan2, "**": _fill_power, "fpow": _fill_power,
}  # fmt: skip
"""Kernels by the symbols of `promotion`: float32 arrays of one axis, then that of the results."""


def fill_float32(symbol: str, out: Float32Array, *operands: Array) -> None:
    """Fill `out` with a function of operands of any dtypes, which broadcast to its shape."""
    kernel, count = KERNELS[symbol], out.size
    flat = out.reshape(-1) if out.flags.c_contiguous else np.empty(count, np.float32)
    wide = [one if one.ndim == 0 else np.broadcast_to(one, out.shape) for one in operands]
    whole = [one if one.ndim == 0 else np.ascontiguousarray(one).reshape(-1) for one in wide]
    for first in range(0, count, _STRIP):
        part = flat[first : first + _STRIP]
        given = (one if one.ndim == 0 else one[first : first + _STRIP] for one in whole)
        kernel(*(_as_float32(one, part.size) for one in given), part)
    if not out.flags.c_contiguous:
        np.copyto(out, flat.reshape(out.shape))


def _as_float32(operand: Array, count: int) -> Float32Array:
    if operand.ndim == 0:
        return np.full(count, operand, np.float32)
    return np.asarray(operand, np.float32)
