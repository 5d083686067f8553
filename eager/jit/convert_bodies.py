"""The bodies of `convert_sat`, one for each kind of conversion; Numba compiles them.

`like` is an array of the target's dtype, never read. Clipping comes first wherever the limits are
exact in the source's type, so that the conversion to an integer is always in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any, like: Any) -> Any:
    return like.dtype.type(value)


def unchanged(value: Any, like: Any) -> Any:
    return value


def float_truncate(value: Any, like: Any) -> Any:
    return np.trunc(value)


def int_to_bool(value: Any, like: Any) -> Any:
    return value != 0


def float_to_bool(value: Any, like: Any) -> Any:
    # The rounded value decides; NaN is true.
    return not (abs(value) < type(value)(0.5))


def float_to_narrow(value: Any, like: Any) -> Any:
    # 8 and 16 bits: clip, truncate in int32, repair by the exact remainder. Vectorises.
    low = type(value)(np.iinfo(like.dtype).min)
    high = type(value)(np.iinfo(like.dtype).max)
    # In this order a NaN fails the first test and becomes 0.
    clipped = value if value == value else type(value)(0)
    clipped = clipped if clipped > low else low
    clipped = clipped if clipped < high else high
    whole = np.int32(clipped)
    rest = clipped - type(value)(whole)
    up = np.int32(rest >= type(value)(0.5))
    down = np.int32(rest <= type(value)(-0.5))
    return like.dtype.type(whole + up - down)


def float_to_int(value: Any, like: Any) -> Any:
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


def float_to_uint64(value: Any, like: Any) -> Any:
    if not (value >= type(value)(0.5)):
        return np.uint64(0)
    if value >= type(value)(2.0**64):
        return np.uint64(np.iinfo(np.uint64).max)
    if value >= type(value)(2.0**63):
        return np.uint64(value)
    whole = np.int64(value)
    return np.uint64(whole + np.int64(value - type(value)(whole) >= type(value)(0.5)))


def signed_to_uint64(value: Any, like: Any) -> Any:
    return np.uint64(max(value, type(value)(0)))


def uint64_to_int(value: Any, like: Any) -> Any:
    return like.dtype.type(min(value, np.uint64(np.iinfo(like.dtype).max)))


def int_to_int(value: Any, like: Any) -> Any:
    wide = np.int64(value)
    low = np.int64(np.iinfo(like.dtype).min)
    return like.dtype.type(min(max(wide, low), np.int64(np.iinfo(like.dtype).max)))
