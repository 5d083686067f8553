"""`Pipeline`: a captured function as an asynchronous, prefetching pipeline."""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradiva.capture.graph.graph import Graph
from gradiva.capture.recording.data_node import DataNode
from gradiva.eager.runtime.finalizer_thread import FinalizerThread, finalizer_thread
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    annotate_error,
    frameless,
)
from gradiva.eager.support.overridable import overridable
from gradiva.eager.types.device import Device

from . import facts, run_api, saving
from .checkpoint import Restored, checkpoint, read_checkpoint
from .definition import GraphDefinition, current_pipeline, leave_current_pipeline, push_pipeline
from .feed_input import feed
from .options import OperatorConcurrency, StreamPolicy, check_options
from .outputs import Outputs
from .run_api import ApiCheck, PipelineAPIType, ScheduledRuns
from .runtime import PipelineRuntime, build_runtime

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Pipeline"]


def option(name: str, doc: str) -> Any:
    """An attribute of a pipeline that reads an option."""
    return property(operator.attrgetter(f"_options.{name}"), doc=doc)


class Pipeline:
    """A graph of operators that runs again and again, and prefetches.

    batch_size: samples per batch, at most (a source may deliver fewer). It may be left out until
        the pipeline is built.
    num_threads: threads that work on a batch; by default the cores this process may use.
    device_id: the GPU of operators with device="gpu", if there are any; None is the first one.
    seed: of random operators and readers that have none of their own; negative or None takes the
        seed of the default generator, so that the pipeline agrees with dynamic mode.
    exec_pipelined, exec_async: False for either runs the graph in the caller's thread, when asked.
    prefetch_queue_depth: batches that are made ahead; or {"cpu_size": x, "gpu_size": y}, for the
        stage on the CPU and for those after it.
    bytes_per_sample: how much memory to reserve ahead, for each sample of each output.
    set_affinity: bind each worker thread to a CPU; see DALI_AFFINITY_MASK.
    max_streams, default_cuda_stream_priority: of the CUDA streams of operators on a GPU; 1 for a
        single stream, else there are two, on which batches take turns.
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
    cache, cache_bytes: "ram" or a folder, and how much it may hold: results that are the same in
        each epoch are stored there for later epochs (docs/cache.md); `explain()` says which.
    with_receipt: make a receipt of each batch, which `receipt()` returns (docs/receipts.md): True,
        or {"data": "contents" or "stat", "hash": "sha256" or "xxh3_128"}.
    compose_warps: warps that follow each other gather pixels once: other bits (docs/targets.md).

    Raises OperatorValueError or OperatorTypeError for arguments that make no sense. Usually made
    by a function decorated with `pipeline_def`; by hand: `with pipe: pipe.set_outputs(...)`, or in
    a subclass by `define_graph`.
    """

    # The options.
    num_threads: int = option(
        "num_threads",
        "Threads that work on a batch; the cores this process may use, if none were given.",
    )
    device_id: int | None = option("device_id", "The number of the GPU that was given, or None.")
    seed: int | None = option("seed", "The seed that was given, or None.")
    exec_pipelined: bool = option("exec_pipelined", "Whether batches are made ahead.")
    exec_async: bool = option("exec_async", "Whether batches are made in threads of their own.")
    exec_dynamic: bool | None = option(
        "exec_dynamic",
        "As it was given; otherwise True if batches are made ahead in one queue, or else None. "
        "There is one executor, which serves all.",
    )
    prefetch_queue_depth: int | dict[str, int] = option(
        "prefetch_queue_depth", "Batches that are made ahead, as it was given."
    )
    max_streams: int = option("max_streams", "1 for one CUDA stream; by default there are two.")
    default_cuda_stream_priority: int = option(
        "default_cuda_stream_priority", "The priority of the CUDA streams."
    )
    set_affinity: bool = option("set_affinity", "Whether each worker thread is bound to a CPU.")
    enable_memory_stats: bool = option(
        "enable_memory_stats", "Whether `executor_statistics` returns any."
    )
    py_num_workers: int = option(
        "py_num_workers", "Processes that run the callbacks of parallel external sources."
    )
    py_start_method: str = option(
        "py_start_method", 'How these processes are started: "fork", "spawn" or "forkserver".'
    )
    stream_policy: StreamPolicy | None = option("stream_policy", "As it was given.")
    concurrency: OperatorConcurrency | None = option("concurrency", "As it was given.")

    # What it answers about itself and its batches.
    output_dtype = facts.output_dtype
    output_ndim = facts.output_ndim
    graph = overridable(facts.graph)
    checkpoint_context = overridable(facts.checkpoint_context)
    quarantine = overridable(facts.quarantine)
    receipt = facts.receipt
    digest = facts.digest
    epoch_size = facts.epoch_size
    reader_meta = facts.reader_meta
    executor_statistics = facts.executor_statistics
    stats = facts.stats
    external_source_shm_statistics = facts.external_source_shm_statistics
    output_stream = facts.output_stream
    explain = facts.explain
    sample = facts.sample
    trace = facts.trace
    diagnose = facts.diagnose
    _repr_svg_ = facts.picture

    # Its files.
    checkpoint = checkpoint
    serialize = saving.serialize
    deserialize_and_build = saving.deserialize_and_build
    save_graph_to_dot_file = saving.save_graph_to_dot_file

    # Runs that are scheduled, beside `run`.
    schedule_run = run_api.schedule_run
    share_outputs = run_api.share_outputs
    release_outputs = run_api.release_outputs
    outputs = run_api.outputs
    enable_api_check = run_api.enable_api_check
    _prefetch = run_api.prefetch

    # The pipeline that records.
    push_current = staticmethod(push_pipeline)
    pop_current = staticmethod(leave_current_pipeline)
    current = staticmethod(current_pipeline)

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
        cache: str | os.PathLike[str] | None = None,
        cache_bytes: int | None = None,
        with_receipt: bool | dict[str, str] | None = None,
        compose_warps: bool = False,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        self._options = check_options(given)
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

    @overridable
    def bytes_per_sample(self) -> int:
        """Memory to reserve before the first batch, for each sample of each result."""
        return self._options.bytes_per_sample

    @overridable
    def enable_checkpointing(self) -> bool:
        """Whether the place after each batch is noted down, for `checkpoint`."""
        return self._options.enable_checkpointing

    @property
    def batch_size(self) -> int:
        """The most samples that a batch has. Raises OperatorValueError if none was given."""
        return self._options.required_batch_size()

    max_batch_size = batch_size

    @property
    def exec_separated(self) -> bool:
        """Whether each stage has a queue of its own depth."""
        return isinstance(self._options.prefetch_queue_depth, dict)

    @property
    def cpu_queue_size(self) -> int:
        """Batches that the stage on the CPU makes ahead."""
        return self._options.depth[0]

    @property
    def gpu_queue_size(self) -> int:
        """Batches that the stages after that on the CPU make ahead."""
        return self._options.depth[1]

    @property
    def num_outputs(self) -> int:
        """The number of outputs of the graph."""
        return len(self._defined())

    @property
    def recorded_graph(self) -> Graph:
        """The graph as it was recorded, before and after the pipeline was built."""
        return self._recorded()

    @property
    def is_restored_from_checkpoint(self) -> bool:
        """Whether the pipeline was built, and goes on from a checkpoint."""
        return self._restored is not None and self._runtime is not None

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
        pipe: Self = saving.files.load(cls, serialized_pipeline, filename, kwargs)
        pipe.build()
        return pipe

    @frameless
    def run(self, cuda_stream: object = None, /, **pipeline_inputs: Any) -> Outputs:
        """The next batch of each output.

        pipeline_inputs: batches for external sources without a source, by their names: what
        `feed_input` takes. The batches of a call stay as they are for as long as they are held;
        scripts for other libraries rely on that until the next call only.

        Raises StopIteration at the end of the data (then call `reset`). Raises GradivaError if a
        sample of this batch failed; the next call goes on with the next batch.
        """
        runtime = self._built()
        runtime.check_stream(cuda_stream)
        self._api_check.use(PipelineAPIType.BASIC)
        if pipeline_inputs:
            feed(runtime.plan, pipeline_inputs, None)
        self._runs.ahead = 0
        self._prepare(runtime)
        return runtime.run(cuda_stream)

    def _run(self) -> None:
        """The old name of `schedule_run`."""
        self.schedule_run()

    _run_once = _run

    @frameless
    def _run_as(self, kind: PipelineAPIType, most: int | None = None) -> Outputs:
        """The next batch, for an iterator; most: of the first so many of its samples, of which
        some may have been left out."""
        runtime = self._built()
        self._api_check.use(kind)
        self._runs.ahead = 0
        self._prepare(runtime)
        return runtime.take() if most is None else runtime.take_first(most)

    @frameless
    def _wait_as(self, kind: PipelineAPIType) -> None:
        """Wait for the first batch, for an iterator, without taking it."""
        runtime = self._built()
        self._api_check.use(kind)
        if type(self).iter_setup is Pipeline.iter_setup:
            runtime.executor.wait()

    def _prepare(self, runtime: PipelineRuntime) -> None:
        """Let the user's `iter_setup` feed: for as many batches as are made ahead, at first."""
        if type(self).iter_setup is not Pipeline.iter_setup:
            runtime.setup.prepare(self.iter_setup, self.cpu_queue_size, self._runs.pending)

    def iter_setup(self) -> None:
        """For subclasses: called once for each batch, before it is made; feeds inputs, usually.

        Raises StopIteration where there is no more data.
        """

    @frameless
    def feed_input(
        self,
        data_node: Any,
        data: Any,
        layout: str | None = None,
        cuda_stream: object = None,
        use_copy_kernel: bool = False,
    ) -> None:
        """Feed the next batch of an external source that has no source of its own.

        data_node: the symbol that `external_source` returned, or its name (`name[1]` for the
        second of several outputs). data: an array with a leading batch axis, a list of arrays, a
        Batch, or an object with DLPack; at most `batch_size` samples; copied, unless the source
        has `no_copy`. layout: of a sample; by default that of the source, or of `data`. Batches
        may be fed ahead: they wait in a queue. use_copy_kernel: has no meaning on the CPU.

        Raises OperatorValueError for an unknown name (a KeyError, too) or too many samples,
        OperatorTypeError for another dtype or rank than was declared or fed before; then nothing
        was fed.
        """
        runtime = self._built()
        runtime.check_stream(cuda_stream)
        feed(runtime.plan, [(self._definition.recorder.known(data_node), data)], layout)

    def input_feed_count(self, input_name: str) -> int:
        """How many batches may be fed before the first run, to fill the queue."""
        self._built()
        return self.cpu_queue_size

    def __iter__(self) -> Iterator[Outputs]:
        """Batches until the end of the data; endless for readers."""
        while True:
            try:
                batches = self.run()
            except StopIteration:
                self.reset()
                return
            yield batches

    def reset(self) -> None:
        """Go to the start of the data again, after its end was reached."""
        if self._runtime is not None and self._runtime.reset():
            self._runs.reset()

    def empty(self) -> bool:
        """Whether no batch is scheduled, or ready and not yet returned."""
        if self._api_check.used is PipelineAPIType.SCHEDULED:
            return self._runs.pending == 0
        return self._runtime is None or not self._runtime.executor.waiting()

    def close(self) -> None:
        """Stop the threads and free the memory. Done at the latest when the object goes; at the end
        of a block, `with training() as pipe:`, for a pipeline that `pipeline_def` has made."""
        self._runs.close()
        if self._runtime is not None:
            self._runtime.executor.close()

    def __del__(self, finalizer_thread: FinalizerThread = finalizer_thread) -> None:
        runtime = getattr(self, "_runtime", None)
        # At the end of the process it is closed already.
        if runtime is not None and not runtime.executor.closed:
            # Not long: a callback that never returns must not hold up the closing of others.
            finalizer_thread.post(runtime.executor.close, 1.0)

    def __repr__(self) -> str:
        return f"<Pipeline, {self._state()}>"

    def _state(self) -> str:
        state = "built" if self._runtime is not None else "not built"
        return f"batch_size={self._options.batch_size}, {state}"
