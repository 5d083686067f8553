"""Arrays of numbers in another type.

A number that the type does not hold is an error of its sample, never another number: whole numbers
and booleans must be held exactly, numbers with a fraction are rounded to the nearest and must not
become infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.bfloat16 import from_bfloat16, is_bfloat16, to_bfloat16
from gradiva.eager.types.dtypes import bfloat16

__all__ = ["NO_NUMBER", "attempted", "fitted", "misfit", "rows_fitted"]

Array: TypeAlias = np.ndarray[Any, Any]

NO_NUMBER: Final = "a value that is no number and no text"


def fitted(found: Array, dtype: op.DType) -> Array:
    """An array of numbers in another type. Raises SampleDataError."""
    if is_bfloat16(found.dtype) and dtype is not bfloat16:
        found = from_bfloat16(found)
    target, source = dtype.numpy, found.dtype
    if source == target:
        return found
    if source.kind not in "biuf":
        raise op.SampleDataError(NO_NUMBER, expected=dtype.name, got=f"an array of {source}")
    if dtype is bfloat16:
        made = to_bfloat16(found.astype(source.newbyteorder("="), copy=False))
        return _finite(found, made, from_bfloat16(made), dtype)
    if np.can_cast(source, target) or not found.size:
        return found.astype(target)
    if target.kind == "f":
        with np.errstate(over="ignore"):
            made = found.astype(target)
        return _finite(found, made, made, dtype)
    if target.kind == "b":
        good = (found == 0) | (found == 1)
    elif source.kind == "f":
        wide = found.astype(np.float64) if source.itemsize < 4 else found
        limits = np.iinfo(target)
        good = (wide >= float(limits.min)) & (wide < float(limits.max + 1))
        good &= np.trunc(wide) == wide
    else:
        limits = np.iinfo(target)
        if int(found.min()) >= limits.min and int(found.max()) <= limits.max:
            return found.astype(target)
        numbers = found.astype(object)
        good = (numbers >= limits.min) & (numbers <= limits.max)
    if not np.all(good):
        raise misfit(found[np.logical_not(good)].flat[0], dtype)
    return found.astype(target)


def _finite(found: Array, made: Array, values: Array, dtype: op.DType) -> Array:
    """made: what has become of `found`, whose values are these. Raises SampleDataError where a
    number has become infinite."""
    infinite = np.isinf(values)
    if infinite.any():
        lost = infinite & np.isfinite(found)
        if lost.any():
            raise misfit(found[lost].flat[0], dtype)
    return made


def misfit(value: Any, dtype: op.DType) -> op.SampleDataError:
    return op.SampleDataError(
        "a value that the type does not hold", expected=dtype.name, got=str(value)[:40]
    )


def rows_fitted(values: Array, dtype: op.DType | None) -> list[Any]:
    """The rows of an array of numbers in a type, converted at once; an error in place of a row that
    the type does not hold."""
    if dtype is None or values.dtype.kind not in "biuf":
        return list(values)
    try:
        return list(fitted(values, dtype))
    except op.SampleDataError:
        return [attempted(partial(fitted, np.asarray(row), dtype)) for row in values]


def attempted(make: Callable[[], Any]) -> Any:
    """What `make` returns, or the SampleDataError that it raises."""
    try:
        return make()
    except op.SampleDataError as error:
        return error
