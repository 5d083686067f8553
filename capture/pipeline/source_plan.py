"""A compiled graph with open sources: makes one batch after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradiva.capture.compiler.caches import recipes_of
from gradiva.capture.graph.graph import Graph, Node, Opaque
from gradiva.capture.graph.liveness import outputs_looked_at, outputs_read
from gradiva.capture.runtime.dropped_samples import BatchOutputs, SampleIndices, in_step
from gradiva.capture.runtime.gpu_streams import DeviceStage, queued
from gradiva.capture.runtime.program import Outputs, Positions, Program, Values
from gradiva.eager.execution.error_policy import keep_rows
from gradiva.eager.execution.quarantine import Quarantine, collecting_in, isolated
from gradiva.eager.runtime.worker_pool import WorkerPool, shared_pool
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    without_frames,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import CPU
from gradiva.eager.types.provenance import Progress
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core.source import EpochPart, Source, SourceOperator

from .epochs import Epochs
from .source_states import SourceStates

if TYPE_CHECKING:
    from gradiva.capture.caches import reads as cache_reads
    from gradiva.capture.receipts.record import BatchRecord, ReceiptMaker
    from gradiva.ops.external_source.workers.pool import ProcessPool
else:  # for few programs
    cache_reads = lazy_module("gradiva.capture.caches.reads")


class Read(NamedTuple):
    """The data that were read for a batch."""

    values: Values
    size: int
    positions: dict[Any, Positions]
    noted: Quarantine
    rows: SampleIndices | None
    """The remaining samples, among all that were to be read; None for all."""
    progress: Progress | None = None
    """That of the source that was read last."""
    number: int = 0
    """How many batches were read before."""


class SourcePlan:
    """A program with open sources: `run` makes the next batch of each output.

    `read` may run in one thread at a time; if not all sources allow `any_thread`, always in the
    same one. `compute` may be called by several threads, each with the data that were read for it.
    stage: for graphs with nodes on a GPU; else None.
    """

    def __init__(
        self,
        graph: Graph,
        batch_size: int,
        seed: int,
        pool: WorkerPool,
        processes: ProcessPool | None = None,
        stage: DeviceStage | None = None,
    ) -> None:
        self.graph = graph
        self.stage = stage
        self.program = Program(graph)
        self.batch_size = batch_size
        self.seed = seed
        self.pool = pool
        self.iteration = 0
        self.epochs: Epochs | None = None
        """Determines the size of the next batch, if batches end with the epochs of a reader."""
        self.quarantine = Quarantine()
        self.sources: dict[Node, Source] = {}
        self.states = SourceStates(self.sources)
        self.receipts: ReceiptMaker | None = None
        for node in graph.nodes:
            if isinstance(node.operator, SourceOperator):
                used = outputs_read(graph, node)
                if node.operator.only_if_read and not used:
                    continue
                self.sources[node] = source = self._open(node, node.operator)
                used, source.counted = outputs_looked_at(graph, node)
                source.used = used if len(used) < len(node.type) else None
                if recipes_of(graph):
                    source.left, source.known = cache_reads.reads_of_caches(graph, node)
        self.processes = processes
        self._aside: SourcePlan | None = None
        self._kept: dict[Node, tuple[Batch, ...]] = {}
        """The data for a batch that will be requested again, because one source has failed."""
        self._noted: Quarantine | None = None
        """The unreadable samples that were recorded for that batch."""
        self._wanted = batch_size
        self._step: int | None = None
        """The number of the batch that is read, where batches end with the epochs of a reader."""
        self._turn = 0
        if processes is not None:
            for node, source in self.sources.items():
                try:
                    source.employ(processes, batch_size)
                except GradivaError as error:
                    raise self.program.locate(error, node) from error.__cause__
            processes.start()

    def _open(self, node: Node, operator: SourceOperator[Any]) -> Source:
        given = {
            name: value.value if isinstance(value, Opaque) else value
            for name, value in node.attributes
        }
        seed = int(given.pop("seed", -1))
        try:
            source = operator.open(operator.attributes(given), self.seed if seed < 0 else seed)
        except GradivaError as error:
            raise self.program.locate(error, node) from error.__cause__
        source.nominal = self.batch_size
        source.expect(self.batch_size)
        if self.stage is not None and node.device == "gpu":
            source.device = self.stage.device
        return source

    @property
    def any_thread(self) -> bool:
        """Whether `read` may be called by a different thread each time."""
        return all(source.any_thread for source in self.sources.values())

    def run(self) -> Outputs:
        """The outputs of the next iteration. Raises GradivaError, or StopIteration at the end."""
        return self.compute(self.read(self.pool))

    def read(self, pool: WorkerPool) -> Read:
        """Read the data for the next iteration. Raises like `run`."""
        values: Values = {}
        noted, self._noted = self._noted or isolated(), None
        try:
            with collecting_in(noted):
                size, rows = self._read(values, pool)
            positions = self._positions(values, size)
            number = self.iteration
            progress = self._progress(values, number)
            self.iteration += 1
        except GradivaError as error:
            if getattr(error, "again", False):
                self._noted = noted
            else:
                self.iteration += 1  # this batch is lost, and the next one is another
            raise
        finally:
            # A batch that is requested again leaves the positions of the sources unchanged.
            self.states.record(self.iteration, moved=not self._kept)
        return Read(values, size, positions, noted, rows, progress, number)

    def compute(self, read: Read) -> Outputs:
        """Compute the outputs from the data. Raises GradivaError."""
        recording = tracing.active
        started = 0 if recording is None else recording.now()
        record: BatchRecord | None = None
        with self.pool.pinned(), collecting_in(read.noted):
            try:
                said = None if self.receipts is None else self._said(self.receipts, read)
                outputs, rows = self._outputs(read)
                if self.receipts is not None and said is not None:
                    record = self.receipts.of_outputs(said, read.number, outputs, self.pool)
            except GradivaError as error:
                # A holder of the error must not keep the results of this batch alive.
                read.values.clear()
                raise without_frames(error) from error.__cause__
        if recording is not None:
            facts = {"batch": recording.number(), "samples": read.size}
            recording.done(self.pool, "batch", "make a batch", started, **facts)
        if rows is None:
            rows = read.rows
        elif read.rows is not None:
            rows = read.rows[rows]
        made = BatchOutputs.of(outputs, read.noted, rows)
        made.record = record
        return made

    def _said(self, receipts: ReceiptMaker, read: Read) -> dict[str, Any]:
        """What the receipt of a batch says of what was read for it."""
        positions = read.positions[None]
        return receipts.of_inputs(
            self.sources, read.values, read.size, positions, read.progress, self.pool
        )

    def _outputs(self, read: Read) -> tuple[Outputs, Positions | None]:
        gpu = CPU if self.stage is None else self.stage.device
        with queued(self.stage) as mark:
            outputs, rows = self.program.run_step(
                *read[:3], self.seed, self.pool, gpu=gpu, progress=read.progress
            )
            mark(outputs)
        return outputs, rows

    def _read(self, values: Values, pool: WorkerPool) -> tuple[int, SampleIndices | None]:
        """Read every source, also after one has failed, so that they stay synchronized."""
        failure: BaseException | None = None
        size: int | None = None
        recording, began = tracing.active, 0
        kept, self._kept = self._kept, {}
        if not kept:
            self._wanted = self.batch_size
            if self.epochs is not None:
                self._wanted = self.epochs.next_size(self.iteration)
                self._step = self.epochs.next_step()
        for node, source in self.sources.items():
            if recording is not None:
                began = recording.start(node.operator.name)
            source.turn = self._turn
            try:
                batches = kept.get(node) or self._read_one(source, pool)
            except GradivaError as error:
                failure = failure or without_frames(self.program.locate(error, node))
                continue
            except StopIteration as stop:
                failure = failure or without_frames(stop)
                continue
            if recording is not None:
                recording.call(self.pool, "source", node.operator.name, began, batches)
            if self.program.statistics is not None:
                self.program.statistics.record(node, batches)
            self._kept[node] = batches
            for output, batch in enumerate(batches):
                values[node, output] = batch
            read = len(batches[0]) if batches[0].valid is None else len(batches[0].valid)
            if size is not None and read != size and failure is None:
                failure = self.program.locate(
                    OperatorValueError(
                        "all sources of a pipeline deliver batches of one size",
                        expected=f"{size} samples",
                        got=f"{read}",
                    ),
                    node,
                )
            size = read if size is None else size
        self._turn += 1
        if failure is not None:
            # The source that has failed will be asked again: the others keep their data.
            self._kept = self._kept if getattr(failure, "again", False) else {}
            try:
                raise failure
            finally:
                del failure  # an error and a frame of its traceback must not refer to each other
        self._kept = {}
        if size is None:
            return self.batch_size, None
        rows = in_step(values)
        return size if rows is None else len(rows), rows

    def _read_one(self, source: Source, pool: WorkerPool) -> tuple[Batch, ...]:
        """The data of one source for this batch."""
        if not source.whole:
            return source.read(self._wanted, pool)
        batches = source.read(self.batch_size, pool)
        if len(batches[0]) <= self._wanted:
            return batches
        return tuple(keep_rows(batch, range(self._wanted)) for batch in batches)

    def _positions(self, values: Values, size: int) -> dict[Any, Positions]:
        """The positions of this batch in each source; under None those of the last source."""
        first = self.iteration * self.batch_size
        found: dict[Any, Positions] = {None: np.arange(first, first + size, dtype=np.int64)}
        for node in self.sources:
            own = values[node, 0].positions
            if own is not None:
                found[node] = found[None] = own
        return found

    def _progress(self, values: Values, number: int) -> Progress:
        """The progress of the source that was read last, for schedules; each batch gets that of its
        source. Steps are the batches of the pipeline, of which this is `number`, where the source
        does not know them, and where batches end with epochs."""
        last = Progress(None, number)
        for (node, output), batch in list(values.items()):
            where = batch.provenance
            if where is None:
                continue
            if where.progress is None or type(where.progress) is Progress:
                last = Progress(self.sources[node].epochs_begun, number)
                # A source may deliver the same batch again.
                made = Batch.over(batch.data, batch.batch_shape, batch.type)
                made.valid, values[node, output] = batch.valid, made
            elif self._step is None:
                last = where.progress
                continue
            else:
                last, made = where.progress.at_step(self._step), batch
            made.provenance = replace(where, progress=last)
        return last

    def one_sample(self, epoch: int, position: int) -> Outputs:
        """The outputs for the sample at this place. Raises GradivaError, as a batch with it would.

        It has sources of its own: those here are read ahead, in another thread.
        """
        if not self.sources:
            raise OperatorTypeError("without a reader samples have no places")
        if self.stage is not None:
            raise OperatorRuntimeError("one sample of a graph with operators on a GPU")
        mixing = next((node for node in self.graph.nodes if node.operator.mixes), None)
        if mixing is not None:
            name = mixing.operator.name
            raise OperatorTypeError(
                f"one sample of a graph with `{name}`, which mixes it with others of its batch"
            )
        if self._aside is None:
            self._aside = SourcePlan(self.graph, 1, self.seed, shared_pool(1))
            for source in self._aside.sources.values():
                source.nominal, source.across = self.batch_size, self.epochs is None
        aside = self._aside
        values: Values = {}
        with collecting_in(isolated()):
            for node, source in aside.sources.items():
                try:
                    batches = source.read_at(epoch, position, aside.pool)
                except GradivaError as error:
                    raise aside.program.locate(error, node) from error.__cause__
                values.update({(node, output): batch for output, batch in enumerate(batches)})
            if all(len(batch) for batch in values.values()):
                positions = aside._positions(values, 1)
                return aside.program.run_step(values, 1, positions, aside.seed, aside.pool)[0]
        raise OperatorRuntimeError(
            f"the sample at position {position} of epoch {epoch} cannot be read, and is left out"
        )

    def read_part(self, part: EpochPart, pool: WorkerPool) -> Read:
        """Read the data for a part of an epoch, independent of the positions of the sources. For
        one thread, and not while `read` runs. Raises GradivaError, as a batch with these samples
        would."""
        values: Values = {}
        noted = isolated()
        with collecting_in(noted):
            for node, source in self.sources.items():
                try:
                    batches = source.read_part(part, pool)
                except GradivaError as error:
                    raise without_frames(self.program.locate(error, node)) from error.__cause__
                values.update({(node, output): batch for output, batch in enumerate(batches)})
        rows = in_step(values)
        size = part.stop - part.start if rows is None else len(rows)
        return Read(values, size, self._positions(values, size), noted, rows)

    def make_receipts(self, maker: ReceiptMaker) -> None:
        """Make a receipt of each batch from now on."""
        self.receipts = maker
        if maker.options.data == "contents":
            for source in self.sources.values():
                source.left = frozenset()  # what a cache has is read, too: its bytes are digested

    def begin_states(self) -> None:
        """Record the states of the sources from now on."""
        self.states.begin(self.iteration)

    def reset(self) -> None:
        """Restart the data."""
        self._kept, self._noted = {}, None
        for source in self.sources.values():
            source.reset()
        self.states.reset(self.iteration)

    def demand(self, number: int) -> None:
        """The user waits for batch `number`: sources that are fed must not wait for it longer."""
        for source in self.sources.values():
            source.demand(number)

    def close(self) -> None:
        for source in self.sources.values():
            source.close()
        if self.processes is not None:
            self.processes.close()

    def close_stage(self) -> None:
        """No thread makes batches any more."""
        if self.stage is not None:
            self.stage.close()
