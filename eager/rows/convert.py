"""The one conversion between dtypes: round half away from zero, saturate, NaN -> 0 for integers.

`convert_sat(value, like)` is used inside Numba kernels, where `like` is an array of the target
dtype (say `dst`), never read. `convert_array` is the same for whole NumPy arrays and knows
float16, which Numba lacks on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.jit.jit import register_extension
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.bfloat16 import from_bfloat16, is_bfloat16, to_bfloat16


def convert_sat(value: Any, like: Array) -> Any:
    """Convert one scalar to the dtype of `like`: half away from zero, saturating, NaN to 0 for
    integers. Kernels get the compiled form.

    value: a number of any dtype but float16; like: any array of the wanted dtype, which is not
    read, such as the one that the result is written into.
    """
    return convert_array(np.asarray(value), like.dtype)[()]


def truncate(value: Any, like: Array) -> Any:
    """Floats on their way to an integer dtype lose their fraction; others pass."""
    array = np.asarray(value)
    return np.trunc(array)[()] if array.dtype.kind == "f" and like.dtype.kind in "iu" else value


_BELOW_HALF_32: Final = float(np.nextafter(np.float32(0.5), np.float32(0)))
_BELOW_HALF_64: Final = float(np.nextafter(0.5, 0.0))

# The bodies of `convert_sat`, one for each kind of conversion, which Numba compiles. `like` is an
# array of the target's dtype, never read. Clipping comes first wherever the limits are exact in the
# source's type, so that the conversion to an integer is always in range.


def _plain(value: Any, like: Any) -> Any:
    return like.dtype.type(value)


def _unchanged(value: Any, like: Any) -> Any:
    return value


def _float_truncate(value: Any, like: Any) -> Any:
    return np.trunc(value)


def _int_to_bool(value: Any, like: Any) -> Any:
    return value != 0


def _float_to_bool(value: Any, like: Any) -> Any:
    # The rounded value decides; NaN is true.
    return not (abs(value) < type(value)(0.5))


# 8 and 16 bits: clip, add the number that is next to one half, truncate. With one half itself, what
# is just below it would become 1; this way all numbers below 2**23 are rounded as they should be.


def _float32_to_unsigned(value: Any, like: Any) -> Any:
    # In this order a NaN fails the first test and becomes 0.
    clipped = value if value > np.float32(0) else np.float32(0)
    high = np.float32(np.iinfo(like.dtype).max)
    clipped = clipped if clipped < high else high
    return like.dtype.type(np.int32(clipped + np.float32(_BELOW_HALF_32)))


def _float64_to_unsigned(value: Any, like: Any) -> Any:
    clipped = value if value > 0.0 else 0.0
    high = np.float64(np.iinfo(like.dtype).max)
    clipped = clipped if clipped < high else high
    return like.dtype.type(np.int32(clipped + _BELOW_HALF_64))


def _float32_to_signed(value: Any, like: Any) -> Any:
    low, high = np.float32(np.iinfo(like.dtype).min), np.float32(np.iinfo(like.dtype).max)
    clipped = value if value == value else np.float32(0)
    clipped = clipped if clipped > low else low
    clipped = clipped if clipped < high else high
    below = np.float32(_BELOW_HALF_32)
    return like.dtype.type(np.int32(clipped + (below if clipped >= np.float32(0) else -below)))


def _float64_to_signed(value: Any, like: Any) -> Any:
    low, high = np.float64(np.iinfo(like.dtype).min), np.float64(np.iinfo(like.dtype).max)
    clipped = value if value == value else 0.0
    clipped = clipped if clipped > low else low
    clipped = clipped if clipped < high else high
    below = _BELOW_HALF_64 if clipped >= 0.0 else -_BELOW_HALF_64
    return like.dtype.type(np.int32(clipped + below))


def _float_to_int(value: Any, like: Any) -> Any:
    # 32 bits and int64: the upper limit is not exact in float32, the next power of two is.
    low = np.iinfo(like.dtype).min
    high = np.iinfo(like.dtype).max
    if not (value > type(value)(low) - type(value)(0.5)):
        return like.dtype.type(low if value == value else 0)
    if value >= type(value)(high):
        return like.dtype.type(high)
    whole = np.int64(value)
    rest = value - type(value)(whole)
    whole += np.int64(rest >= type(value)(0.5))
    whole -= np.int64(rest <= type(value)(-0.5))
    return like.dtype.type(min(max(whole, np.int64(low)), np.int64(high)))


def _float_to_uint64(value: Any, like: Any) -> Any:
    if not (value >= type(value)(0.5)):
        return np.uint64(0)
    if value >= type(value)(2.0**64):
        return np.uint64(np.iinfo(np.uint64).max)
    if value >= type(value)(2.0**63):
        return np.uint64(value)
    whole = np.int64(value)
    return np.uint64(whole + np.int64(value - type(value)(whole) >= type(value)(0.5)))


def _signed_to_uint64(value: Any, like: Any) -> Any:
    return np.uint64(max(value, type(value)(0)))


def _uint64_to_int(value: Any, like: Any) -> Any:
    return like.dtype.type(min(value, np.uint64(np.iinfo(like.dtype).max)))


def _int_to_int(value: Any, like: Any) -> Any:
    wide = np.int64(value)
    low = np.int64(np.iinfo(like.dtype).min)
    return like.dtype.type(min(max(wide, low), np.int64(np.iinfo(like.dtype).max)))


@register_extension(convert_sat)
def _convert_in_kernels(numba: Any) -> Callable[[Any, Any], Callable[[Any, Any], Any]]:
    """What Numba compiles for `convert_sat`: the body for a type of value and one of target."""
    types = numba.types

    def pick(value: Any, like: Any) -> Callable[[Any, Any], Any]:
        target = like.dtype
        if isinstance(target, types.Float) or value == target:
            return _plain
        if isinstance(target, types.Boolean):
            return _float_to_bool if isinstance(value, types.Float) else _int_to_bool
        if isinstance(value, types.Boolean):
            return _plain
        if isinstance(value, types.Float):
            if target.bitwidth <= 16:
                if value == types.float32:
                    return _float32_to_signed if target.signed else _float32_to_unsigned
                return _float64_to_signed if target.signed else _float64_to_unsigned
            return _float_to_uint64 if target == types.uint64 else _float_to_int
        if target == types.uint64:
            return _signed_to_uint64 if value.signed else _plain
        return _uint64_to_int if value == types.uint64 else _int_to_int

    return pick


@register_extension(truncate)
def _truncate_in_kernels(numba: Any) -> Callable[[Any, Any], Callable[[Any, Any], Any]]:
    """What Numba compiles for `truncate`."""
    types = numba.types

    def pick(value: Any, like: Any) -> Callable[[Any, Any], Any]:
        lossy = isinstance(value, types.Float) and isinstance(like.dtype, types.Integer)
        return _float_truncate if lossy else _unchanged

    return pick


_HALF_HIDDEN: Final = np.uint32(0x1000)  # half a unit of float16's last place, in float32's bits


def to_half(values: Array) -> NDArray[np.float16]:
    """float16, ties away from zero as DALI does (NumPy's own cast rounds to even)."""
    with np.errstate(over="ignore"):  # float64 beyond float32 is infinite in both
        single = np.ascontiguousarray(values, np.float32)
    bits = single.view(np.uint32)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    sign = ((bits >> np.uint32(16)) & np.uint32(0x8000)).astype(np.uint16)
    # Normal: rebias the exponent, add half a unit, drop 13 bits; a carry moves to the exponent.
    normal = (magnitude - np.uint32(0x38000000) + _HALF_HIDDEN) >> np.uint32(13)
    # Subnormal: the value in units of 2**-24 (exact in float64), rounded half up.
    small = np.abs(single.astype(np.float64)) * np.float64(2.0**24)
    with np.errstate(invalid="ignore"):
        subnormal = np.floor(np.minimum(small, 2048.0) + 0.5).astype(np.uint32)
    half = np.where(magnitude < np.uint32(0x38800000), subnormal, normal)
    half = np.where(magnitude >= np.uint32(0x47800000), np.uint32(0x7C00), half)
    half = np.where(magnitude > np.uint32(0x7F800000), np.uint32(0x7E00), half)
    half = np.minimum(half, np.uint32(0x7E00))
    result: NDArray[np.uint16] = half.astype(np.uint16) | sign
    return result.view(np.float16)


def round_half_away(values: Array) -> Array:
    """Floating values rounded to integers; exact where adding 0.5 would not be."""
    whole = np.trunc(values)
    half = values.dtype.type(0.5)
    carry = (np.abs(values - whole) >= half).astype(values.dtype)
    result: Array = whole + np.copysign(carry, values)
    return result


def convert_array(values: Array, dtype: np.dtype[Any]) -> Array:
    """A converted copy of an array (the array itself if it has the dtype already)."""
    if values.dtype == dtype:
        return values
    if values.dtype.kind == "V" and is_bfloat16(values.dtype):
        values = from_bfloat16(values)
    if dtype.kind == "V" and is_bfloat16(dtype):
        return to_bfloat16(values)
    if dtype == np.float16:
        return to_half(values).reshape(values.shape)
    if dtype.kind == "f" or values.dtype.kind == "b":
        with np.errstate(over="ignore"):  # what is beyond the range becomes infinite
            return values.astype(dtype)
    if values.dtype.kind == "f":
        return _from_float(values, dtype)
    if dtype.kind == "b":
        return values.astype(np.bool_)
    limits, source = np.iinfo(dtype), np.iinfo(values.dtype)
    low, high = max(limits.min, source.min), min(limits.max, source.max)
    return np.clip(values, low, high).astype(dtype)


def _from_float(values: Array, dtype: np.dtype[Any]) -> Array:
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    with np.errstate(invalid="ignore"):
        rounded = round_half_away(values)
        if dtype.kind == "b":
            return rounded.astype(np.bool_)
        limits = np.iinfo(dtype)
        # 2**bits is exact in every float type; a comparison with it avoids casting out of range.
        above = rounded >= values.dtype.type(float(limits.max + 1))
        below = rounded <= values.dtype.type(float(limits.min))
        inside = np.where(above | below | np.isnan(rounded), values.dtype.type(0), rounded)
        result = inside.astype(dtype)
    result = np.where(above, dtype.type(limits.max), result)
    return np.where(below, dtype.type(limits.min), result)
