"""`Pipeline`: a captured function as an asynchronous, prefetching pipeline."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, overload

from gradiva.capture.runtime.memory_statistics import Statistics
from gradiva.capture.viz import svg
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.readers.source import Source
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError, blaming
from gradiva.eager.support.lazy_import import lazy_module

from .checkpoint import checkpoint
from .running import Running
from .timeline import Timeline, record_timeline

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Pipeline"]

# Files are for few programs: the import of gradiva does not wait for them.
dot = lazy_module("gradiva.capture.serialization.dot")
files = lazy_module("gradiva.capture.serialization.files")


class Pipeline(Running):
    """A graph of operators that runs again and again, ahead of the user.

    batch_size: samples per batch, at most (a source may deliver fewer). It may be left out until
        the pipeline is built.
    num_threads: threads that work on a batch; by default the cores this process may use.
    device_id: None (the default) for the CPU. A number is kept; nothing here needs a GPU yet.
    seed: of random operators and readers that have none of their own; negative or None takes the
        seed of the default generator, so that the pipeline agrees with dynamic mode.
    exec_pipelined, exec_async: False for either runs the graph in the caller's thread, when asked.
    prefetch_queue_depth: batches that are made ahead; or {"cpu_size": x, "gpu_size": y}, for the
        stage on the CPU and for those after it.
    bytes_per_sample: how much memory to reserve ahead, for each sample of each output.
    set_affinity: bind each worker thread to a CPU; see DALI_AFFINITY_MASK.
    max_streams, default_cuda_stream_priority: accepted, without effect.
    enable_memory_stats: collect what `executor_statistics` returns.
    enable_checkpointing: note down the place after each batch, for `checkpoint()`.
    checkpoint: go on from what `checkpoint()` returned, or from the file it wrote. The graph and
        the batch size must be the same; threads, queue and the folder of a data set may differ. The
        seed is that of the checkpoint; another one is refused.
    py_num_workers, py_start_method, py_callback_pickler: of the processes that run the callbacks
        of parallel external sources: how many (0: none, they run in a thread), how they are
        started ("fork", "spawn" or "forkserver"), and how callbacks are sent to them.
    output_dtype, output_ndim, output_layout: what the outputs are to be, one for all or a list;
        checked when the pipeline is built and with each batch.
    exec_dynamic, stream_policy, concurrency: accepted; they change no result.

    Raises OperatorValueError or OperatorTypeError for arguments that make no sense. Usually made
    by a function decorated with `pipeline_def`; by hand: `with pipe: pipe.set_outputs(...)`, or in
    a subclass by `define_graph`.
    """

    def trace(self, path: str | os.PathLike[str] | None = None, batches: int = 10) -> Timeline:
        """Run for some batches, throw them away, and return what happened when in which thread.

        path: where to write it as JSON for https://ui.perfetto.dev or chrome://tracing.
        batches: how many to see being made; batches that were ready before are taken in addition.
        It ends earlier, and the pipeline is reset, where the data ends. Raises what `run` raises;
        OperatorValueError for a `path` that cannot be written; OperatorRuntimeError while another
        trace is being recorded. Tracing changes no bit of any batch.
        """
        if isinstance(batches, bool) or not isinstance(batches, int) or batches < 1:
            raise OperatorValueError(
                operator="Pipeline.trace",
                argument="batches",
                expected="a positive integer",
                got=repr(batches),
            )
        timeline = record_timeline(self._built(), batches)
        if timeline.ended:
            self.reset()
        if path is not None:
            timeline.save(path)
        return timeline

    @overload
    def epoch_size(self, name: str) -> int: ...
    @overload
    def epoch_size(self, name: None = None) -> dict[str, int]: ...
    def epoch_size(self, name: str | None = None) -> Any:
        """Samples per epoch: of the reader `name`, or a dict of all readers by name."""
        sizes = {key: meta["epoch_size"] for key, meta in self.reader_meta().items()}
        return sizes if name is None else _of(sizes, name)

    @overload
    def reader_meta(self, name: str) -> dict[str, int]: ...
    @overload
    def reader_meta(self, name: None = None) -> dict[str, dict[str, int]]: ...
    def reader_meta(self, name: str | None = None) -> Any:
        """epoch_size, epoch_size_padded, number_of_shards, shard_id, pad_last_batch and
        stick_to_shard: of the reader `name`, or a dict of all readers by name."""
        metas = {key: source.meta() or {} for key, source in self._readers().items()}
        return metas if name is None else _of(metas, name)

    def _readers(self) -> dict[str, Source]:
        """The sources that know the size of their data, by name."""
        plan = self._built().plan
        found: dict[str, Source] = {}
        for node, source in plan.sources.items():
            if source.meta() is not None:
                key = base = plan.graph.names.get(node) or node.operator.name
                number = 1
                while key in found:
                    number += 1
                    key = f"{base}_{number}"
                found[key] = source
        return found

    def checkpoint(
        self, filename: str | os.PathLike[str] | None = None, context: dict[str, Any] | None = None
    ) -> bytes:
        """The place of this pipeline after the last batch that was handed out, for the argument
        `checkpoint` of a pipeline with the same graph, which goes on from there bit by bit.

        filename: a file to write it to as well, atomically; the one before it is kept as
        `<filename>.previous`. context: data of your own (numbers, strings, lists, dicts, arrays)
        to be saved with it, found in `checkpoint_context` of the restored pipeline.

        Raises OperatorRuntimeError if the pipeline was made without enable_checkpointing=True, a
        source cannot tell its state, or the file cannot be written; OperatorTypeError for a state
        or context that is no plain data.
        """
        executor = self._built()
        with blaming("Pipeline.checkpoint"):
            return checkpoint(executor, self._recorded(), filename, context)

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline was built, and goes on from a checkpoint."""
        return self._restored is not None and self._executor is not None

    @property
    def checkpoint_context(self) -> dict[str, Any] | None:
        """The `context` that was saved with the checkpoint this pipeline was made from."""
        return None if self._restored is None else self._restored.context

    def serialize(
        self, define_graph: Any = None, filename: str | os.PathLike[str] | None = None
    ) -> bytes:
        """The pipeline as the bytes of a file that other libraries read, too; see docs/pipeline.md.

        define_graph: a function to call for the graph, if there is none yet. filename: where to
        write the bytes; a file that is there is replaced as a whole. Raises OperatorTypeError or
        OperatorValueError, with the operator and its line, for what has no place in a file.
        """
        if define_graph is not None:
            self._require_undefined()
            self._define(define_graph, getattr(define_graph, "__qualname__", "define_graph"))
        data: bytes = files.save(self, self._recorded(), filename)
        return data

    @classmethod
    def deserialize(
        cls,
        serialized_pipeline: bytes | None = None,
        filename: str | os.PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A built pipeline from bytes that `serialize` made, here or elsewhere, or from a file.

        kwargs: arguments of the constructor, in place of the stored ones. A file is data: nothing
        in it is executed. External sources have no source afterwards: feed them by name. Raises
        OperatorValueError for what is no pipeline, or none that gradiva has the operators for.
        """
        pipe: Self = files.load(cls, serialized_pipeline, filename, kwargs)
        pipe.build()
        return pipe

    def deserialize_and_build(self, serialized_pipeline: bytes) -> None:
        """Take the graph from bytes that `serialize` made, and build; batch_size and num_threads
        come from there, too, if the constructor was not given them."""
        self._require_unbuilt()
        stored = files.build_from(self, serialized_pipeline)
        self._adopt(stored.batch_size, stored.num_threads)
        self.build()

    def save_graph_to_dot_file(
        self,
        filename: str | os.PathLike[str],
        *,
        show_tensors: bool = False,
        show_ids: bool | None = None,
        use_colors: bool = False,
    ) -> None:
        """Write the graph for Graphviz. show_tensors: with what flows between the operators;
        show_ids: with numbers; use_colors: filled by where they run. Raises OperatorValueError for
        a file that cannot be written."""
        text = dot.operator_dot(self.graph, show_tensors, bool(show_ids), use_colors)
        files.write_file(filename, text.encode(), "Pipeline.save_graph_to_dot_file")

    @property
    def quarantine(self) -> Quarantine:
        """The samples that `on_error` has left out or replaced, of the batches handed out."""
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
        if self._processes is None:
            return {"capacities": [], "per_sample_capacities": []}
        return self._processes.statistics()

    def output_stream(self) -> Any:
        """The CUDA stream of outputs on a GPU. Raises OperatorRuntimeError: there are none."""
        raise OperatorRuntimeError(
            "the outputs of this pipeline are on the CPU: they have no CUDA stream",
            operator="Pipeline.output_stream",
        )

    def __repr__(self) -> str:
        return f"<Pipeline, {self._state()}>"

    def _repr_svg_(self) -> str | None:
        """The picture of its graph that a notebook shows, if there is a graph yet."""
        if self._graph is None and self._outputs is None:
            return None
        return svg.svg(self.graph, f"{self.graph.title}: {self._state()}")

    def _state(self) -> str:
        state = "built" if self._executor is not None else "not built"
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
