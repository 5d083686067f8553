"""The program that a captured loop runs ahead, and how it grows with the calls of the loop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.capture.caches.options import CacheOptions, described
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import constant, parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node
from gradiva.capture.runtime.fusion_report import GroupReport
from gradiva.capture.runtime.gpu_streams import DeviceStage, queued
from gradiva.capture.runtime.program import Program, Values
from gradiva.eager.execution.error_policy import skips
from gradiva.eager.execution.quarantine import collecting
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import memory_of, owner_of
from gradiva.ops.readers.core.source import SourceOperator

from .concrete_inputs import ConcreteInput
from .pending import Pending, Ref
from .prefetcher import StepItem

if TYPE_CHECKING:
    from gradiva.capture.caches import places as cache_places
else:  # for few programs
    cache_places = lazy_module("gradiva.capture.caches.places")

_AHEAD = 3
"""The number of steps that a GPU may lag behind."""
_FORGOTTEN = 16
"""A result that no step has asked for is not computed any more after this many steps."""


class CallSpec:
    """One call to compute ahead, without the data of the step in which it was first made."""

    def __init__(self, call: Pending) -> None:
        self.operator = call.operator
        self.inputs = tuple(_spec(ref) for ref in call.inputs)
        self.attributes = call.attributes
        self.types = call.types
        self.single = call.single
        self.key = call.key
        self.device = call.device
        self.location = call.location
        self.name = call.name
        self.unseen = 0


def _spec(ref: Ref) -> tuple[int | ConcreteInput, int, str | None]:
    source = ref.source
    return (source.signature if isinstance(source, Pending) else source, ref.output, ref.argument)


class LoopProgram:
    """Calls by signature, the calls whose values are kept, and the compiled program for them."""

    def __init__(self, operator: OperatorBase, cache: CacheOptions | None = None) -> None:
        """cache: where results are kept, if they are."""
        self._operator = operator
        self._keeping = cache
        self._calls: dict[int, CallSpec] = {}
        self._kept: set[int] = set()
        self._current: _Compiled | None = None
        self._types: tuple[SampleType, ...] = ()
        self._size = 0
        self._stage: DeviceStage | None = None
        self._lock = threading.Lock()
        self.compilations = 0

    @property
    def graph(self) -> Graph | None:
        return None if self._current is None else self._current.program.graph

    def learn(
        self,
        calls: list[Pending],
        fresh: list[Pending],
        concrete_inputs: set[ConcreteInput],
        source: Pending,
        first: bool,
    ) -> None:
        """Update the program after a step: `fresh` calls are computed ahead from now on. If the
        first step of a loop makes none of the known calls, the loop has another body than the
        previous one."""
        self._size = source.size
        before = (set(self._calls), set(self._kept))
        if source.types != self._types:
            # The data have changed: nothing that was learned is valid.
            self._types, self._current, fresh = source.types, None, calls
            self._calls.clear()
            self._kept.clear()
        for call in fresh:
            if self._can_know(call, concrete_inputs):
                self._calls[call.signature] = CallSpec(call)
        seen = {call.signature for call in calls}
        new = {call.signature for call in fresh}
        other = first and not (seen - new) & self._calls.keys()
        for signature, known in list(self._calls.items()):
            known.unseen = 0 if signature in seen else _FORGOTTEN if other else known.unseen + 1
        for call in calls:
            if call.signature not in self._calls:
                read = {
                    ref.source.signature for ref in call.inputs if isinstance(ref.source, Pending)
                }
                self._kept |= read & self._calls.keys()
            elif call.materialized or not call.readers:
                self._kept.add(call.signature)
        self._forget()
        if (set(self._calls), set(self._kept)) != before or self._current is None:
            self._current = (
                _Compiled(self._graph(), self._types, self._numbers, self._keeping)
                if self._kept
                else None
            )
            self.compilations += 1

    def _can_know(self, call: Pending, concrete_inputs: set[ConcreteInput]) -> bool:
        """Whether the call can be computed ahead: from the source, constants and known calls."""
        for spec, _, _ in CallSpec(call).inputs:
            if isinstance(spec, ConcreteInput):
                if spec.array is None and spec not in concrete_inputs:
                    return False
            elif spec and spec not in self._calls:
                return False
        if not call.single and call.size != self._size and call.valid is None:
            return False
        if call.device is not CPU and {call.device} != self._gpus() | {call.device}:
            return False  # a program runs on one GPU
        return not call.operator.random or call.own_key

    def _forget(self) -> None:
        for signature in list(self._kept):
            if self._calls[signature].unseen >= _FORGOTTEN:
                self._kept.discard(signature)
        needed: set[int] = set()
        waiting = list(self._kept)
        while waiting:
            signature = waiting.pop()
            if signature and signature not in needed:
                needed.add(signature)
                waiting += [
                    spec for spec, _, _ in self._calls[signature].inputs if isinstance(spec, int)
                ]
        self._calls = {key: known for key, known in self._calls.items() if key in needed}

    def spec(self, signature: int) -> CallSpec | None:
        """The call with this signature, if it is computed ahead."""
        return self._calls.get(signature)

    def knows(self, signature: int) -> bool:
        """Whether the call with this signature is computed ahead."""
        return signature in self._calls

    def _graph(self) -> Graph:
        builder = GraphBuilder("loop")
        source = builder.add(self._operator, (), {"effect": 0}, self._types)
        nodes: dict[Any, Node] = {0: source}
        numbers: dict[int, ConcreteInput] = {}
        for signature, known in sorted(self._calls.items()):
            edges = []
            for spec, output, argument in known.inputs:
                if isinstance(spec, ConcreteInput) and spec not in nodes:
                    nodes[spec] = _concrete_node(builder, spec, numbers)
                edges.append(Edge(nodes[spec], output, argument))
            attributes = dict(known.attributes)
            if known.operator.random:
                assert known.key is not None
                fields = {"seed": known.key.seed, "number": known.key.number}
                none = (SampleType(None, 0, ""),)
                drawn = builder.add(random_key, (Edge(source, 0, "source"),), fields, none)
                edges.append(Edge(drawn, 0, "key"))
                attributes["shared"] = known.single
            nodes[signature] = builder.add(
                known.operator, tuple(edges), attributes, known.types, known.location, known.name
            )
        self._numbers = {
            "source": source,
            "concrete_inputs": numbers,
            "kept": [
                (key, len(self._calls[key].types), self._calls[key].single)
                for key in sorted(self._kept)
            ],
            "known": frozenset(self._calls),
            "dropper": self._dropper(),
            "read": frozenset(
                (spec, output)
                for call in self._calls.values()
                for spec, output, _ in call.inputs
                if isinstance(spec, int)
            ),
        }
        return builder.finish(
            tuple(
                Edge(nodes[key], output)
                for key in sorted(self._kept)
                for output in range(len(self._calls[key].types))
            )
        )

    def _dropper(self) -> int:
        """The signature of the call that may drop samples, if there is exactly one, and it reads
        the source; else 0."""
        found = [signature for signature, it in self._calls.items() if skips(it.attributes)]
        return found[0] if len(found) == 1 and self._calls[found[0]].inputs[0][0] == 0 else 0

    def compute(self, item: StepItem, pool: WorkerPool) -> None:
        """Run the program on a batch. After an error the item has no results: the calls of its step
        run when they are made, and the failing call raises the error at its own line."""
        current = self._current
        if current is not None:
            current.compute(item, pool, self._streams())

    def fusion_groups(self) -> list[GroupReport]:
        """Which groups ran fused since the last compilation of the program."""
        current = self._current
        return [] if current is None else current.program.fusion.groups()

    def caches(self) -> list[str]:
        """What the caches of the program have done, or why there are none."""
        current, why_not = self._current, None
        if current is None or not current.has_places:
            why_not = "its calls run on a GPU" if self._gpus() else "no step was computed ahead"
        return described(self.graph, self._keeping, why_not)

    def calls_outside_of_groups(self) -> list[str]:
        """The names of the operators that the program computes in no fused group."""
        graph = self.graph
        if graph is None:
            return []
        return [
            node.operator.name
            for node in graph.nodes
            if not node.members and node.operator.kernels and node.operator is not self._operator
        ]

    def _gpus(self) -> set[Device]:
        # A copy: the thread of the loop may learn a call meanwhile.
        return {known.device for known in self._calls.copy().values()} - {CPU}

    def _streams(self) -> DeviceStage | None:
        """The GPU and its streams for the calls on a GPU; None if there are no such calls, or no
        such GPU."""
        with self._lock:
            gpus = self._gpus()
            if self._stage is not None and self._stage.device not in gpus:
                self.release_streams()
            if gpus and self._stage is None:
                self._stage = DeviceStage(gpus.pop(), _AHEAD)
            return self._stage

    def release_streams(self) -> None:
        """Free the streams. Nothing is computed ahead until the next batch is read."""
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()


class _Compiled:
    """A program, and the signatures of the calls that it computes."""

    def __init__(
        self,
        graph: Graph,
        types: tuple[SampleType, ...],
        facts: dict[str, Any],
        cache: CacheOptions | None,
    ) -> None:
        self.program = Program(optimize(graph), together=False)
        self._without_cache, self._keeping = graph, cache
        """The place of the cache is chosen with the first batch."""
        self._placing = threading.Lock()
        self._types = types
        self._concrete_inputs: dict[int, ConcreteInput] = facts["concrete_inputs"]
        self._kept: list[tuple[int, int, bool]] = facts["kept"]
        self._known: frozenset[int] = facts["known"]
        self._dropper: int = facts["dropper"]
        self._read: frozenset[tuple[int, int]] = facts["read"]

    @property
    def has_places(self) -> bool:
        """Whether the places of caches were chosen."""
        return self._keeping is None

    def _place_caches(self, item: StepItem, pool: WorkerPool) -> None:
        """Choose what is kept, with the samples of a batch."""
        given, size = item.batches, min(len(item.batches[0]), cache_places.MEASURED)

        def read(graph: Graph) -> cache_places.Samples | None:
            own = cache_places.first_of(given[0]).positions
            own = np.arange(size, dtype=np.int64) if own is None else own
            values: Values = {}
            positions: dict[Any, Any] = {None: own}
            for node in graph.nodes:
                if node.operator is parameter:
                    concrete = self._concrete_inputs[node.attribute("number")]
                    values[node, 0] = cache_places.first_of(concrete.plain)
                elif isinstance(node.operator, SourceOperator):
                    positions[node] = own
                    for output, batch in enumerate(given):
                        values[node, output] = cache_places.first_of(batch)
            return cache_places.Samples(values, size, positions)

        with self._placing:
            options, self._keeping = self._keeping, None
            if options is not None:
                graph = cache_places.with_caches(self._without_cache, options, pool, 0, read)
                self.program = Program(optimize(graph), together=False)

    def compute(self, item: StepItem, pool: WorkerPool, stage: DeviceStage | None) -> None:
        if self._keeping is not None and stage is None and len(item.batches[0]):
            self._place_caches(item, pool)
        program = self.program  # once: another thread may choose the places of caches meanwhile
        source = next(
            node
            for node in program.graph.nodes
            if not node.inputs and node.type and node.operator.effects
        )
        if tuple(batch.type for batch in item.batches) != self._types:
            item.failure = "the source delivers another dtype, rank or layout than before"
            return
        size = len(item.batches[0])
        values: Values = {(source, output): batch for output, batch in enumerate(item.batches)}
        given = list(item.batches)
        for node in program.parameters:
            concrete = self._concrete_inputs[node.attribute("number")]
            if len(concrete.batch) != size:
                item.failure = "a batch from outside of the loop has another size than this step"
                return
            given.append(concrete.plain)
            values[node, 0] = concrete.plain
        positions = item.batches[0].positions
        own = np.arange(size, dtype=np.int64) if positions is None else positions
        try:
            with collecting() as noted, queued(stage) as mark:
                gpu = CPU if stage is None else stage.device
                places = {None: own, source: own}
                made = program.run(values, size, places, 0, pool, gpu=gpu)
                mark(made)
        except (GradivaError, MemoryError) as error:
            item.failure = f"computing this step ahead failed: {error}"
            return
        except StopIteration:
            item.failure = "the loop was stopped"
            return
        masks = [batch.valid for batch in made if batch.valid is not None]
        if masks:
            if not self._dropper or not masks[0].any():
                # The body may see batches of different sizes, so it runs as in dynamic mode.
                item.failure = "a sample of this step was left out"
                return
            item.valid, item.dropper = masks[0], self._dropper
        if noted:
            item.noted.append(noted)
        outputs = iter(made)
        memory = memory_of(batch.data for batch in (*given, *made))
        results: dict[int, tuple[Batch, ...]] = {}
        for signature, count, single in self._kept:
            batches = tuple(next(outputs) for _ in range(count))
            if size or not single:  # one value, not one per sample, is in no empty batch
                results[signature] = batches
                if any(memory[owner_of(batch.data)] > 1 for batch in batches):
                    item.shared.add(signature)
        item.results, item.known, item.read = results, self._known, self._read


def _concrete_node(
    builder: GraphBuilder, concrete: ConcreteInput, numbers: dict[int, ConcreteInput]
) -> Node:
    if concrete.array is not None:
        fields = {"layout": concrete.layout, "value": concrete.array}
        return builder.add(constant, (), fields, (concrete.batch.type,))
    number = len(numbers)
    numbers[number] = concrete
    return builder.add(parameter, (), {"number": number}, (concrete.batch.type,))
