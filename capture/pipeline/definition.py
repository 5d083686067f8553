"""`GraphDefinition`: the graph that a pipeline records."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from gradiva.capture.graph.graph import Graph
from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.free_node import FreeNode
from gradiva.capture.recording.recorder import Recorder
from gradiva.capture.recording.shared_values import SharedValues
from gradiva.eager.operators.interpreter import Entered, enter_interpreter, leave_interpreter
from gradiva.eager.support.errors import (
    GradivaError,
    Location,
    OperatorTypeError,
    describe,
    user_location,
    without_frames,
)
from gradiva.eager.support.tracebacks import user_places
from gradiva.eager.types.device import Device

if TYPE_CHECKING:
    from .pipeline import Pipeline


class _Recording(NamedTuple):
    """A block in which operators are recorded: `with pipeline:`."""

    pipeline: Any
    definition: GraphDefinition
    entered: Entered


_current: ContextVar[tuple[_Recording, ...]] = ContextVar("gradiva_pipelines", default=())


def current_pipeline() -> Any:
    """The pipeline that records the operators called here, or None."""
    found = _current.get()
    return found[-1].pipeline if found else None


def push_pipeline(pipeline: Pipeline) -> None:
    """Record the operators called from now on into `pipeline`, until `pop_current`.

    `with pipeline:` does the same, and also ends when an exception leaves the block.
    """
    definition = getattr(pipeline, "_definition", None)
    if not isinstance(definition, GraphDefinition):
        raise OperatorTypeError(
            operator="Pipeline.push_current",
            expected="a Pipeline",
            got=describe(pipeline),
            location=user_location(),
        )
    pipeline._check_unbuilt()
    definition.enter(pipeline)


def leave_current_pipeline() -> None:
    """Undo the last `push_current`. Raises OperatorTypeError if there was none."""
    if not _current.get():
        raise OperatorTypeError(
            "no pipeline is current", operator="Pipeline.pop_current", location=user_location()
        )
    _current.get()[-1].definition.leave(failed=False)


_NO_LOOP = re.compile(rf"(?=.*\biter).*\b({DataNode.__name__}|{FreeNode.__name__})\b", re.DOTALL)
"""What Python says of `for x in symbol` and `a, b = symbol`. The classes cannot say it themselves:
with a method `__iter__` a symbol would be a `collections.abc.Iterable`, as lists of outputs are."""


def _loop_over_symbol(error: TypeError) -> GradivaError:
    """The error for the user, with the line and what to do."""
    places = list(user_places(error.__traceback__))
    made = OperatorTypeError(
        f"{error}: it is the symbol of one output, and while a graph is recorded it has no samples "
        "to loop over or to unpack. Operators work on each sample without a loop; "
        "`value.slice[0]` is a part of each sample",
        location=Location(*places[-1]) if places else None,
    )
    made.__cause__ = error
    return without_frames(made)


class GraphDefinition:
    """The recorder of a pipeline, and the outputs of its graph once they are set.

    gpu: the GPU that "gpu" means in the graph.
    """

    def __init__(self, gpu: Device) -> None:
        self.gpu = gpu
        self.recorder = Recorder("pipeline", gpu)
        self.recorder.shared_values = SharedValues()
        self.outputs: tuple[DataNode, ...] | None = None

    def enter(self, pipeline: Any) -> None:
        """Record the operators called from now on, until `leave`; `pipeline` is current."""
        entered = enter_interpreter(self.recorder)
        _current.set((*_current.get(), _Recording(pipeline, self, entered)))

    def is_current(self) -> bool:
        """Whether a block of it, or one within that, records here."""
        return any(one.definition is self for one in _current.get())

    def leave(self, failed: bool) -> None:
        """End the block, and those that were entered inside of it and not left. failed: whether an
        error leaves it. Raises OperatorTypeError for a block that is not the current one, or for an
        inner one that was not left."""
        above = list(_current.get())
        if all(one.definition is not self for one in above):
            raise OperatorTypeError(
                "this pipeline is not current: its block was left before, or in another thread",
                operator="Pipeline",
                location=user_location(),
            )
        top = above[-1].definition
        while above:
            last = above.pop()
            _current.set(tuple(above))
            leave_interpreter(last.entered)
            if last.definition is self:
                break
        if top is not self and not failed:
            raise OperatorTypeError(
                "another pipeline was made current in the block of this one, and still was at its "
                "end: call pop_current, or leave its own block, first",
                operator="Pipeline",
                location=user_location(),
            )

    def define(
        self, pipeline: AbstractContextManager[Any], define_graph: Callable[[], Any], name: str
    ) -> None:
        """Record what `define_graph` calls, and set what it returns as the outputs. name: of the
        function, for errors. Raises OperatorTypeError for invalid outputs, and for a loop over a
        symbol."""
        try:
            with pipeline:
                outputs = define_graph()
        except TypeError as error:
            if type(error) is not TypeError or not _NO_LOOP.search(str(error)):
                raise
            raise _loop_over_symbol(error) from error
        if isinstance(outputs, dict | set | str) or outputs is None:
            raise OperatorTypeError(
                f"{name} must return its outputs: a symbol or a tuple",
                operator="Pipeline",
                expected="a symbol or a tuple of symbols",
                got=type(outputs).__name__,
            )
        self.set_outputs(outputs if isinstance(outputs, tuple | list) else (outputs,))

    def set_outputs(self, values: Sequence[Any]) -> None:
        """Make these symbols (or constants) the outputs. Raises OperatorTypeError."""
        try:
            self.recorder.adopt(values)
            self.outputs = tuple(
                self.recorder.symbol(value, index) for index, value in enumerate(values)
            )
        except GradivaError as error:
            raise error.complete(operator="Pipeline", location=user_location()) from None

    def add_sink(self, edge: Any) -> None:
        """Keep the node of this symbol, although no output needs it. Raises OperatorTypeError."""
        edge = self.recorder.own(edge)
        if not isinstance(edge, DataNode) or edge.recorder is not self.recorder:
            raise OperatorTypeError(
                operator="Pipeline.add_sink",
                argument="edge",
                expected="a symbol of this pipeline",
                got=describe(edge),
                location=user_location(),
            )
        self.recorder.keep(edge.edge.node)

    def check_undefined(self) -> None:
        """Raise OperatorTypeError if the outputs are set."""
        if self.outputs is not None:
            raise OperatorTypeError(
                "the outputs of the pipeline are set already: `define_graph` has no place",
                operator="Pipeline.build",
                argument="define_graph",
            )

    def graph(self) -> Graph:
        """The graph as it was recorded. The outputs must be set."""
        assert self.outputs is not None
        return self.recorder.finish(self.outputs)
