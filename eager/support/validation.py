"""Integers that users give: counts, seeds, numbers of devices."""

from __future__ import annotations

from operator import index
from typing import Any

from .errors import OperatorTypeError, OperatorValueError, describe


def integer(
    value: Any,
    least: int | None = None,
    most: int | None = None,
    *,
    expected: str = "an integer",
    limits: str | None = None,
    bools: bool = True,
    **facts: Any,
) -> int:
    """`value` as an integer, from `least` to `most`.

    expected: what errors say was expected. limits: what they say of a number out of range, if that
    is something else. bools: whether True and False are integers here. facts: what errors say
    besides, such as `argument`.

    Raises OperatorTypeError for what is no integer, OperatorValueError for one out of range.
    """
    try:
        if not bools and isinstance(value, bool):
            raise TypeError
        number = index(value)
    except TypeError:
        raise OperatorTypeError(expected=expected, got=describe(value), **facts) from None
    if (least is not None and number < least) or (most is not None and number > most):
        raise OperatorValueError(expected=limits or expected, got=str(number), **facts)
    return number
