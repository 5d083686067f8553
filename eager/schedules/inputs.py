"""Schedules among the inputs of a call, as in arithmetic."""

from __future__ import annotations

from typing import Any

from gradiva.eager.support.errors import GradivaError, OperatorTypeError
from gradiva.eager.values.value import Symbolic

from .schedule import Schedule


def with_values(inputs: tuple[Any, ...], maker: Any) -> tuple[Any, ...]:
    """The inputs of a call with values in place of schedules: of the current step. maker: the
    operator that makes these. Raises OperatorTypeError for a call that has no other inputs."""
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
