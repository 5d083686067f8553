"""Tracks values that depend on random values that were drawn eagerly.

In dynamic mode the output of a random operator carries a mark, the line where it was drawn, and
values that are computed from it carry the same mark. A recorded graph does not accept such values:
in a graph they would be constants, the same for all samples of all batches. NumPy arrays and Python
numbers that leave gradiva have no mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gradiva.eager.support.errors import Location, OperatorValueError, user_location

from .device_value import DeviceValue

EagerRandomOrigin: TypeAlias = Location | str | None
"""The user's line where random values were drawn; None for values that do not depend on any."""
_UNKNOWN = "a line that is not known"
_SEVERAL = (list, tuple)  # as a union it would be created for each value


@dataclass(frozen=True, slots=True)
class SharedDraw(Location):
    """A line that draws one value, without a batch; operator: the operator that draws it."""

    operator: str


def random_origin_among(values: Iterable[Any]) -> EagerRandomOrigin:
    """The first mark among values, including values in lists and tuples."""
    for value in values:
        if isinstance(value, DeviceValue):
            found = value.drawn_at
        elif isinstance(value, _SEVERAL):
            found = random_origin_among(value)
        else:
            continue
        if found is not None:
            return found
    return None


def random_origin_of_call(
    operator: str, random: bool, single: bool, inputs: tuple[Any, ...], keywords: Mapping[str, Any]
) -> EagerRandomOrigin:
    """The mark of the outputs of a call. random: whether its operator draws random values; single:
    whether it makes one sample, without a batch."""
    if not random:
        return random_origin_among((*inputs, *keywords.values()))
    where = user_location()
    if where is None:
        return _UNKNOWN
    return SharedDraw(where.code, where.line, operator) if single and not inputs else where


def check_not_random(value: Any, **facts: Any) -> None:
    """Raise OperatorValueError for a value with a mark, where a graph is recorded."""
    drawn = random_origin_among((value,))
    if drawn is not None:
        raise OperatorValueError(
            f"this value depends on random values that were drawn before, at {drawn}; in a graph "
            "it would be one constant for all samples of all batches. Call the random operator "
            "inside of the pipeline definition; or, if one constant for the whole run is meant, "
            "say so: types.Constant(value)",
            **facts,
        )
