"""The definition of a pipeline: its arguments, and the graph that it records."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gradiva.eager.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)
from gradiva.eager.operator import interpreter
from gradiva.eager.threads import default_num_threads

from .graph import Graph
from .node import DataNode
from .options import OperatorConcurrency, Options, StreamPolicy, check_options
from .tracer import Recorder

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Definition"]

_current: ContextVar[tuple[Definition, ...]] = ContextVar("gradiva_pipelines", default=())


class Definition:
    """The part of `Pipeline` that is there before anything runs."""

    def __init__(
        self,
        batch_size: int | None = -1,
        num_threads: int | None = -1,
        device_id: int | None = None,
        seed: int | None = None,
        exec_pipelined: bool = True,
        prefetch_queue_depth: int | dict[str, int] = 2,
        exec_async: bool = True,
        bytes_per_sample: int = 0,
        set_affinity: bool = False,
        max_streams: int | None = None,
        default_cuda_stream_priority: int | None = None,
        *,
        enable_memory_stats: bool = False,
        enable_checkpointing: bool = False,
        checkpoint: str | bytes | os.PathLike[str] | None = None,
        py_num_workers: int = 1,
        py_start_method: str = "fork",
        py_callback_pickler: Any = None,
        output_dtype: Any = None,
        output_ndim: Any = None,
        output_layout: Any = None,
        exec_dynamic: bool | None = None,
        experimental_exec_dynamic: bool | None = None,
        stream_policy: StreamPolicy | str | None = None,
        concurrency: OperatorConcurrency | str | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self",)}
        given.pop("__class__", None)
        self._options: Options = check_options(given)
        # Also where it comes from the environment: a wrong one is an error here.
        self._num_threads = self._options.num_threads or default_num_threads()
        self._recorder = Recorder("pipeline")
        self._recording: list[AbstractContextManager[None]] = []
        self._outputs: tuple[DataNode, ...] | None = None
        self._graph: Graph | None = None
        self._initialise()

    def _initialise(self) -> None:
        """For the classes on top: what they keep. The constructor's signature stays one."""

    @property
    def batch_size(self) -> int:
        """The most samples that a batch has. Raises OperatorValueError if none was given."""
        if self._options.batch_size is None:
            raise OperatorValueError(
                "the pipeline has no batch size",
                operator="Pipeline",
                argument="batch_size",
                expected="a positive integer",
                got="none",
                location=user_location(),
            )
        return self._options.batch_size

    max_batch_size = batch_size

    @property
    def num_threads(self) -> int:
        """Threads that work on a batch; the cores this process may use, if none were given."""
        return self._num_threads

    @property
    def device_id(self) -> int | None:
        """The number of the GPU, None for pipelines that use none."""
        return self._options.device_id

    @property
    def seed(self) -> int | None:
        """The seed that was given, or None."""
        return self._options.seed

    @property
    def exec_pipelined(self) -> bool:
        return self._options.exec_pipelined

    @property
    def exec_async(self) -> bool:
        return self._options.exec_async

    @property
    def exec_separated(self) -> bool:
        """Whether each stage has a queue of its own depth."""
        return isinstance(self._options.prefetch_queue_depth, dict)

    @property
    def exec_dynamic(self) -> bool | None:
        """As it was given; there is one executor, which serves both."""
        return self._options.exec_dynamic

    @property
    def prefetch_queue_depth(self) -> int | dict[str, int]:
        return self._options.prefetch_queue_depth

    @property
    def cpu_queue_size(self) -> int:
        """Batches that the stage on the CPU makes ahead."""
        return self._options.depth[0]

    @property
    def gpu_queue_size(self) -> int:
        """Batches that the stages after that on the CPU make ahead."""
        return self._options.depth[1]

    @property
    def max_streams(self) -> int:
        """Accepted for old scripts; it limits nothing."""
        return self._options.max_streams

    @property
    def default_cuda_stream_priority(self) -> int:
        return self._options.default_cuda_stream_priority

    @property
    def set_affinity(self) -> bool:
        """Whether each worker thread is bound to a CPU."""
        return self._options.set_affinity

    @property
    def enable_memory_stats(self) -> bool:
        return self._options.enable_memory_stats

    @property
    def bytes_per_sample(self) -> int:
        """Memory to reserve before the first batch, for each sample of each result."""
        return self._options.bytes_per_sample

    @property
    def enable_checkpointing(self) -> bool:
        return self._options.enable_checkpointing

    @property
    def py_num_workers(self) -> int:
        """Processes that run the callbacks of parallel external sources."""
        return self._options.py_num_workers

    @property
    def py_start_method(self) -> str:
        """How these processes are started: "fork", "spawn" or "forkserver"."""
        return self._options.py_start_method

    @property
    def stream_policy(self) -> StreamPolicy:
        return self._options.stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency:
        return self._options.concurrency

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def _adopt(self, batch_size: int, num_threads: int) -> None:
        """Take what the constructor was not given; -1 is none."""
        if self._options.batch_size is None and batch_size > 0:
            self._options = replace(self._options, batch_size=batch_size)
        if self._options.num_threads is None and num_threads > 0:
            self._options = replace(self._options, num_threads=num_threads)
            self._num_threads = num_threads

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
