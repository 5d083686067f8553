"""`BatchProducer`: makes any part of an epoch of a pipeline. It has no position in the data, so
several of them, on any machines, make the same bits."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Any, NamedTuple

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.fingerprint import fingerprint, library_versions
from gradiva.capture.graph.graph import Node
from gradiva.capture.pipeline.debug import DebugPipeline
from gradiva.capture.pipeline.facts import planned_graph
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.source_plan import SourcePlan
from gradiva.capture.runtime.dropped_samples import BatchOutputs
from gradiva.capture.runtime.prefetch import reading_pool
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    describe,
    without_frames,
)
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core.source import EpochPart, Source

from .graph_partition import GraphPartition, prepared, propose, split_at
from .loaded_batch import LoadedBatch, column_of

__all__ = ["BatchProducer", "LoaderFacts"]

_PROBED = 16
"""The number of samples from which the sizes of values are estimated."""


class LoaderFacts(NamedTuple):
    """What trainers know about a pipeline. digest: of its graph, its seed and its data. length: of
    epoch 0; `uneven` if other epochs differ. cut: what loaders send, if trainers do the rest."""

    batch_size: int
    seed: int
    digest: str
    outputs: int
    length: int
    uneven: bool
    moving: bool
    unit: int
    cut: GraphPartition | None = None


class _Sizes:
    """The bytes of all values of a batch."""

    def __init__(self) -> None:
        self.found: dict[tuple[Node, int], int] = {}

    def record(self, node: Node, outputs: Sequence[Batch]) -> None:
        for output, batch in enumerate(outputs):
            self.found[node, output] = batch.nbytes


class BatchProducer:
    """A built pipeline of readers; with `cut`, only the part that loaders compute. Safe from any
    thread. Raises GradivaError for a pipeline whose batches do not depend on the positions of their
    samples alone."""

    def __init__(self, pipe: Pipeline, cut: bool = False) -> None:
        if not isinstance(pipe, Pipeline) or isinstance(pipe, DebugPipeline):
            raise OperatorTypeError(
                argument="pipeline", expected="a pipeline, not in debug mode", got=describe(pipe)
            )
        self.pipe = pipe
        self.plan: SourcePlan = pipe._built().plan
        _check(self.plan)
        self._lock = threading.Lock()
        pool = self.plan.pool
        # A pool of one thread computes in the calling threads, one after the other.
        alone = pool.num_threads == 1
        self._turn: AbstractContextManager[Any] = threading.Lock() if alone else nullcontext()
        self._reading = reading_pool(pool)  # one batch is read while another is computed
        self.cut: GraphPartition | None = None
        if cut:
            self._cut()
        self._facts: LoaderFacts | None = None

    @property
    def _first(self) -> Source:
        return next(iter(self.plan.sources.values()))

    def facts(self) -> LoaderFacts:
        """What it makes. The first call checks the names of all data."""
        with self._lock:
            if self._facts is None:
                source = self._first
                meta = source.meta() or {}
                self._facts = LoaderFacts(
                    self.plan.batch_size,
                    self.plan.seed,
                    self._digest(),
                    len(self.pipe._recorded().outputs),
                    source.whole_length(0),
                    source.uneven,
                    not meta.get("stick_to_shard"),
                    source.unit,
                    self.cut,
                )
            return self._facts

    def _cut(self) -> None:
        """Measure some samples to find where to split the graph, and keep the loader's part."""
        graph, plan = prepared(planned_graph(self.pipe)), self.plan
        sizes = _Sizes()
        whole = SourcePlan(graph, plan.batch_size, plan.seed, plan.pool)
        whole.program.statistics = sizes  # type: ignore[assignment]  # it records as well
        samples = min(_PROBED, self._first.whole_length(0))
        read = whole.read_part(EpochPart(0, 0, samples), self._reading)
        for (node, output), batch in read.values.items():
            sizes.found[node, output] = batch.nbytes
        whole.compute(read)
        self.cut = propose(graph, samples, lambda node, output: sizes.found[node, output])
        loader = optimize(split_at(graph, self.cut.sent)[0])
        self.plan = SourcePlan(loader, plan.batch_size, plan.seed, plan.pool)

    def _digest(self) -> str:
        contents = [source.contents() for source in self.plan.sources.values()]
        sent = None if self.cut is None else self.cut.sent
        graph = self.pipe._recorded()
        said = [fingerprint(graph), library_versions(graph), self.plan.seed, contents, sent]
        said += ["compose_warps"] if self.pipe._options.compose_warps else []
        text = json.dumps(said, sort_keys=True, default=str)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def length(self, epoch: int) -> int:
        """The number of samples in an epoch of the whole data set."""
        with self._lock:
            return self._first.whole_length(epoch)

    def make(self, part: EpochPart, digest: str | None = None) -> LoadedBatch:
        """The outputs for these positions, or the error that was raised.

        digest: of what was made before; the data must be the same.
        """
        started = time.perf_counter()
        try:
            if digest is not None and self.facts().digest != digest:
                raise OperatorRuntimeError(
                    "a loader has another graph or other data than those that the pool began with, "
                    "or other versions of the libraries that compute its values",
                    expected=f"the digest {digest}",
                    got=self.facts().digest,
                )
            with self._lock:
                read = self.plan.read_part(part, self._reading)
            with self._turn:
                outputs = self.plan.compute(read)
        except GradivaError as error:
            return LoadedBatch(error=without_frames(error), seconds=time.perf_counter() - started)
        known = next((one for one in outputs if one.provenance is not None), None)
        made = LoadedBatch(tuple(column_of(batch) for batch in outputs), read.positions[None])
        if known is not None and known.provenance is not None:
            where = known.provenance
            names = None if where.names is None else list(where.names)
            made = made._replace(
                positions=where.positions,
                indices=where.indices,
                names=names,
                progress=where.progress,
            )
        if isinstance(outputs, BatchOutputs) and outputs.record is not None:
            made = made._replace(receipt=outputs.record.receipt)
        return made._replace(noted=list(read.noted), seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Stop the threads."""
        self.pipe.close()
        self._reading.close()


def _check(plan: SourcePlan) -> None:
    """Raise GradivaError for sources that cannot make an arbitrary part of an epoch."""
    sources = plan.sources
    if not sources:
        raise OperatorTypeError(
            "loaders need a reader in the pipeline: its samples say which batch is which",
            argument="pipeline",
        )
    lengths: dict[int, str] = {}
    for node, source in sources.items():
        problem = _problem(source)
        if problem is not None:
            raise plan.program.locate(OperatorValueError(problem, argument="pipeline"), node)
        lengths.setdefault(source.whole_length(0), node.operator.name)
    if len(lengths) > 1:
        raise OperatorValueError(
            "readers of a pipeline for loaders go together, sample by sample",
            argument="pipeline",
            expected="readers with equally many samples",
            got=", ".join(f"{name} with {length}" for length, name in lengths.items()),
        )
    if plan.program.has_side_effects:
        raise OperatorValueError(
            "a pipeline for loaders computes batches in any order, and some of them twice: it can "
            "have no operators with effects",
            argument="pipeline",
        )


def _problem(source: Source) -> str | None:
    """Why this source cannot make an arbitrary part of an epoch."""
    plans: Sequence[Any] = source.plans(1)
    if not plans:
        return "only readers know which sample stands where; an external source does not"
    if (source.meta() or {}).get("number_of_shards", 1) > 1:
        return "the reader of a loader has the whole data set: leave `num_shards` out"
    plan = plans[0] if source.shared_steps is None else source.shared_steps.common
    if plan.bucketed:
        return "loaders know no buckets"
    if plan.for_batches(1, 0) != plan.for_batches(2, 0):
        return "this order depends on the batch size, which differs between numbers of trainers"
    return None
