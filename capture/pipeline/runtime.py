"""`PipelineRuntime`: a pipeline that was built, and makes batches."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Graph
from gradiva.capture.graph.liveness import outputs_read
from gradiva.capture.runtime.gpu_streams import DeviceStage, check_gpu
from gradiva.capture.runtime.memory_statistics import MemoryStatistics
from gradiva.capture.runtime.preallocate import preallocate
from gradiva.capture.runtime.program import Program
from gradiva.eager.random.default_generator import default
from gradiva.eager.runtime.memory_settings import settings
from gradiva.eager.runtime.worker_pool import shared_pool
from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    OperatorTypeError,
    annotate_error,
    describe,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import Device, check_device
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.poison import mark_in_use
from gradiva.eager.values.tensor import Tensor
from gradiva.ops.readers.core.source import EpochPart, Source, SourceOperator

from .checkpoint import Restored
from .epochs import Epochs
from .executor import Executor
from .options import PipelineOptions
from .outputs import Outputs, release, to_output
from .source_plan import SourcePlan

if TYPE_CHECKING:
    from gradiva.capture.caches import epoch_rates
    from gradiva.capture.caches import places as cache_places
    from gradiva.capture.compiler import compose_warps as composing
    from gradiva.capture.receipts import receipt as receipt_forms
    from gradiva.capture.receipts import record as receipts
    from gradiva.ops.external_source.workers.pool import ProcessPool

__all__ = ["PipelineRuntime", "SetupCalls", "build_runtime"]

# They are for few programs: the import of gradiva does not wait for them.
processes = lazy_module("gradiva.ops.external_source.workers.pool")
if not TYPE_CHECKING:
    cache_places = lazy_module("gradiva.capture.caches.places")
    composing = lazy_module("gradiva.capture.compiler.compose_warps")
    epoch_rates = lazy_module("gradiva.capture.caches.epoch_rates")
    receipt_forms = lazy_module("gradiva.capture.receipts.receipt")
    receipts = lazy_module("gradiva.capture.receipts.record")

_NO_STREAM = (None, 0, -1)
_INPUTS = str, bytes, list, tuple, dict, np.ndarray, Batch, Tensor
"""What is no stream, but may be meant as an input."""


def build_runtime(
    recorded: Graph,
    options: PipelineOptions,
    declared: Sequence[SampleType],
    gpu: Device,
    restored: Restored | None,
) -> PipelineRuntime:
    """Compile the graph, open its sources, and start its processes.

    declared: the types of the outputs. restored: the checkpoint to go on from. Raises GradivaError
    for a graph or options that make no sense; then nothing is left running.
    """
    check_types(declared, [edge.node.type[edge.output] for edge in recorded.outputs])
    batch_size, seed = options.required_batch_size(), options.seed
    if restored is not None:
        with annotate_error("Pipeline"):
            restored.check(recorded, batch_size, seed, options.compose_warps)
        seed = restored.seed
    program = Program(recorded)
    on_gpu = check_gpu(recorded, gpu, program.locate)
    planned = composing.compose_warps(recorded) if options.compose_warps else recorded
    graph = optimize(_with_caches(planned, options, on_gpu))
    _warn_of_unread(graph)
    cpu_depth, gpu_depth = options.depth
    stage = None
    if on_gpu:
        # Batches take turns on two streams, so that one is copied while another is computed.
        streams = 1 if options.max_streams == 1 else 2
        stage = DeviceStage(gpu, gpu_depth, streams, options.default_cuda_stream_priority)
    preallocate(graph, batch_size, options.bytes_per_sample, cpu_depth, stage)
    pool = options.worker_pool()
    workers = _process_pool(graph, options)
    try:
        inherited = default.inherited_seed if seed is None else seed
        plan = SourcePlan(graph, batch_size, inherited, pool, workers, stage)
        if options.enable_memory_stats:
            plan.program.statistics = MemoryStatistics(graph)
        ended = False
        if restored is not None:
            with annotate_error("Pipeline"):
                ended = restored.put_into(plan)
        if options.enable_checkpointing:
            plan.begin_states()
        if options.with_receipt is not None:
            plan.make_receipts(
                receipts.ReceiptMaker(planned, options.with_receipt, inherited, batch_size)
            )
        threaded = options.exec_async and options.exec_pipelined
        executor = Executor(plan, gpu_depth if on_gpu else cpu_depth, threaded)
        executor.begin_at(ended)
    except BaseException:
        # Nobody will use them, and `build` may be called again.
        if workers is not None:
            workers.close()
        raise
    return PipelineRuntime(executor, lambda _: declared, gpu, restored is not None)


def _with_caches(recorded: Graph, options: PipelineOptions, on_gpu: bool) -> Graph:
    """The graph with caches where they save most, if the pipeline is to have any."""
    if options.cache is None:
        return recorded
    seed = default.inherited_seed if options.seed is None else options.seed
    pool, size = shared_pool(options.num_threads), options.required_batch_size()
    count = min(size, cache_places.MEASURED)

    def read(graph: Graph) -> cache_places.Samples | None:
        if on_gpu or any(node.attribute("parallel") for node in graph.nodes):
            return None
        plan = SourcePlan(graph, count, seed, pool)
        try:
            read = plan.read_part(EpochPart(0, 0, count), pool)
            lengths = [source.epoch_length() for source in plan.sources.values()]
        finally:
            plan.close()
        length = next((one for one in lengths if one is not None), None)
        return cache_places.Samples(read.values, read.size, read.positions, length)

    return cache_places.with_caches(recorded, options.cache, pool, seed, read)


def _warn_of_unread(graph: Graph) -> None:
    """Warn, at the line of an external source, of outputs that are made for nothing."""
    for node in graph.nodes:
        if not isinstance(node.operator, SourceOperator) or not node.operator.only_if_read:
            continue
        used, lines = outputs_read(graph, node), graph.locations.get(node, ())
        unread = [str(output) for output in range(len(node.type)) if output not in used]
        if used and unread and lines and node.attribute("source") is not None:
            several = "outputs {} are" if len(unread) > 1 else "output {} is"
            text = (
                f"{node.operator.name}: {several.format(', '.join(unread))} not used, of "
                f"{len(node.type)} that {node.attribute('source')!r} makes: it need not make them"
            )
            warnings.warn_explicit(text, UserWarning, lines[0].code.co_filename, lines[0].line)


def _process_pool(graph: Graph, options: PipelineOptions) -> ProcessPool | None:
    """The processes of parallel external sources, if there are any."""
    if not any(node.attribute("parallel") and outputs_read(graph, node) for node in graph.nodes):
        return None
    pool: ProcessPool = processes.ProcessPool(
        options.py_num_workers, options.py_start_method, None, options.py_callback_pickler
    )
    return pool


class SetupCalls:
    """Calls of the user's `iter_setup`, and the batches that it prepared, since the last reset."""

    def __init__(self) -> None:
        self.ended = False
        """Whether `iter_setup` has raised StopIteration."""
        self._prepared = self._taken = 0

    @property
    def exhausted(self) -> bool:
        """Whether all batches that were prepared are taken, and there will be no more."""
        return self.ended and self._taken >= self._prepared

    def prepare(self, iter_setup: Callable[[], None], ahead: int, scheduled: int) -> None:
        """Call `iter_setup` for the next batch, and at first for `ahead` batches. scheduled: how
        many batches are asked for. Raises StopIteration where there is none for this call."""
        wanted = 1 if self._prepared else ahead
        for _ in range(0 if self.ended else wanted):
            try:
                iter_setup()
            except StopIteration:
                self.ended = True
                break
            self._prepared += 1
        if self.ended and self._taken + scheduled >= self._prepared:
            raise StopIteration

    def take(self) -> None:
        """A batch was taken, or its error."""
        self._taken += 1

    def reset(self) -> None:
        """The data begin again."""
        self.ended = False
        self._prepared = self._taken = 0


class PipelineRuntime:
    """The plan, the executor and the processes of a pipeline, and where it is in its data.

    declared: the types of so many outputs. from_checkpoint: whether it goes on from one.
    """

    def __init__(
        self,
        executor: Executor,
        declared: Callable[[int], Sequence[SampleType]],
        gpu: Device,
        from_checkpoint: bool,
    ) -> None:
        self.executor = executor
        self.plan = executor.plan
        self.setup = SetupCalls()
        self._declared = declared
        self._gpu = gpu
        self._from_checkpoint = from_checkpoint
        self._in_use: Outputs = ()
        self.receipt: receipt_forms.Receipt | None = None
        """That of the last batch that was taken, where the pipeline makes receipts."""
        self.rates = epoch_rates.EpochRates(partial(_epoch_length, executor.plan))

    @property
    def processes(self) -> ProcessPool | None:
        """The processes of parallel external sources."""
        return self.plan.processes

    def run(self, cuda_stream: Any) -> Outputs:
        """The next batch of each output; the one before is not in use any more."""
        release(self._in_use)
        outputs = self.take()
        self.order_stream(cuda_stream, outputs)
        # Held only to be poisoned: else it is the user's alone, for as long as it is wanted.
        self._in_use = outputs if settings.poison else ()
        return outputs

    def take(self) -> Outputs:
        """The next batch of each output. Raises what making it raised, StopIteration at the end of
        the data, OperatorTypeError for outputs that are not what was declared."""
        if self.setup.exhausted:
            raise StopIteration
        asked = time.perf_counter()
        try:
            batches = self.executor.get()
        except StopIteration:
            raise
        except BaseException:
            self.setup.take()
            raise
        self.setup.take()
        check_types(self._declared(len(batches)), [batch.type for batch in batches])
        self.rates.took(len(batches[0]) if batches else 0, asked)
        outputs = tuple(to_output(mark_in_use(batch)) for batch in batches)
        record = self.executor.record
        if record is None:
            return outputs
        self.receipt = record.receipt
        return receipt_forms.WithReceipt.of(outputs, record.receipt)

    def take_first(self, most: int) -> Outputs:
        """The next batch, of the first `most` of its samples, of which some may have been left
        out."""
        outputs, rows = self.take(), self.executor.rows
        if rows is None:
            rows = np.arange(len(outputs[0]))
        kept = np.flatnonzero(rows < most).tolist()
        first = tuple(to_output(batch.select(kept)) for batch in outputs)
        record = self.executor.record
        if record is None:
            return first
        self.receipt = record.select(kept)
        return receipt_forms.WithReceipt.of(first, self.receipt)

    def check_stream(self, cuda_stream: object) -> None:
        """Raise OperatorTypeError for what is no CUDA stream, such as an input, and
        OperatorRuntimeError for one where no output is on a GPU; but the default stream is no wish.
        """
        if isinstance(cuda_stream, _INPUTS):
            raise OperatorTypeError(
                operator="Pipeline",
                argument="cuda_stream",
                expected="a CUDA stream; inputs are given by name: `run(name=data)`",
                got=describe(cuda_stream),
            )
        if cuda_stream not in _NO_STREAM and self.plan.stage is None:
            with annotate_error("Pipeline"):
                check_device(self._gpu)

    def order_stream(self, cuda_stream: Any, outputs: Outputs) -> None:
        """Let what the stream is given from now on come after the work on these outputs."""
        if not (cuda_stream is None or cuda_stream == -1) and self.plan.stage is not None:
            with annotate_error("Pipeline"):
                self.plan.stage.precede(cuda_stream, outputs)

    def readers(self) -> dict[str, Source]:
        """The sources that know the size of their data, by name."""
        found: dict[str, Source] = {}
        for node, source in self.plan.sources.items():
            if source.meta() is not None:
                key = base = self.plan.graph.names.get(node) or node.operator.name
                number = 1
                while key in found:
                    number += 1
                    key = f"{base}_{number}"
                found[key] = source
        return found

    def batches_before(self) -> int:
        """How many batches were made before the checkpoint that this pipeline goes on from."""
        return self.plan.iteration if self._from_checkpoint and not self.executor.started else 0

    def follow(self, epochs: Epochs) -> None:
        """Let batches end with the epochs of a reader. Raises OperatorRuntimeError after the first
        batch."""
        self.check_unused()
        self.plan.epochs = epochs

    def check_unused(self) -> None:
        """Raise OperatorRuntimeError after the first batch."""
        if self.executor.started:
            raise OperatorRuntimeError(
                "the pipeline was run before: its batches do not end with the reader's epochs; "
                "make a new pipeline for the iterator"
            )

    def begin_at(self, epoch: int, iteration: int) -> None:
        """Let the readers begin with this epoch, and count batches on from `iteration`. Only before
        the first batch."""
        for reader in self.readers().values():
            for _ in range(epoch):
                reader.skip_epoch()
        self.plan.iteration = iteration
        self.plan.states.reset(iteration)

    def go_to(self, epoch: int, place: int) -> None:
        """Let the readers go on there; they share steps with those of other processes. Batches that
        were made ahead are thrown away."""

        def go() -> None:
            for reader in self.readers().values():
                reader.go_to(epoch, place)
            self.plan.reset()

        self.executor.forget(go)

    def reset(self) -> bool:
        """Go to the start of the data again, if its end was reached. Returns whether it was."""
        if not (self.executor.reset() or self.setup.exhausted):
            return False
        self.setup.reset()
        return True


def _epoch_length(plan: SourcePlan) -> int | None:
    """The samples in an epoch of the first reader, if there is one."""
    readers = (source for source in plan.sources.values() if source.meta() is not None)
    return next((source.epoch_length() for source in readers), None)


def check_types(declared: Sequence[SampleType], actual: Sequence[SampleType]) -> None:
    """Raise OperatorTypeError for an output that is not what was declared; unknown fields pass."""
    for index, (wanted, found) in enumerate(zip(declared, actual, strict=True)):
        for name, expected, got in (
            ("output_dtype", wanted.dtype, found.dtype),
            ("output_ndim", wanted.ndim, found.ndim),
            ("output_layout", wanted.layout, found.layout),
        ):
            if expected is not None and got is not None and expected != got:
                with annotate_error("Pipeline"):
                    raise OperatorTypeError(
                        f"output {index} is not what was declared",
                        argument=name,
                        expected=str(expected),
                        got=str(got) or "no layout",
                    )
