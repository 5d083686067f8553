"""The definition of a pipeline: the graph that it records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from gradiva.capture.graph.graph import Graph
from gradiva.capture.recording.data_node import DataNode
from gradiva.capture.recording.recorder import Recorder
from gradiva.eager.operators.interpreter import interpreter
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)
from gradiva.eager.types.device import Device

from .settings import Settings

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Definition"]

_current: ContextVar[tuple[Definition, ...]] = ContextVar("gradiva_pipelines", default=())


class Definition(Settings):
    """The part of `Pipeline` that is there before anything runs."""

    def _initialise(self) -> None:
        self._gpu = Device("gpu", self.device_id)
        self._recorder = Recorder("pipeline", self._gpu)
        self._recording: list[AbstractContextManager[None]] = []
        self._outputs: tuple[DataNode, ...] | None = None
        self._graph: Graph | None = None

    @property
    def num_outputs(self) -> int:
        return len(self._defined())

    def output_dtype(self) -> list[Any]:
        """The element type declared for each output, None where none was."""
        return [type.dtype for type in self._declared()]

    def output_ndim(self) -> list[int | None]:
        """The number of axes declared for each output, None where none was."""
        return [type.ndim for type in self._declared()]

    def _declared(self) -> list[Any]:
        """The declared type of each output. Raises OperatorValueError for a wrong number."""
        types, count = self._options.outputs, len(self._defined())
        if not isinstance(types, tuple):
            return [types] * count
        if len(types) != count:
            raise OperatorValueError(
                "`output_dtype`, `output_ndim` and `output_layout` describe each output",
                operator="Pipeline",
                expected=f"{count} outputs",
                got=str(len(types)),
            )
        return list(types)

    @property
    def graph(self) -> Graph:
        """The graph as it was recorded, or, once built, as it was compiled."""
        return self._recorded() if self._graph is None else self._graph

    def _recorded(self) -> Graph:
        return self._recorder.finish(self._defined())

    def __enter__(self) -> Self:
        """Record the operators called in the block into this pipeline."""
        self._require_unbuilt()
        block = interpreter(self._recorder)
        block.__enter__()
        self._recording.append(block)
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, kind: object = None, *details: object) -> None:
        above = list(_current.get())
        if self not in above:
            raise OperatorTypeError(
                "this pipeline is not current: its block was left before, or in another thread",
                operator="Pipeline",
                location=user_location(),
            )
        top = above[-1]
        while above:
            # What was made current within the block, and left so, ends with it.
            last = above.pop()
            _current.set(tuple(above))
            last._recording.pop().__exit__(None, None, None)
            if last is self:
                break
        if top is not self and kind is None:
            raise OperatorTypeError(
                "another pipeline was made current in the block of this one, and still was at its "
                "end: call pop_current, or leave its own block, first",
                operator="Pipeline",
                location=user_location(),
            )

    @staticmethod
    def push_current(pipeline: Definition) -> None:
        """Record the operators called from now on into `pipeline`, until `pop_current`.

        `with pipeline:` does the same, and also ends when an exception leaves the block.
        """
        if not isinstance(pipeline, Definition):
            raise OperatorTypeError(
                operator="Pipeline.push_current",
                expected="a Pipeline",
                got=describe(pipeline),
                location=user_location(),
            )
        pipeline.__enter__()

    @staticmethod
    def pop_current() -> None:
        """Undo the last `push_current`. Raises OperatorTypeError if there was none."""
        if not _current.get():
            raise OperatorTypeError(
                "no pipeline is current", operator="Pipeline.pop_current", location=user_location()
            )
        _current.get()[-1].__exit__(None, None, None)

    @staticmethod
    def current() -> Any:
        """The pipeline that records the operators called here, or None."""
        found = _current.get()
        return found[-1] if found else None

    def define_graph(self) -> Any:
        """For subclasses: call operators and return the outputs."""
        raise OperatorTypeError(
            "the pipeline has no outputs: call set_outputs, override define_graph, or use "
            "pipeline_def",
            operator="Pipeline",
        )

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Make these symbols (or constants) the outputs. Raises OperatorTypeError."""
        self._require_unbuilt()
        try:
            self._outputs = tuple(
                self._recorder.symbol(value, index) for index, value in enumerate(output_data_nodes)
            )
        except GradivaError as error:
            raise error.complete(operator="Pipeline", location=user_location()) from None

    def add_sink(self, edge: Any) -> None:
        """Keep what makes this symbol, and run it, although no output needs it."""
        self._require_unbuilt()
        if not isinstance(edge, DataNode) or edge.recorder is not self._recorder:
            raise OperatorTypeError(
                operator="Pipeline.add_sink",
                argument="edge",
                expected="a symbol of this pipeline",
                got=describe(edge),
                location=user_location(),
            )
        self._recorder.keep(edge.edge.node)

    def _require_undefined(self) -> None:
        if self._outputs is not None:
            raise OperatorTypeError(
                "the outputs of the pipeline are set already: `define_graph` has no place",
                operator="Pipeline.build",
                argument="define_graph",
            )

    def _require_unbuilt(self) -> None:
        if self._graph is not None:
            raise OperatorTypeError(
                "the pipeline was built: its graph is fixed", operator="Pipeline"
            )

    def _defined(self) -> tuple[DataNode, ...]:
        """The outputs; defined now if they were not."""
        if self._outputs is None:
            self._define(self.define_graph, "define_graph")
        assert self._outputs is not None
        return self._outputs

    def _define(self, define_graph: Callable[[], Any], name: str) -> None:
        with self:
            outputs = define_graph()
        if isinstance(outputs, dict | set | str) or outputs is None:
            raise OperatorTypeError(
                f"{name} must return its outputs: a symbol or a tuple",
                operator="Pipeline",
                expected="a symbol or a tuple of symbols",
                got=type(outputs).__name__,
            )
        self.set_outputs(*outputs if isinstance(outputs, tuple | list) else (outputs,))
