"""What the transforms take as sizes, borders, ranges and probabilities: checked, in one form."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)

__all__ = [
    "as_border",
    "as_fill",
    "as_kernel",
    "as_positive_range",
    "as_probability",
    "as_range",
    "as_sides",
    "as_size",
    "as_statistics",
    "mistaken",
    "mistyped",
]

Sides = tuple[int, int, int, int]
"""Pixels at the left, at the top, at the right and at the bottom."""


def mistaken(title: str, argument: str, expected: str, got: Any) -> GradivaError:
    """The error for a value that is not possible."""
    return OperatorValueError(
        operator=title,
        argument=argument,
        expected=expected,
        got=describe(got),
        location=user_location(),
    )


def mistyped(title: str, argument: str, expected: str, got: Any) -> GradivaError:
    """The error for a value of the wrong kind."""
    return OperatorTypeError(
        operator=title,
        argument=argument,
        expected=expected,
        got=describe(got),
        location=user_location(),
    )


def _integers(value: Any) -> tuple[int, ...] | None:
    """One integer, or a sequence of them, as a tuple; None for anything else."""
    values: Any = value if isinstance(value, Sequence) else [value]
    try:
        found = tuple(operator.index(one) for one in values)
    except TypeError:
        return None
    return None if any(isinstance(one, bool) for one in values) else found


def _numbers(value: Any) -> tuple[float, ...] | None:
    """One number, or a sequence of them, as a tuple; None for anything else."""
    values: Any = value if isinstance(value, Sequence) else [value]
    if not all(isinstance(one, Real) and not isinstance(one, bool) for one in values):
        return None
    return tuple(float(one) for one in values)


def as_sides(size: Any, title: str, argument: str = "size") -> tuple[int, ...]:
    """One or two positive integers."""
    expected = "an integer, or a sequence of one or two, from 1 on"
    found = _integers(size)
    if found is None:
        raise mistyped(title, argument, expected, size)
    if len(found) not in (1, 2) or min(found) < 1:
        raise mistaken(title, argument, expected, size)
    return found


def as_size(size: Any, title: str, argument: str = "size") -> tuple[int, int]:
    """(height, width): one number stands for both."""
    found = as_sides(size, title, argument)
    return found[0], found[-1]


def as_border(padding: Any, title: str) -> Sides:
    """One number for all sides, two for left and right and for top and bottom, or four."""
    expected = "an integer, or a sequence of 1, 2 or 4, from 0 on"
    found = _integers(padding)
    if found is None:
        raise mistyped(title, "padding", expected, padding)
    if len(found) not in (1, 2, 4):
        raise mistyped(title, "padding", expected, padding)
    if min(found) < 0:
        raise mistaken(title, "padding", expected, padding)
    left, top, right, bottom = found if len(found) == 4 else (found * 4)[:4]
    return left, top, right, bottom


def as_padding_mode(padding_mode: Any, title: str) -> str:
    """One of the four modes."""
    modes = ("constant", "edge", "reflect", "symmetric")
    if padding_mode not in modes:
        raise mistaken(title, "padding_mode", f"one of {', '.join(modes)}", padding_mode)
    return str(padding_mode)


def as_fill(fill: Any, title: str) -> tuple[float, ...]:
    """One value, or one for each channel; None is 0."""
    found = (0.0,) if fill is None else _numbers(fill)
    expected = "a number, or a sequence of one for each channel"
    if found is None:
        raise mistyped(title, "fill", expected, fill)
    if not found:
        raise mistaken(title, "fill", expected, fill)
    return found


def as_probability(p: Any, title: str) -> float:
    """From 0 to 1."""
    found = _numbers(p)
    if found is None or not isinstance(p, Real) or not 0.0 <= found[0] <= 1.0:
        raise mistaken(title, "p", "a number from 0 to 1", p)
    return found[0]


def as_range(
    value: Any, title: str, argument: str, center: float, low: float, high: float
) -> tuple[float, float] | None:
    """Between which factors `ColorJitter` draws: a number is the distance from `center`. None
    where nothing is ever changed."""
    expected = f"a number from 0 on, or (min, max), both from {low:g} to {high:g}"
    if value is None:
        return None
    found = _numbers(value)
    if found is None or (len(found) != 2 and not isinstance(value, Real)):
        raise mistyped(title, argument, expected, value)
    if len(found) == 1:
        if not found[0] >= 0:
            raise mistaken(title, argument, expected, value)
        least, most = center - found[0], center + found[0]
        if center == 1:
            least = max(least, 0.0)
    else:
        least, most = found
    if not low <= least <= most <= high:
        raise mistaken(title, argument, expected, value)
    return None if least == most == center else (least, most)


def as_positive_range(value: Any, title: str, argument: str) -> tuple[float, float]:
    """(min, max), both above 0; one number stands for both."""
    expected = "a positive number, or (min, max)"
    found = _numbers(value)
    if found is None:
        raise mistyped(title, argument, expected, value)
    if len(found) not in (1, 2) or not 0 < found[0] <= found[-1] < float("inf"):
        raise mistaken(title, argument, expected, value)
    return found[0], found[-1]


def as_kernel(kernel_size: Any, title: str) -> tuple[int, int]:
    """(width, height), which are odd."""
    expected = "an odd number of pixels, or (width, height)"
    found = _integers(kernel_size)
    if found is None:
        raise mistyped(title, "kernel_size", expected, kernel_size)
    if len(found) not in (1, 2) or min(found) < 1 or any(one % 2 == 0 for one in found):
        raise mistaken(title, "kernel_size", expected, kernel_size)
    return found[0], found[-1]


def as_statistics(value: Any, title: str, argument: str) -> list[float]:
    """A number for each channel: a sequence, an array or a tensor; deviations are not 0."""
    expected = "a sequence of a number for each channel"
    values = value.tolist() if hasattr(value, "tolist") else value
    found = _numbers(values)
    if found is None or not isinstance(values, Sequence):
        raise mistyped(title, argument, expected, value)
    if not found or (argument == "std" and 0.0 in found):
        text = f"{expected}, none of which is 0" if argument == "std" else expected
        raise mistaken(title, argument, text, value)
    return list(found)
