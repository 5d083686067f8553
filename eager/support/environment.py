"""Settings from environment variables: GRADIVA_X, or DALI_X if gradiva's own is not set.

An invalid value is an error that names the variable. Variables are read when they are first needed,
not on import.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from .errors import OperatorValueError

__all__ = ["flag", "number_between", "positive_integer", "variable"]

T = TypeVar("T")


def variable(
    name: str, parse: Callable[[str], T], expected: str, prefixes: tuple[str, ...]
) -> T | None:
    """The value of the first of prefix + name that is set; None if none is, or all are empty.

    parse: from the text to the value; raises ValueError. Raises OperatorValueError, naming the
    variable and what is `expected`, also for one that another outranks.
    """
    found: T | None = None
    for prefix in prefixes:
        text = os.environ.get(prefix + name, "").strip()
        if not text:
            continue
        try:
            value = parse(text)
        except ValueError:
            raise OperatorValueError(
                f"environment variable {prefix + name}", expected=expected, got=repr(text)
            ) from None
        found = value if found is None else found
    return found


def positive_integer(text: str) -> int:
    """An integer of at least 1. Raises ValueError."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def number_between(least: float, most: float) -> Callable[[str], float]:
    """A parser of finite numbers in this range, both ends included."""

    def parse(text: str) -> float:
        value = float(text)
        if not least <= value <= most:  # NaN is in no range
            raise ValueError
        return value

    return parse


def flag(text: str) -> bool:
    """0 or 1. Raises ValueError."""
    return bool(("0", "1").index(text))
