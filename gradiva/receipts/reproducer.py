"""Batches made again from their receipts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Graph, Node
from gradiva.capture.pipeline.debug import DebugPipeline
from gradiva.capture.pipeline.facts import planned_graph
from gradiva.capture.pipeline.outputs import Outputs, to_output
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.source_plan import Read, SourcePlan
from gradiva.capture.receipts.comparison import (
    Finding,
    changed_data,
    changed_graph,
    changed_outputs,
    changed_samples,
    changed_versions,
)
from gradiva.capture.receipts.digests import sample_digests, type_text
from gradiva.capture.receipts.options import ReceiptOptions
from gradiva.capture.receipts.receipt import Receipt, ReceiptError
from gradiva.capture.receipts.record import identities_of, outputs_of, used_outputs, versions_of
from gradiva.capture.runtime.dropped_samples import in_step
from gradiva.capture.runtime.gpu_streams import DeviceStage, check_gpu
from gradiva.eager.contexts.checkpoint_files import UNFIT_VALUES
from gradiva.eager.execution.quarantine import collecting_in, isolated
from gradiva.eager.runtime.worker_pool import shared_pool
from gradiva.eager.support.errors import (
    GradivaError,
    OperatorTypeError,
    OperatorValueError,
    SampleDataError,
    annotate_error,
    describe,
)
from gradiva.eager.types.provenance import Progress
from gradiva.eager.values.batch import Batch
from gradiva.ops.readers.core.source import SamplesAgain, Source

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Reproducer", "Reproduction", "reproduce"]

Values = dict[tuple[Node, int], Batch]


@dataclass(frozen=True)
class Reproduction:
    """A batch that was made again.

    outputs: None where it could not be made. same: whether all outputs have the bits of the
    receipt. findings: the inputs that have changed.
    """

    receipt: Receipt
    outputs: Outputs | None
    same: bool
    findings: tuple[Finding, ...]

    @property
    def reproduced(self) -> bool:
        """Whether the outputs have the same bits, and come from the same graph and contents."""
        return self.same and all(one.harmless for one in self.findings)

    def __str__(self) -> str:
        said = "reproduced" if self.reproduced else "not reproduced"
        lines = [f"{self.receipt.hex()[:16]}  {said}", *(f"  {one}" for one in self.findings)]
        if not self.same and not self.findings:
            lines.append("  outputs: they differ, although nothing that the receipt names does")
        return "\n".join(lines)


def reproduce(receipt: Receipt | str | bytes, pipeline: Pipeline) -> Reproduction:
    """Make a batch again, and compare its inputs and outputs with a receipt.

    receipt: what `Pipeline.receipt` has returned, or its line of JSON. pipeline: one with the same
    graph, not in debug mode, of which only the definition is used: batch size, seed, threads and
    shards may be others, and its place in the data does not matter.

    Raises ReceiptError for what is no receipt; OperatorTypeError for what is no pipeline, and for
    batches of sources that cannot go back.

    Example:
        found = gradiva.receipts.reproduce(line, training())
        assert found.reproduced, found
    """
    with Reproducer(pipeline) as maker:
        return maker.reproduce(receipt)


class Reproducer:
    """Makes batches of a pipeline again, from their receipts. For several receipts it opens the
    data once. num_threads: by default those of the pipeline."""

    def __init__(self, pipeline: Pipeline, num_threads: int | None = None) -> None:
        with annotate_error("reproduce"):
            if not isinstance(pipeline, Pipeline) or isinstance(pipeline, DebugPipeline):
                raise OperatorTypeError(
                    argument="pipeline",
                    expected="a pipeline, not in debug mode",
                    got=describe(pipeline),
                )
            self._pipe = pipeline
            self._recorded: Graph = planned_graph(pipeline)
        self._pool = shared_pool(num_threads or pipeline.num_threads)
        self._plan: SourcePlan | None = None
        self._replayed: dict[Node, int] = {}
        """How many batches were read of sources that cannot go back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the data, and free the streams of a GPU; also at the end of a `with` block."""
        plan, self._plan = self._plan, None
        if plan is not None:
            plan.close()
            plan.close_stage()

    def reproduce(self, receipt: Receipt | str | bytes) -> Reproduction:
        """See the function of this name."""
        with annotate_error("reproduce"):
            given = receipt if isinstance(receipt, Receipt) else Receipt.read(receipt)
            findings: list[Finding] = []
            if given.edited:
                findings.append(Finding("receipt", "its line was edited after it was written"))
            changed = changed_graph(given, self._recorded)
            if changed is not None:
                findings.append(changed)
            findings += changed_versions(given.made_by, versions_of(self._recorded))
            if changed is not None:
                return Reproduction(given, None, False, tuple(findings))
            own = self._pipe.seed
            if own is not None and own != given.batch["seed"]:
                said = (
                    f"the pipeline has {own}; that of the receipt, {given.batch['seed']}, is used"
                )
                findings.append(Finding("seed", said, True))
            try:
                outputs = self._made(given, findings)
            except UNFIT_VALUES as error:
                if isinstance(error, GradivaError):
                    raise
                raise ReceiptError(f"the receipt makes no sense: {error!r}") from None
            if outputs is None:
                return Reproduction(given, None, False, tuple(findings))
            batch = given.batch
            now = [
                (type_text(one), sample_digests([one], batch["hash"], self._pool))
                for one in outputs
            ]
            differ = [*changed_outputs(batch["outputs"], outputs_of(now, batch["hash"]))]
            shown = tuple(to_output(one) for one in outputs)
            return Reproduction(given, shown, not differ, (*findings, *differ))

    def _made(self, receipt: Receipt, findings: list[Finding]) -> tuple[Batch, ...] | None:
        """The outputs, or None if samples cannot be read."""
        batch, plan = receipt.batch, self._opened(receipt)
        options = ReceiptOptions.checked({"data": batch["data"], "hash": batch["hash"]})
        assert options is not None
        said = batch["sources"]
        if len(said) != len(plan.sources):
            raise ReceiptError("the receipt has other sources than the graph")
        values: Values = {}
        noted = isolated()
        with collecting_in(noted):
            for (node, source), one in zip(plan.sources.items(), said, strict=True):
                name = node.operator.name
                if (data := changed_data(name, one["data"], source.contents())) is not None:
                    findings.append(data)
                try:
                    batches = self._read(node, source, one, receipt)
                except (SampleDataError, OperatorValueError) as error:
                    if isinstance(error, ReceiptError):
                        raise
                    findings.append(_unreadable(name, error))
                    return None
                values.update({(node, output): made for output, made in enumerate(batches)})
        if in_step(values) is not None:
            findings += [Finding("file", f"{one.file}: {one.reason}") for one in noted]
            return None
        names = receipt.made_by.get("names", [[]] * len(said))
        for (node, source), one, own in zip(plan.sources.items(), said, names, strict=True):
            findings += self._changed(node, source, values, one, own, options)
        try:
            outputs = self._computed(plan, values, batch)
        except SampleDataError as error:
            findings.append(_unreadable(error.operator or "", error))
            return None
        kept = batch.get("kept")
        return outputs if kept is None else tuple(made.select(kept) for made in outputs)

    def _computed(self, plan: SourcePlan, values: Values, batch: Any) -> tuple[Batch, ...]:
        size = batch["samples"]
        positions: dict[Any, Any] = {None: np.array(batch.get("positions", ()), np.int64)}
        progress = Progress(None, batch.get("step"))
        for node in plan.sources:
            where = values[node, 0].provenance
            assert where is not None
            assert where.progress is not None
            positions[node] = positions[None] = where.positions
            progress = where.progress
        read = Read(values, size, positions, isolated(), None, progress)
        return tuple(plan.compute(read))

    def _opened(self, receipt: Receipt) -> SourcePlan:
        """The compiled graph with open sources."""
        seed, size = receipt.batch["seed"], int(receipt.made_by.get("batch_size") or 1)
        plan = self._plan
        if plan is None or (plan.seed, plan.batch_size) != (seed, size) or self._is_past(receipt):
            stage = None
            gpu = self._pipe._definition.gpu
            self.close()
            if check_gpu(self._recorded, gpu, lambda error, _: error):
                stage = DeviceStage(gpu, 1, 1)
            graph = optimize(self._recorded)
            self._plan = plan = SourcePlan(graph, size, seed, self._pool, None, stage)
            for source in plan.sources.values():
                source.left = frozenset()
            self._replayed = {}
        return plan

    def _is_past(self, receipt: Receipt) -> bool:
        """Whether a source that cannot go back has delivered a batch already."""
        number = receipt.made_by.get("batch")
        return any(read > (number or 0) for read in self._replayed.values())

    def _read(self, node: Node, source: Source, said: Any, receipt: Receipt) -> tuple[Batch, ...]:
        """The samples of a source, with the places that they had."""
        progress = _NotedProgress(said, receipt)
        positions = np.array(said["positions"], np.int64)
        if type(source).read_again is not Source.read_again:
            indices = np.array(said["indices"], np.int64)
            batches = source.read_again(SamplesAgain(indices, positions, progress), self._pool)
        else:
            batches = self._replay(node, source, receipt)
        places = None if said.get("places") is None else np.array(said["places"], np.int64)
        for made in batches:
            if made.provenance is not None:
                made.provenance = replace(made.provenance, progress=progress, places=places)
        return batches

    def _replay(self, node: Node, source: Source, receipt: Receipt) -> tuple[Batch, ...]:
        """The batch of a source that cannot go back: it is read from the beginning."""
        if node.attribute("source") is None:
            raise OperatorTypeError(
                "the batch was fed with `feed_input`: only the program that fed it has the data",
                operator=node.operator.name,
            )
        number = int(receipt.made_by["batch"])
        for turn in range(self._replayed.get(node, 0), number + 1):
            source.turn = turn
            try:
                batches = source.read(receipt.made_by["batch_size"], self._pool)
            except StopIteration:
                source.reset()
                batches = source.read(receipt.made_by["batch_size"], self._pool)
        self._replayed[node] = number + 1
        return batches

    def _changed(
        self,
        node: Node,
        source: Source,
        values: Values,
        said: Any,
        before: list[str],
        options: ReceiptOptions,
    ) -> Iterator[Finding]:
        """The samples of a source that have changed. before: the names of their files."""
        was = list(said["identities"])
        now = identities_of(node, used_outputs(node, source), values, options, self._pool, was)
        if len(was) != len(now):
            raise ReceiptError("the receipt has other samples than its source")
        names = values[node, 0].source_info()
        harmless = options.data == "stat"
        yield from changed_samples(node.operator.name, names, before, was, now, harmless)


def _unreadable(operator: str, error: GradivaError) -> Finding:
    """What is said of a sample that was read before, and cannot be read now."""
    facts = [error.file or "", error.problem or str(error)]
    if error.got:
        facts.append(f"expected {error.expected}, got {error.got}")
    return Finding("file", f"`{operator}`: {': '.join(filter(None, facts))}")


class _NotedProgress(Progress):
    """The progress that a receipt says of a batch."""

    __slots__ = ("_numbers",)

    def __init__(self, said: Any, receipt: Receipt) -> None:
        super().__init__(said["epoch"], said.get("step", receipt.made_by.get("batch")))
        numbers = said.get("numbers", said["positions"])
        self._numbers = dict(zip(said["positions"], numbers, strict=True))

    def numbers(self, positions: Any) -> Any:
        return np.array([self._numbers[one] for one in positions.tolist()], np.int64)
