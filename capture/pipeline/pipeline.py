"""`Pipeline`: a captured function as an asynchronous, prefetching pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gradiva.eager.runtime.finalizer_thread import FinalizerThread, finalizer_thread
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    frameless,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.validation import integer

from .checkpoint import checkpoint
from .feed_input import feed
from .outputs import Outputs
from .properties import PipelineProperties
from .run_api import PipelineAPIType
from .runtime import PipelineRuntime

if TYPE_CHECKING:
    from typing_extensions import Self

    from gradiva.eager.values.tensor import Tensor

    from . import diagnosis
    from . import timeline as timelines
else:  # for few programs
    diagnosis = lazy_module("gradiva.capture.pipeline.diagnosis")
    timelines = lazy_module("gradiva.capture.pipeline.timeline")

__all__ = ["Pipeline"]

# These, too, are for few programs: the others do not wait for them.
dot = lazy_module("gradiva.capture.serialization.dot")
files = lazy_module("gradiva.capture.serialization.files")


class Pipeline(PipelineProperties):
    """A graph of operators that runs again and again, and prefetches.

    batch_size: samples per batch, at most (a source may deliver fewer). It may be left out until
        the pipeline is built.
    num_threads: threads that work on a batch; by default the cores this process may use.
    device_id: the GPU of operators with device="gpu", the first one by default (None). A pipeline
        without such operators uses none.
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

    Raises OperatorValueError or OperatorTypeError for arguments that make no sense. Usually made
    by a function decorated with `pipeline_def`; by hand: `with pipe: pipe.set_outputs(...)`, or in
    a subclass by `define_graph`.
    """

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

    def _prefetch(self) -> None:
        """Build, and ask for as many batches as are made ahead: for `run`, or for `share_outputs`
        without a `schedule_run` for each. Iterators that people have written call it."""
        runtime = self._built()
        runtime.executor.begin()
        with suppress(StopIteration):  # `share_outputs` says so where the batch is missing
            self._prepare(runtime)
        self._runs.ahead += self.cpu_queue_size

    def _run(self) -> None:
        """The old name of `schedule_run`."""
        self.schedule_run()

    _run_once = _run

    @frameless
    def schedule_run(self) -> None:
        """Ask for one more batch, without waiting for it: `share_outputs` returns it, or raises
        StopIteration where the data have ended."""
        runtime = self._built()
        self._api_check.use(PipelineAPIType.SCHEDULED)
        try:
            self._prepare(runtime)
        except StopIteration:
            return  # `share_outputs` says so where the batch is missing
        self._runs.schedule()

    @frameless
    def share_outputs(self, cuda_stream: object = None) -> Outputs:
        """Wait for the next batch that was scheduled. It is in use until `release_outputs`.

        Raises what `run` raises; OperatorRuntimeError if no batch was scheduled.
        """
        runtime = self._built()
        runtime.check_stream(cuda_stream)
        self._api_check.use(PipelineAPIType.SCHEDULED)
        return self._runs.share(runtime, cuda_stream)

    def release_outputs(self) -> None:
        """Give back the batch that was shared first; without effect if there is none."""
        self._built()
        self._api_check.use(PipelineAPIType.SCHEDULED)
        self._runs.release()

    @frameless
    def outputs(self, cuda_stream: object = None) -> Outputs:
        """`release_outputs`, then `share_outputs`."""
        self.release_outputs()
        return self.share_outputs(cuda_stream)

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

    def enable_api_check(self, enable: bool) -> None:
        """Whether mixing `run` with `schedule_run`, `share_outputs` and `release_outputs`, or with
        an iterator of a framework, raises. It does by default; without it, each call goes on
        with the next batch."""
        self._api_check.enabled = bool(enable)

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

    def trace(
        self, path: str | os.PathLike[str] | None = None, batches: int = 10
    ) -> timelines.Timeline:
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
        timeline = timelines.record_timeline(self._built().executor, batches)
        if timeline.ended:
            self.reset()
        if path is not None:
            timeline.save(path)
        return timeline

    def diagnose(
        self, seconds: float = 10.0, consumer: Callable[[Outputs], object] | None = None
    ) -> diagnosis.Diagnosis:
        """Run for so many seconds, throw the batches away, and say what holds the pipeline back.

        consumer: what your loop does with a batch, called with each; without it, batches are taken
        as fast as they come. Where the data end, they begin again. The result prints as a sentence
        that names the bottleneck with what removing it could gain, and as tables of the parts and
        of the operators; `to_json()` is for programs. Some batches are taken before, in which
        kernels are compiled.

        Raises what `run` and the consumer raise; OperatorValueError for `seconds` that are not
        positive, or if there are no data; OperatorRuntimeError while a trace is being recorded.
        """
        if not seconds > 0:
            raise OperatorValueError(
                operator="Pipeline.diagnose",
                argument="seconds",
                expected="a positive number",
                got=repr(seconds),
            )
        runtime = self._built()

        def take() -> Outputs:
            try:
                self._prepare(runtime)
                return runtime.take()
            except StopIteration:
                self.reset()
            try:
                return runtime.take()
            except StopIteration:
                raise OperatorValueError(
                    "there are no data", operator="Pipeline.diagnose", argument="seconds"
                ) from None

        return diagnosis.diagnose(runtime.executor, take, seconds, consumer)

    def checkpoint(
        self, filename: str | os.PathLike[str] | None = None, context: dict[str, Any] | None = None
    ) -> bytes:
        """The place of this pipeline after the last batch that was returned, for the argument
        `checkpoint` of a pipeline with the same graph, which goes on from there bit by bit.

        filename: a file to write it to as well, atomically; the one before it is kept as
        `<filename>.previous`. context: data of your own (numbers, strings, lists, dicts, arrays)
        to be saved with it, found in `checkpoint_context` of the restored pipeline.

        Raises OperatorRuntimeError if the pipeline was made without enable_checkpointing=True, a
        source cannot tell its state, or the file cannot be written; OperatorTypeError for a state
        or context that is no plain data.
        """
        executor = self._built().executor
        with annotate_error("Pipeline.checkpoint"):
            states, ended = executor.source_states()
            return checkpoint(executor.plan, states, ended, self._recorded(), filename, context)

    @frameless
    def sample(self, epoch: int, position: int) -> tuple[Tensor, ...]:
        """One sample, computed again: the outputs for the sample at `position`, counted from 0, in
        the order of an epoch of the whole data set, in whatever shard. Batches carry numbers
        `epoch * samples in an epoch + position`, as `positions`. Batches that are made ahead, and
        the place of the pipeline, stay as they are.

        The bits are those of the sample in its batch, but for operators that combine the samples
        of a batch. Raises GradivaError as the batch did, and OperatorTypeError for a pipeline with
        other sources than readers.
        """
        with annotate_error("Pipeline.sample"):
            names = ("epoch", epoch), ("position", position)
            place = [
                integer(value, 0, argument=name, expected="a number from 0 on", limits="0 and more")
                for name, value in names
            ]
            outputs = self._built().plan.one_sample(*place)
            if not len(outputs[0]):
                raise OperatorRuntimeError("an operator has left the sample out")
            return tuple(output.select(0) for output in outputs)

    def serialize(
        self, define_graph: Any = None, filename: str | os.PathLike[str] | None = None
    ) -> bytes:
        """The pipeline as the bytes of a file that other libraries read, too; see docs/pipeline.md.

        define_graph: a function to call for the graph, if there is none yet. filename: where to
        write the bytes; a file that is there is replaced as a whole. Raises OperatorTypeError or
        OperatorValueError, with the operator and its line, for what has no place in a file.
        """
        if define_graph is not None:
            self._define_by(define_graph)
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
        self._check_unbuilt()
        stored = files.build_from(self, serialized_pipeline)
        self._options = self._options.with_stored(stored.batch_size, stored.num_threads)
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
        text = dot.operator_dot(self._graph(), show_tensors, bool(show_ids), use_colors)
        data = text.encode("utf-8", "surrogateescape")  # names of files among it
        files.write_file(filename, data, "Pipeline.save_graph_to_dot_file")
