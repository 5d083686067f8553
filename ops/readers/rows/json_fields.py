"""Fields of objects in JSON, with all digits of their numbers."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op

from .conversions import as_array

_NOTHING: Final = object()


def _part(value: Any, name: str) -> Any:
    """The field of an object; where a name has dots, the longest first name that is there."""
    if not isinstance(value, dict):
        return _NOTHING
    if name in value:
        return value[name]
    head, dot, tail = name.rpartition(".")
    rest = tail
    while dot:
        if head in value and (found := _part(value[head], rest)) is not _NOTHING:
            return found
        head, dot, tail = head.rpartition(".")
        rest = f"{tail}.{rest}"
    return _NOTHING


def value_of_field(
    record: Any, name: str, dtype: op.DType | None, doubt: bool = False
) -> np.ndarray[Any, Any]:
    """The field of this name in a type; see `as_array`. Raises SampleDataError, DoubtfulError."""
    value = _part(record, name)
    if value is _NOTHING:
        raise op.SampleDataError(f"the line lacks field {name!r}")
    if isinstance(value, dict):
        raise op.SampleDataError(f"field {name!r} is an object", expected="a number or text")
    return as_array(value, dtype, True, doubt)


def record_of(text: str, exact: bool = False) -> Any:
    """What a line says. exact: large numbers with all their digits. Raises SampleDataError."""
    try:
        return json.loads(text, parse_float=_float if exact else None)
    except (ValueError, RecursionError) as error:
        raise op.SampleDataError(f"a line that is no JSON: {error}") from None


def _float(text: str) -> float | Decimal:
    """A floating-point number with all its digits."""
    value = float(text)
    if abs(value) < 2.0**53:
        return value
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"a number of too many digits: {text[:40]}") from None
