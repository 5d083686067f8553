"""The values of schedules among the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradiva.eager.random.step import current_step
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
)
from gradiva.eager.types.provenance import Progress
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.eager.values.value import Symbolic

from .schedule import Moment, Schedule, Values, joined

__all__ = [
    "LISTS",
    "SCHEDULE",
    "Place",
    "as_inputs",
    "as_one",
    "check_schedule",
    "current_place",
    "has_schedules",
    "place_of",
    "with_first_values",
    "with_schedule_values",
]

SCHEDULE = Schedule
"""What inputs are looked through for."""
Positions = np.ndarray[Any, np.dtype[np.int64]]


class Kind(Protocol):
    """What is known of the kind of an argument."""

    @property
    def expected(self) -> str: ...

    @property
    def element(self) -> type | None: ...

    @property
    def vector(self) -> bool: ...

    @property
    def shaped(self) -> bool: ...

    @property
    def number(self) -> type | None: ...


class Argument(Protocol):
    """An argument of an operator."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    def static(self, value: Any) -> Any: ...


class Place(NamedTuple):
    """Where in a run a call is made: what its batch, or the current step, knows."""

    progress: Progress
    positions: Positions


def has_schedules(arguments: Mapping[str, Any]) -> bool:
    """Whether there are schedules among the values of arguments."""
    for value in arguments.values():
        kind = type(value)
        if kind is Schedule or (kind in LISTS and Schedule in map(type, value)):
            return True
    return False


LISTS = frozenset((list, tuple))


def as_one(value: Any) -> Any:
    """A list or tuple with schedules among its numbers as one schedule; other values as they are.
    Raises OperatorTypeError."""
    if type(value) in LISTS and Schedule in map(type, value):
        return joined(value)
    return value


def place_of(values: Iterable[Any]) -> Place | None:
    """The place of the first of these values that has one."""
    for value in values:
        if isinstance(value, Batch | Tensor):
            where = value.provenance
            if where is not None and where.progress is not None:
                return Place(where.progress, where.positions)
    return None


def current_place(count: int | None = None) -> Place | None:
    """The place of the current step, for so many of its samples; None outside of any."""
    step = current_step()
    if step is None or step.progress is None:
        return None
    positions = step.positions if count is None else step.positions_of(count)
    if positions is None:
        first = int(step.positions[0]) if len(step.positions) else 0
        positions = np.arange(first, first + (count or 0), dtype=np.int64)
    return Place(step.progress, positions)


def with_schedule_values(
    arguments: Mapping[str, Argument], given: Mapping[str, Any], place: Place | None
) -> dict[str, Any]:
    """The values of arguments, with numbers in place of schedules: one for all samples, or an array
    with a row for each. Raises OperatorRuntimeError where there is no place."""
    made = dict(given)
    for name, one in given.items():
        value = as_one(one)
        if type(value) is Schedule:
            argument = arguments.get(name)
            if argument is None:
                raise _no_schedule(name, "a value that is the same in all steps", value)
            made[name] = _value(value, argument, place)
    return made


def as_inputs(inputs: tuple[Any, ...], maker: Any) -> tuple[Any, ...]:
    """The inputs of a call with values in place of schedules: of the current step. maker: the
    operator that makes them. Raises OperatorTypeError for a call that has no other inputs."""
    if all(type(one) is Schedule for one in inputs):
        raise OperatorTypeError(
            "a schedule is no input: give it as an argument, or use it in arithmetic with a batch",
            expected="a batch",
            got=repr(inputs[0]),
        )
    made = list(inputs)
    symbol = next((one for one in inputs if isinstance(one, Symbolic)), None)
    for number, one in enumerate(inputs):
        if type(one) is Schedule:
            given = {"integers" if one.whole else "numbers": one, "several": one.several}
            if symbol is not None:  # of a graph, or outside of any
                given["batch_size"] = getattr(symbol, "batch_size", None)
            try:
                made[number] = maker.bind_one((), given)
            except GradivaError as error:
                error.argument = None  # that of the maker
                raise
    return tuple(made)


def check_schedule(value: Schedule, argument: Argument) -> None:
    """Raise OperatorTypeError or OperatorValueError for an argument that takes no such schedule."""
    if any(one is argument for one in value.checked):
        return
    kind = argument.kind
    if kind.number is None:
        raise _no_schedule(argument.name, kind.expected, value)
    if value.per_sample and (kind.element is None or kind.shaped):
        raise OperatorTypeError(
            "this argument is one for all samples",
            argument=argument.name,
            expected="a schedule per epoch or per step",
            got=repr(value),
        )
    if value.several and not (kind.vector or kind.element is None):
        raise OperatorTypeError(argument=argument.name, expected=kind.expected, got=repr(value))
    _first(value, argument)
    value.checked.append(argument)


def with_first_values(
    arguments: Mapping[str, Argument], given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """For type rules: the values of arguments, with the first value of schedules; those per sample
    as any value per sample is told, by a type."""
    if not has_schedules(given):
        return given
    made = dict(given)
    for name, value in given.items():
        if type(value) is Schedule:
            argument = arguments[name]
            per_sample = SampleType(None, int(argument.kind.vector), "")
            made[name] = per_sample if value.per_sample else _first(value, argument)
    return made


def _first(value: Schedule, argument: Argument) -> Any:
    try:
        rows = value.rule.at(Moment(0, 0, np.zeros(1, np.int64)))
        return argument.static(_numbers(value, argument, rows[:1]))
    except GradivaError as error:
        raise error.complete(argument=argument.name) from error.__cause__


def _value(value: Schedule, argument: Argument, place: Place | None) -> Any:
    """The value of an argument at a place."""
    check_schedule(value, argument)
    if place is None:
        raise OperatorRuntimeError(
            f"{value!r} has no value here: this call is in no loop over a reader, and its input "
            "comes from none. `with gradiva.step(...):` says where in a training it is, and "
            "`.at(...)` of the schedule is its value somewhere",
            argument=argument.name,
        )
    progress, per = place.progress, value.per
    try:
        rows = value.rule.at(
            Moment(
                progress.epoch if "epoch" in per else None,
                progress.step if "step" in per else None,
                progress.numbers(place.positions) if "sample" in per else None,
            )
        )
        if not value.per_sample:
            return argument.static(_numbers(value, argument, rows))
        made = _rounded(rows) if argument.kind.number is int else rows
    except GradivaError as error:
        raise error.complete(argument=argument.name) from error.__cause__
    return made if argument.kind.vector else made[:, 0]


def _numbers(value: Schedule, argument: Argument, rows: Values) -> Any:
    return value.plain(_rounded(rows) if argument.kind.number is int else rows)


def _rounded(rows: Values) -> Values:
    """Whole numbers: the nearest ones, halves away from zero."""
    if rows.dtype.kind in "iu":
        return rows
    if (np.abs(rows) > 1 << 53).any():
        raise OperatorValueError(expected="a whole number", got=str(rows.tolist()))
    nearest: Values = np.trunc(rows + np.copysign(0.5, rows)).astype(np.int64)
    return nearest


def _no_schedule(name: str, expected: str, value: Schedule) -> OperatorTypeError:
    return OperatorTypeError(
        "a schedule has no place in this argument",
        argument=name,
        expected=expected,
        got=repr(value),
    )
