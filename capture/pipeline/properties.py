"""What a pipeline answers about itself: its options, its outputs, its readers, its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from gradiva.capture.graph.graph import Graph
from gradiva.capture.runtime.fusion_report import FusionExplanation
from gradiva.capture.runtime.memory_statistics import Statistics
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError, frameless
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.overridable import overridable

from .base import PipelineBase
from .options import OperatorConcurrency, StreamPolicy

if TYPE_CHECKING:
    from gradiva.capture.viz import svg
else:
    svg = lazy_module("gradiva.capture.viz.svg")

__all__ = ["PipelineProperties"]


class PipelineProperties(PipelineBase):
    """The part of `Pipeline` that changes nothing. What DALI does not have gives way to an
    attribute that a subclass sets."""

    @property
    def batch_size(self) -> int:
        """The most samples that a batch has. Raises OperatorValueError if none was given."""
        return self._options.required_batch_size()

    max_batch_size = batch_size

    @property
    def num_threads(self) -> int:
        """Threads that work on a batch; the cores this process may use, if none were given."""
        return self._options.num_threads

    @property
    def device_id(self) -> int | None:
        """The number of the GPU that was given, or None."""
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
        """As it was given; otherwise True if batches are made ahead in one queue, or else None.
        There is one executor, which serves all."""
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
        """1 for one CUDA stream; by default there are two, on which batches take turns."""
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

    @overridable
    def bytes_per_sample(self) -> int:
        """Memory to reserve before the first batch, for each sample of each result."""
        return self._options.bytes_per_sample

    @overridable
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
    def stream_policy(self) -> StreamPolicy | None:
        return self._options.stream_policy

    @property
    def concurrency(self) -> OperatorConcurrency | None:
        return self._options.concurrency

    @property
    def num_outputs(self) -> int:
        return len(self._defined())

    def output_dtype(self) -> list[Any]:
        """The element type declared for each output, None where none was."""
        return [type.dtype for type in self._options.output_types(self.num_outputs)]

    def output_ndim(self) -> list[int | None]:
        """The number of axes declared for each output, None where none was."""
        return [type.ndim for type in self._options.output_types(self.num_outputs)]

    @overridable
    def graph(self) -> Graph:
        """The graph as it was recorded, or, once built, as it was compiled."""
        return self._graph()

    @property
    def recorded_graph(self) -> Graph:
        """The graph as it was recorded, before and after the pipeline was built."""
        return self._recorded()

    def _graph(self) -> Graph:
        return self._recorded() if self._runtime is None else self._runtime.plan.graph

    @overload
    def epoch_size(self, name: str) -> int: ...
    @overload
    def epoch_size(self, name: None = None) -> dict[str, int]: ...
    def epoch_size(self, name: str | None = None) -> Any:
        """Samples per epoch, with those that pad the shards to one size: of the reader `name`, or a
        dict of all readers by name. `reader_meta` has both numbers."""
        sizes = {key: meta["epoch_size_padded"] for key, meta in self.reader_meta().items()}
        return sizes if name is None else _of(sizes, name)

    @overload
    def reader_meta(self, name: str) -> dict[str, int]: ...
    @overload
    def reader_meta(self, name: None = None) -> dict[str, dict[str, int]]: ...
    def reader_meta(self, name: str | None = None) -> Any:
        """epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch and
        stick_to_shard: of the reader `name`, or a dict of all readers by name."""
        readers = self._built().readers()
        metas = {key: source.meta() or {} for key, source in readers.items()}
        return metas if name is None else _of(metas, name)

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline was built, and goes on from a checkpoint."""
        return self._restored is not None and self._runtime is not None

    @overridable
    def checkpoint_context(self) -> dict[str, Any] | None:
        """The `context` that was saved with the checkpoint this pipeline was made from."""
        return None if self._restored is None else self._restored.context

    @overridable
    def quarantine(self) -> Quarantine:
        """The samples that `on_error` has left out or replaced, of the batches so far."""
        return self._built().plan.quarantine

    def executor_statistics(self) -> Statistics:
        """Memory of the results of each operator, where `enable_memory_stats` asked for it.

        See `MemoryStatistics`; an empty dict without it, and before the first batch.
        """
        statistics = self._built().plan.program.statistics
        return {} if statistics is None else statistics.as_dict()

    def external_source_shm_statistics(self) -> dict[str, list[int]]:
        """Sizes in bytes of the shared memory of parallel external sources: `capacities`, one for
        each place for a result, and `per_sample_capacities`, those by the samples they hold."""
        if self._runtime is None or self._runtime.processes is None:
            return {"capacities": [], "per_sample_capacities": []}
        return self._runtime.processes.statistics()

    def output_stream(self) -> Any:
        """The CUDA stream of outputs on a GPU. Raises OperatorRuntimeError: there are none."""
        raise OperatorRuntimeError(
            "the outputs of this pipeline are on the CPU: they have no CUDA stream",
            operator="Pipeline.output_stream",
        )

    @frameless
    def explain(self) -> FusionExplanation:
        """What ran fused in the batches so far and how long that took, and where not, why. Prints
        as text, and as a table in a notebook; builds the pipeline if it is not built."""
        return FusionExplanation("pipeline", self._built().plan.program.fusion.groups())

    def __repr__(self) -> str:
        return f"<Pipeline, {self._state()}>"

    def _repr_svg_(self) -> str | None:
        """The picture of its graph that a notebook shows, if there is a graph yet."""
        if self._runtime is None and self._definition.outputs is None:
            return None
        graph = self._graph()
        return svg.svg(graph, f"{graph.title}: {self._state()}")

    def _state(self) -> str:
        state = "built" if self._runtime is not None else "not built"
        return f"batch_size={self._options.batch_size}, {state}"


def _of(values: dict[str, Any], name: str) -> Any:
    try:
        return values[name]
    except KeyError:
        raise OperatorValueError(
            operator="Pipeline",
            argument="name",
            expected=f"the name of a reader ({', '.join(values) or 'there is none'})",
            got=repr(name),
        ) from None
