"""What the two branches of a condition have made of a variable, as one value."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

import numpy as np

from gradiva.capture.graph.graph import Edge
from gradiva.eager.support.errors import (
    GradivaError,
    Location,
    OperatorTypeError,
    describe,
    user_location,
)
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.tensor import Tensor
from gradiva.eager.values.value import Following
from gradiva.ops.math.arithmetic import to_operand
from gradiva.ops.math.branches import merge

from .branches import Branch
from .data_node import DataNode, SymbolRecorder

__all__ = ["NOTHING", "UNDEFINED", "Unusable", "merge_values"]


class _Sentinel:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


UNDEFINED = _Sentinel("a variable without a value")
NOTHING = _Sentinel("nothing was returned")

Sides = tuple[Branch, Branch]

_PLAIN = (bool, int, float, complex, str, bytes, type(None), DType, enum.Enum, np.generic)
_NUMBERS = (bool, int, float, np.generic, np.ndarray, Tensor)


class Unusable:
    """What stands in a variable that has no common value after the branches: using it is an
    error. undefined: whether it only says that there was no value."""

    def __init__(
        self, problem: str, location: Location | None, undefined: bool = False, **facts: Any
    ) -> None:
        self.undefined = undefined
        self._problem = problem
        self._location = location
        self._facts = facts

    def refuse(self) -> NoReturn:
        where = f"; the condition is at {self._location}" if self._location else ""
        raise OperatorTypeError(
            self._problem + where, operator="if", location=user_location(), **self._facts
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse()

    def __repr__(self) -> str:
        return f"<no value: {self._problem}>"


class DivergentError(Exception):
    """Two values that are no one value: why, and the part of the variable they stand in."""

    def __init__(self, problem: str, part: str, expected: str, got: str) -> None:
        super().__init__(problem)
        self.problem, self.part, self.expected, self.got = problem, part, expected, got


def merge_values(true: Any, false: Any, sides: Sides, recorder: SymbolRecorder) -> Any:
    """One value of both, leaf by leaf in tuples, lists and dicts. Raises DivergentError."""
    return _merged(true, false, sides, recorder, "")


def _merged(true: Any, false: Any, sides: Sides, recorder: SymbolRecorder, part: str) -> Any:
    if true is false:
        return true
    kind = type(true)
    # Several outputs of an operator are a list; a tuple may stand for them in the other branch.
    if kind is type(false) or {kind, type(false)} == {list, tuple}:
        if isinstance(true, tuple | list):
            if len(true) != len(false):
                raise DivergentError(
                    f"its lengths differ in the branches: {len(true)} and {len(false)}",
                    part,
                    f"{kind.__name__}s of one length",
                    f"{len(true)} and {len(false)} items",
                )
            items = [
                _merged(one, other, sides, recorder, f"{part}[{index}]")
                for index, (one, other) in enumerate(zip(true, false, strict=True))
            ]
            return kind(*items) if hasattr(kind, "_fields") else kind(items)
        if isinstance(true, dict):
            if set(true) != set(false):
                raise DivergentError(
                    "its keys differ in the branches",
                    part,
                    f"the keys {sorted(map(repr, true))}",
                    str(sorted(map(repr, false))),
                )
            return {
                key: _merged(value, false[key], sides, recorder, f"{part}[{key!r}]")
                for key, value in true.items()
            }
        if isinstance(true, _PLAIN) and not isinstance(true, np.generic) and _same(true, false):
            return true
    if isinstance(true, Following) and kind is type(false):
        return _merged_targets(true, false, sides, recorder, part)
    leaves = (DataNode, *_NUMBERS)
    if not (isinstance(true, leaves) and isinstance(false, leaves)):
        raise DivergentError(
            "its values in the branches are no samples of one batch",
            part,
            f"the same kind of value in both branches, such as {_kind(true)}",
            _kind(false),
        )
    try:
        return merge_leaves(true, false, sides, recorder)
    except GradivaError as error:
        if error.expected is None:
            raise
        problem, found = error.problem, error.got
        raise DivergentError(problem, part, error.expected, found) from None


def _merged_targets(
    true: Following, false: Any, sides: Sides, recorder: SymbolRecorder, part: str
) -> Any:
    """Targets, value by value."""

    def merge(one: Any, other: Any, name: str) -> Any:
        return _merged(one, other, sides, recorder, f"{part}.{name}")

    try:
        return true.merged(false, merge, lambda side: recorder.branches.inside(sides[side]))
    except OperatorTypeError as error:
        expected, got = error.expected or "", error.got or ""
        raise DivergentError(error.problem, part, expected, got) from None


def _same(true: Any, false: Any) -> bool:
    return bool(true == false) and repr(true) == repr(false)


def _kind(value: Any) -> str:
    return "a symbol" if isinstance(value, DataNode) else describe(value)


def merge_leaves(true: Any, false: Any, sides: Sides, recorder: SymbolRecorder) -> DataNode:
    """One node for two symbols or numbers. Raises OperatorTypeError."""
    edges: list[Edge] = []
    for value, branch in zip((true, false), sides, strict=True):
        with recorder.branches.inside(branch):
            edges.append(recorder.input_edge(to_operand(value), branch.side))
    edges.append(sides[0].predicate._replace(argument=None))
    return recorder.add(merge, tuple(edges), sides[0].location, "if")
