"""From the magnitudes of the bins to the parameters of an augmentation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

__all__ = ["ShapesError", "even_parameters", "parameters"]

Array: TypeAlias = "np.ndarray[Any, Any]"

_NARROW = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}


class ShapesError(Exception):
    """The parameters of several magnitudes are no array."""


def parameters(magnitudes: Array, mag_to_param: Callable[[Any], Any], negate: bool) -> Array:
    """(1 or 2, magnitudes, ...): what the magnitudes become, and the negated ones."""
    sides = [magnitudes, -magnitudes] if negate else [magnitudes]
    rows = [[np.asarray(mag_to_param(one)) for one in side] for side in sides]
    if len({row.shape for side in rows for row in side}) > 1:
        raise ShapesError
    made = np.array(rows)
    made = made.astype(_NARROW.get(made.dtype, made.dtype))
    made.flags.writeable = False
    return made


@functools.lru_cache(maxsize=512)
def even_parameters(
    first: float, last: float, count: int, mag_to_param: Callable[[Any], Any], negate: bool
) -> Array:
    """`parameters` of an even range: suites are made again for each batch in dynamic mode."""
    magnitudes = np.linspace(first, last, count, dtype=np.float32)
    return parameters(magnitudes, mag_to_param, negate)
