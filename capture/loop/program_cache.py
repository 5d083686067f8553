"""A cache of compiled programs by the structure of pending calls; runs pending calls by them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradiva.capture.caches.options import CacheOptions, described
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import constant, parameter, random_key
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node, key_of
from gradiva.capture.runtime.fusion_report import GroupReport
from gradiva.capture.runtime.program import Keys, Outputs, Program, Values
from gradiva.eager.execution.quarantine import collecting_in, isolated, record
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.schedules.settling import has_schedules
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU, Device
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import memory_of, owner_of

from .concrete_inputs import ConcreteInput, concrete_input_of
from .defer import run_now
from .pending import Pending, Ref

if TYPE_CHECKING:
    from gradiva.capture.caches import places as cache_places
    from gradiva.capture.compiler import compose_warps as composing
else:  # for few programs
    cache_places = lazy_module("gradiva.capture.caches.places")
    composing = lazy_module("gradiva.capture.compiler.compose_warps")


class ProgramCache:
    """Compiled programs by structure. The least recently used are dropped first.

    cache: where the programs keep results, if they do. compose_warps: whether the pixels of warps
    that follow each other are gathered once.
    """

    def __init__(
        self, most: int = 256, cache: CacheOptions | None = None, compose_warps: bool = False
    ) -> None:
        self._most = most
        self.compose_warps = compose_warps
        self.cache = cache
        self._programs: OrderedDict[Any, Program] = OrderedDict()
        self._lock = threading.Lock()
        self.compilations = 0
        self.graphs: list[tuple[Graph, Graph]] = []
        """The last few graphs that were compiled, before and after optimization."""

    def find(self, key: Any) -> Program | None:
        with self._lock:
            program = self._programs.get(key)
            if program is not None:
                self._programs.move_to_end(key)
            return program

    def groups(self) -> list[GroupReport]:
        """Which groups of all cached programs ran fused."""
        with self._lock:
            programs = list(self._programs.values())
        return [group for program in programs for group in program.fusion.groups()]

    def caches(self) -> list[str]:
        """What the caches of all cached programs have done."""
        with self._lock:
            programs = list(self._programs.values())
        return [line for program in programs for line in described(program.graph, self.cache)]

    def keep(self, key: Any, recorded: Graph, program: Program) -> Program:
        with self._lock:
            self.compilations += 1
            self.graphs = [*self.graphs[-3:], (recorded, program.graph)]
            self._programs[key] = program
            while len(self._programs) > self._most:
                self._programs.popitem(last=False)
        return program


def evaluate(targets: Sequence[Pending], programs: ProgramCache) -> None:
    """Run the pending calls, all of one batch size, and all calls that they depend on. Raises
    GradivaError."""
    if not all(pending.size or pending.single for pending in targets):
        # A value that is not per sample exists also for a batch of zero samples.
        for pending in _needed([target for target in targets if target.single]):
            run_now(pending)
        targets = [target for target in targets if not target.single]
    order = _needed(targets)
    targets = [target for target in targets if target in order]
    if not order:
        return
    for pending in order:
        if pending.dropping_calls:
            _resize(pending)
    gpus = {pending.device for pending in order if pending.device is not CPU}
    if len(gpus) > 1:
        for pending in order:  # a program runs on one GPU
            run_now(pending)
        return
    number = {pending: index for index, pending in enumerate(order)}
    given = (_concrete_input(ref, order) for inputs in order.values() for ref in inputs)
    distinct = dict.fromkeys(one for one in given if one is not None)
    concrete_inputs = {concrete: index for index, concrete in enumerate(distinct)}
    key = (
        tuple(_concrete_key(concrete) for concrete in concrete_inputs),
        tuple(_structure(pending, order, number, concrete_inputs) for pending in order),
        tuple(number[target] for target in targets),
    )
    size = max([pending.size for pending in order if not pending.single] or [1])
    batches = [_fit(concrete.plain, size) for concrete in concrete_inputs]
    keys = [(pending.key, pending.positions, pending.progress) for pending in order]
    program = programs.find(key)
    if program is None:
        recorded = _graph(order, targets, concrete_inputs)
        chosen = None if gpus else programs.cache
        placed = composing.compose_warps(recorded) if programs.compose_warps else recorded
        if chosen is not None:
            placed = _with_caches(chosen, placed, batches, keys, size)
        program = programs.keep(key, recorded, Program(optimize(placed)))
    found = _run(program, batches, size, keys, gpus.pop() if gpus else CPU)
    memory = memory_of(batch.data for batch in (*batches, *found))
    outputs = iter(found)
    for target in targets:
        made = tuple(next(outputs) for _ in target.types)
        target.shared = any(memory[owner_of(batch.data)] > 1 for batch in made)
        if target.single and not len(made[0]):
            run_now(target)  # all samples were dropped, but this value depends on none
        elif target.values is None:  # another evaluator may have run it meanwhile
            target.resolve(made)


def _run(program: Program, batches: Sequence[Batch], size: int, keys: Keys, gpu: Device) -> Outputs:
    """The outputs of a program for these inputs. Raises GradivaError."""
    values: Values = {(node, 0): batches[node.attribute("number")] for node in program.parameters}
    noted = isolated()
    try:
        with collecting_in(noted):
            return program.run(values, size, {None: np.arange(size)}, 0, default_pool(), keys, gpu)
    finally:
        record(noted)


def _with_caches(
    options: CacheOptions, recorded: Graph, batches: Sequence[Batch], keys: Keys, size: int
) -> Graph:
    """The graph with caches, whose places are chosen with the first samples of these inputs."""
    few = [
        (drawn, places[: cache_places.MEASURED], progress)
        for drawn, places, progress in keys
        if places is not None
    ]

    def read(graph: Graph) -> cache_places.Samples | None:
        if len(few) < len(keys) or not size:
            return None
        values = {
            (node, 0): cache_places.first_of(batches[node.attribute("number")])
            for node in graph.nodes
            if node.operator is parameter
        }
        count = min(size, cache_places.MEASURED)
        return cache_places.Samples(values, count, {None: np.arange(count)}, None, few)

    return cache_places.with_caches(recorded, options, default_pool(), 0, read)


def _fit(batch: Batch, size: int) -> Batch:
    """A batch as input of a program for `size` samples. A single sample is repeated for all of
    them."""
    repeated = len(batch) > 1 and not batch.batch_shape.offsets.any() and batch.batch_shape.uniform
    if len(batch) == size or not (len(batch) == 1 or repeated):
        return batch
    return Batch.over(batch.data, BatchShape.repeated(size, batch.batch_shape.shape(0)), batch.type)


def _resize(pending: Pending) -> None:
    """Samples may have been dropped since the call was made. Raises OperatorValueError."""
    sizes = []
    for ref in pending.inputs:
        source = ref.source
        if isinstance(source, Pending):
            sizes += [] if source.single else [source.size]
        elif (
            source.array is None
            and len(source.plain) > 1
            and source.plain.batch_shape.offsets.any()
        ):
            sizes.append(len(source.plain))
    if sizes and any(size != sizes[0] for size in sizes):
        raise OperatorValueError(
            "all inputs and per-sample arguments have one batch size",
            operator=pending.operator.name,
            expected=f"{sizes[0]} samples",
            got=f"{next(size for size in sizes if size != sizes[0])}",
            location=pending.location,
        )
    pending.size = sizes[0] if sizes and not pending.single else pending.size


_Order: TypeAlias = dict[Pending, tuple[Ref, ...]]
"""Calls to run, with their inputs. Another evaluator, in another thread, may run one of them at any
moment and drop its inputs: they are looked at once."""


def _needed(targets: Iterable[Pending]) -> _Order:
    """The calls to run, in the order in which they were made."""
    found: _Order = {}
    waiting = [target for target in targets if target.values is None]
    while waiting:
        pending = waiting.pop()
        if pending in found:
            continue
        inputs = pending.inputs  # before the values: these are there before inputs are dropped
        if pending.values is not None:
            continue
        found[pending] = inputs
        waiting += [
            ref.source
            for ref in inputs
            if isinstance(ref.source, Pending) and ref.source.values is None
        ]
    return {pending: found[pending] for pending in sorted(found, key=lambda one: one.serial)}


def _concrete_input(ref: Ref, order: _Order) -> ConcreteInput | None:
    """What a reference leads to, if it exists already: a concrete input, or a value of a call that
    has run. None for a call in the order, also if it has run since."""
    source = ref.source
    if isinstance(source, ConcreteInput):
        return source
    if source in order:
        return None
    assert source.values is not None
    return concrete_input_of(source.values[ref.output])


def _concrete_key(concrete: ConcreteInput) -> Any:
    if concrete.array is None:
        return concrete.batch.type
    return (concrete.layout, key_of(concrete.array))


def _structure(
    pending: Pending,
    order: _Order,
    number: dict[Pending, int],
    concrete_inputs: dict[ConcreteInput, int],
) -> Any:
    inputs = []
    for ref in order[pending]:
        concrete = _concrete_input(ref, order)
        source = number[ref.source] if concrete is None else -1 - concrete_inputs[concrete]  # type: ignore[index]
        inputs.append((source, ref.output, ref.argument))
    attributes = tuple((name, key_of(value)) for name, value in sorted(pending.attributes.items()))
    return (
        pending.operator.name,
        tuple(inputs),
        attributes,
        pending.name,
        pending.location,
        pending.single,
        pending.device,
    )


def _graph(
    order: _Order, targets: Sequence[Pending], concrete_inputs: dict[ConcreteInput, int]
) -> Graph:
    """The pending calls as a graph, whose parameters are the concrete inputs."""
    builder = GraphBuilder("deferred")
    nodes: dict[ConcreteInput | Pending, Node] = {}
    for concrete, index in concrete_inputs.items():
        if concrete.array is None:
            nodes[concrete] = builder.add(parameter, (), {"number": index}, (concrete.batch.type,))
        else:
            fields = {"layout": concrete.layout, "value": concrete.array}
            nodes[concrete] = builder.add(constant, (), fields, (concrete.batch.type,))
    for index, (pending, inputs) in enumerate(order.items()):
        edges = []
        for ref in inputs:
            given = _concrete_input(ref, order)
            output = ref.output if given is None else 0
            source = nodes[ref.source if given is None else given]
            edges.append(Edge(source, output, ref.argument))
        if pending.operator.random:
            drawn = builder.add(random_key, (), {"slot": index}, (SampleType(None, 0, ""),))
            edges.append(Edge(drawn, 0, "key"))
        attributes = pending.attributes
        if pending.operator.random and pending.single:
            attributes = {**attributes, "shared": True}
        if has_schedules(attributes):
            attributes = {**attributes, "slot": index}
        nodes[pending] = builder.add(
            pending.operator,
            tuple(edges),
            attributes,
            pending.types,
            pending.location,
            pending.name,
        )
    return builder.finish(
        tuple(
            Edge(nodes[target], output) for target in targets for output in range(len(target.types))
        )
    )
