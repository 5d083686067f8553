"""Free nodes: symbols of calls that were made outside of any pipeline.

A free node is a note of a call. A pipeline that uses it makes the call again in its own graph, and
first those that it needs, in the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from gradiva.capture.graph.graph import Edge
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import Location, OperatorTypeError, user_location
from gradiva.eager.support.shared_state import SerialNumbers
from gradiva.ops.readers.core.source import SourceOperator

from .data_node import DataNode, SymbolRecorder

_numbers = SerialNumbers()


class FreeCall:
    """A call of an operator as it was written down. number: of the call in the process; location:
    the user's line."""

    __slots__ = ("inputs", "keywords", "location", "number", "operator")

    def __init__(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        source = isinstance(operator, SourceOperator)  # what it reads from is an object, no value
        self.number = _numbers.take()
        self.operator = operator
        self.inputs = tuple(map(_kept, inputs))
        self.keywords = {
            name: value if source else _kept(value) for name, value in keywords.items()
        }
        self.location: Location | None = user_location()

    def needs(self) -> Iterator[FreeCall]:
        """The calls whose results it takes."""
        for value in (*self.inputs, *self.keywords.values()):
            if isinstance(value, FreeNode):
                yield value.call


class FreeNode(DataNode):
    """A symbol of a call that belongs to no pipeline yet: one of its outputs."""

    __slots__ = ("call",)

    def __init__(self, edge: Edge, recorder: SymbolRecorder, call: FreeCall) -> None:
        super().__init__(edge, recorder)
        self.call = call

    def _refuse(self, what: str) -> NoReturn:
        raise OperatorTypeError(
            f"this is {self.described()}: it has no data before a pipeline runs it, so one cannot "
            f"ask for {what}. {self._instead()}",
            location=user_location(),
        )

    def __getattr__(self, name: str) -> NoReturn:
        problem = f"{type(self).__name__!r} object has no attribute {name!r}"
        if not name.startswith("_"):  # Python and libraries ask for those all the time
            problem += (
                f": this is {self.described()}, and has no data before a pipeline runs it. "
                f"{self._instead()}"
            )
        raise AttributeError(problem, name=name, obj=self)

    def _instead(self) -> str:
        operator = self.edge.node.operator
        if operator.random:
            return f"gradiva.{operator.name} draws at once"
        return (
            "Call it in a function of pipeline_def, or loop over data: "
            "gradiva.readers.File(...).next_epoch()"
        )

    def described(self) -> str:
        """What errors call it."""
        where = f" at {self.call.location}" if self.call.location else ""
        return f"an output of `{self.name}` that was made outside of any pipeline{where}"

    def __repr__(self) -> str:
        where = f", made at {self.call.location}" if self.call.location else ""
        return f"DataNode({self.name}: {self.type}, in no pipeline yet{where})"


def _kept(value: Any) -> Any:
    """An argument as it is now, though the user may write into theirs later."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return list(map(_kept, value)) if type(value) is list else value


def calls_behind(values: Iterable[Any], known: Any) -> list[FreeCall]:
    """The calls behind the free nodes among `values`, with all that they need, in the order in
    which they were made; without those in `known`, and what only they need."""
    found: dict[int, FreeCall] = {}
    waiting = [value.call for value in values if isinstance(value, FreeNode)]
    while waiting:
        call = waiting.pop()
        if call not in known and call.number not in found:
            found[call.number] = call
            waiting += call.needs()
    return [found[number] for number in sorted(found)]
