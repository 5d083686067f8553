"""The parts of a pipeline, and the methods that define and build it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gradiva.capture.graph.graph import Graph
from gradiva.capture.recording.data_node import DataNode
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    annotate_error,
    describe,
    user_location,
)
from gradiva.eager.types.device import Device

from .checkpoint import Restored, read_checkpoint
from .definition import GraphDefinition, current_pipeline, leave_current_pipeline
from .options import OperatorConcurrency, PipelineOptions, StreamPolicy
from .run_api import ApiCheck, ScheduledRuns
from .runtime import PipelineRuntime, build_runtime

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["PipelineBase"]


class PipelineBase:
    """The parts of a pipeline: `_options`, `_definition`, `_restored` (the checkpoint to continue
    from), `_runs` and `_api_check`; after `build` also `_runtime`."""

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
        py_num_workers: int | None = 1,
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
        given = {name: value for name, value in locals().items() if name != "self"}
        self._options = PipelineOptions.checked(given)
        self._definition = GraphDefinition(Device("gpu", self._options.device_id))
        self._restored: Restored | None = None
        if self._options.checkpoint is not None:
            with annotate_error("Pipeline"):
                self._restored = read_checkpoint(self._options.checkpoint)
        self._runtime: PipelineRuntime | None = None
        self._runs = ScheduledRuns()
        self._api_check = ApiCheck()
        self._is_used = False
        self._build_lock = threading.RLock()
        self._building = False

    def __enter__(self) -> Self:
        """Record the operators called in the block into this pipeline.

        The block of a pipeline whose outputs were set before, as `pipeline_def` does, uses it: once
        it is built nothing is recorded any more, and the end of the block closes it.
        """
        self._check_unbuilt()
        self._is_used = self._definition.outputs is not None
        self._definition.enter(self)
        return self

    def __exit__(self, kind: object = None, *details: object) -> None:
        built = self._is_used and self._runtime is not None
        try:
            if not built or self._definition.is_current():
                self._definition.leave(failed=kind is not None)
        finally:
            if built:
                self.close()

    def close(self) -> None:
        """Stop the threads and free the memory."""

    @staticmethod
    def push_current(pipeline: PipelineBase) -> None:
        """Record the operators called from now on into `pipeline`, until `pop_current`.

        `with pipeline:` does the same, and also ends when an exception leaves the block.
        """
        if not isinstance(pipeline, PipelineBase):
            raise OperatorTypeError(
                operator="Pipeline.push_current",
                expected="a Pipeline",
                got=describe(pipeline),
                location=user_location(),
            )
        pipeline._check_unbuilt()
        pipeline._definition.enter(pipeline)

    @staticmethod
    def pop_current() -> None:
        """Undo the last `push_current`. Raises OperatorTypeError if there was none."""
        leave_current_pipeline()

    @staticmethod
    def current() -> Any:
        """The pipeline that records the operators called here, or None."""
        return current_pipeline()

    def define_graph(self) -> Any:
        """For subclasses: call operators and return the outputs."""
        raise OperatorTypeError(
            "the pipeline has no outputs: call set_outputs, override define_graph, or use "
            "pipeline_def",
            operator="Pipeline",
        )

    def set_outputs(self, *output_data_nodes: Any) -> None:
        """Make these symbols (or constants) the outputs. Raises OperatorTypeError."""
        self._check_unbuilt()
        self._definition.set_outputs(output_data_nodes)

    def add_sink(self, edge: Any) -> None:
        """Keep the node of this symbol, and run it, although no output needs it."""
        self._check_unbuilt()
        self._definition.add_sink(edge)

    def _check_unbuilt(self) -> None:
        if self._runtime is not None:
            raise OperatorTypeError(
                "the pipeline was built: its graph is fixed", operator="Pipeline"
            )

    def _defined(self) -> tuple[DataNode, ...]:
        """The outputs. They are defined now if they were not defined before."""
        if self._definition.outputs is None:
            self._definition.define(self, self.define_graph, "define_graph")
        assert self._definition.outputs is not None
        return self._definition.outputs

    def _define_by(self, define_graph: Callable[[], Any]) -> None:
        """Record the graph with a function that the user gave in place of the method."""
        self._definition.check_undefined()
        name = getattr(define_graph, "__qualname__", "define_graph")
        self._definition.define(self, define_graph, name)

    def _recorded(self) -> Graph:
        self._defined()
        return self._definition.graph()

    def build(self, define_graph: Any = None) -> None:
        """Compile the graph and open its sources. `run` does it if it was not done.

        define_graph: a function that calls operators and returns the outputs, instead of the
        method of that name. Raises GradivaError for a graph or arguments that make no sense.
        """
        with self._build_lock:
            if self._runtime is not None:
                return
            if self._building:
                with annotate_error("Pipeline.build"):
                    raise OperatorRuntimeError(
                        "the pipeline is being built: there is no data, and nothing to be known "
                        "about it, until its graph is defined"
                    )
            self._building = True
            try:
                if define_graph is not None:
                    self._define_by(define_graph)
                options = self._options
                options.required_batch_size()
                declared = options.output_types(len(self._defined()))
                self._runtime = build_runtime(
                    self._recorded(), options, declared, self._definition.gpu, self._restored
                )
                if self._is_used and current_pipeline() is self:
                    self._definition.leave(failed=False)
            finally:
                self._building = False

    def start_py_workers(self) -> None:
        """Start the processes of parallel external sources now, before other threads start. `build`
        does this if it was not done before. It starts no thread either."""
        self.build()

    def _built(self) -> PipelineRuntime:
        runtime = self._runtime
        if runtime is None:
            self.build()
            runtime = self._runtime
            assert runtime is not None
        return runtime
