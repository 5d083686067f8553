"""Calls that have not run yet, and values that stand for their results.

A lazy value is a Batch or a Tensor whose data come when somebody looks at them. A chain of pending
calls is a graph without a frame: when a value is asked for, the calls it needs are compiled, once
per structure, and run together.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gradiva.eager.batch import Batch
from gradiva.eager.errors import Location
from gradiva.eager.geometry import Geometry
from gradiva.eager.operator import OperatorBase
from gradiva.eager.rng import RandomKey
from gradiva.eager.tensor import Tensor
from gradiva.eager.threads import default_pool
from gradiva.eager.value import SampleType

from .compiler import optimise
from .graph import Edge, Graph, GraphBuilder, Node, key_of
from .leaves import constant, parameter, random_key
from .program import Positions, Program, Values

__all__ = [
    "Home",
    "LazyBatch",
    "LazyTensor",
    "Leaf",
    "Pending",
    "Plans",
    "Ref",
    "evaluate",
    "leaf_of",
]


class Home(Protocol):
    """Who decides how a pending call gets its values, and knows whose values are its own."""

    def force(self, pending: Pending) -> None: ...

    def find(self, value: Any) -> Ref | None: ...


class Leaf:
    """A value that is there: a batch, or a constant that is part of the program."""

    __slots__ = ("__weakref__", "array", "batch", "layout")

    def __init__(self, batch: Batch, array: np.ndarray[Any, Any] | None = None) -> None:
        self.batch = batch
        self.array = array
        self.layout = batch.layout


class Ref(NamedTuple):
    """One output of a pending call, or a leaf; `argument` names what it feeds, None: an input."""

    source: Pending | Leaf
    output: int
    argument: str | None = None


class Pending:
    """One call that was noted down. `values` are its outputs, once it has run.

    observed: the outputs that somebody has looked at; readers: how many pending calls read it;
    own_key: whether its random values belong to the captured loop that it is in.
    """

    __slots__ = (
        "__weakref__", "attributes", "handed", "home", "inputs", "key", "location", "name",
        "observed", "operator", "own_key", "positions", "readers", "serial", "signature",
        "single", "size", "types", "values",
    )  # fmt: skip

    def __init__(
        self,
        operator: OperatorBase,
        inputs: tuple[Ref, ...],
        attributes: dict[str, Any],
        types: tuple[SampleType, ...],
        size: int,
        single: bool,
        home: Home,
        location: Location | None,
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.attributes = attributes
        self.types = types
        self.size = size
        self.single = single
        self.home = home
        self.location = location
        self.key: RandomKey | None = None
        self.positions: Positions | None = None
        self.own_key = False
        self.name: str | None = None
        self.signature: Any = None
        self.values: tuple[Batch, ...] | None = None
        self.observed: set[int] = set()
        self.readers = 0
        self.serial = 0
        self.handed: list[weakref.ref[Any]] = []

    def hand_out(self) -> tuple[Any, ...]:
        """The values that stand for the outputs, for the user."""
        kind = LazyTensor if self.single else LazyBatch
        made = tuple(kind(self, output) for output in range(len(self.types)))
        self.handed = [weakref.ref(value) for value in made]
        return made

    @property
    def wanted(self) -> bool:
        """Whether somebody still holds one of the values."""
        return any(value() is not None for value in self.handed)

    def value(self, output: int) -> Batch:
        """An output; runs the call if need be."""
        if self.values is None:
            self.home.force(self)
        assert self.values is not None
        return self.values[output]

    def settle(self, values: tuple[Batch, ...]) -> None:
        """The call has run: what it needed can go."""
        self.values = values
        self.inputs = ()


class LazyBatch(Batch):
    """A batch whose data come when somebody looks at them."""

    __slots__ = ("output", "pending")

    def __init__(self, pending: Pending, output: int) -> None:
        self.pending = pending
        self.output = output

    def _look(self) -> Batch:
        self.pending.observed.add(self.output)
        return self.pending.value(self.output)

    def __len__(self) -> int:
        return self.pending.size

    @property
    def batch_size(self) -> int:
        return self.pending.size

    @property
    def data(self) -> Any:  # type: ignore[override]
        return self._look().data

    @property
    def geometry(self) -> Any:  # type: ignore[override]
        return self._look().geometry

    @property
    def type(self) -> SampleType:  # type: ignore[override]
        known = self.pending.types[self.output]
        if None in (known.dtype, known.ndim, known.layout):
            return self._look().type
        return known

    @property
    def provenance(self) -> Any:  # type: ignore[override]
        return self._look().provenance

    @property
    def ndim(self) -> int:
        known = self.type.ndim
        return self._look().ndim if known is None else known

    def evaluate(self) -> Batch:
        """Run what is needed, and return the batch."""
        self._look()
        return self


class LazyTensor(Tensor):
    """A tensor whose data come when somebody looks at them."""

    __slots__ = ("output", "pending")

    def __init__(self, pending: Pending, output: int) -> None:
        self.pending = pending
        self.output = output

    def _look(self) -> Tensor:
        self.pending.observed.add(self.output)
        return self.pending.value(self.output).tensors[0]

    @property
    def _array(self) -> Any:  # type: ignore[override]
        return self._look()._array

    @property
    def layout(self) -> str:  # type: ignore[override]
        known = self.pending.types[self.output].layout
        return self._look().layout if known is None else known

    @property
    def provenance(self) -> Any:  # type: ignore[override]
        return self._look().provenance

    def evaluate(self) -> Tensor:
        """Run what is needed, and return the tensor."""
        self._look()
        return self


class Plans:
    """Compiled programs by structure; those not used for the longest are dropped first."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._programs: OrderedDict[Any, Program] = OrderedDict()
        self._lock = threading.Lock()
        self.compilations = 0
        self.graphs: list[tuple[Graph, Graph]] = []
        """The last few graphs that were compiled, before and after."""

    def find(self, key: Any) -> Program | None:
        with self._lock:
            program = self._programs.get(key)
            if program is not None:
                self._programs.move_to_end(key)
            return program

    def keep(self, key: Any, recorded: Graph, program: Program) -> Program:
        with self._lock:
            self.compilations += 1
            self.graphs = [*self.graphs[-3:], (recorded, program.graph)]
            self._programs[key] = program
            while len(self._programs) > self._most:
                self._programs.popitem(last=False)
        return program


plans = Plans()
"""Those of deferred mode."""


def evaluate(targets: Sequence[Pending], plans: Plans = plans) -> None:
    """Run the pending calls, all of one batch size, and all they need. Raises GradivaError."""
    single = [target for target in targets if target.single]
    if single and len(single) < len(targets):
        # One value, not one per sample: it is there also when there are no samples.
        evaluate(single, plans)
        targets = [target for target in targets if not target.single]
    order = _needed(targets)
    if not order:
        return
    number = {pending: index for index, pending in enumerate(order)}
    leaves: dict[Leaf, int] = {}
    shared: set[Leaf] = set()
    for pending in order:
        for ref in pending.inputs:
            given = _leaf(ref)
            if given is not None:
                leaves.setdefault(given, len(leaves))
                if isinstance(ref.source, Pending) and ref.source.single:
                    shared.add(given)
    key = (
        tuple(_leaf_key(leaf) for leaf in leaves),
        tuple(_structure(pending, number, leaves) for pending in order),
        tuple(number[target] for target in targets),
    )
    program = plans.find(key)
    if program is None:
        graph = _graph(order, targets, leaves)
        program = plans.keep(key, graph, Program(optimise(graph)))
    size = max([pending.size for pending in order if not pending.single] or [1])
    batches = [_repeated(leaf.batch, size) if leaf in shared else leaf.batch for leaf in leaves]
    values: Values = {(node, 0): batches[node.attribute("number")] for node in program.parameters}
    keys = [(pending.key, pending.positions) for pending in order]
    outputs = iter(program.run(values, size, {None: np.arange(size)}, 0, default_pool(), keys))
    for target in targets:
        target.settle(tuple(next(outputs) for _ in target.types))


def _repeated(batch: Batch, size: int) -> Batch:
    """The first sample of a batch, as that of all samples."""
    geometry = Geometry.repeated(size, batch.geometry.shape(0))
    return Batch(batch.data, geometry, batch.type)


def _needed(targets: Iterable[Pending]) -> list[Pending]:
    """The calls to run, in the order in which they were made."""
    found: set[Pending] = set()
    waiting = [target for target in targets if target.values is None]
    while waiting:
        pending = waiting.pop()
        if pending not in found:
            found.add(pending)
            waiting += [
                ref.source
                for ref in pending.inputs
                if isinstance(ref.source, Pending) and ref.source.values is None
            ]
    return sorted(found, key=lambda pending: pending.serial)


def _leaf(ref: Ref) -> Leaf | None:
    """The leaf that a reference stands for: itself, or a call that has run."""
    source = ref.source
    if isinstance(source, Leaf):
        return source
    if source.values is None:
        return None
    return leaf_of(source.values[ref.output])


_leaves: weakref.WeakValueDictionary[int, Leaf] = weakref.WeakValueDictionary()


def leaf_of(batch: Batch) -> Leaf:
    """The one leaf of a batch. (It holds the batch, so the batch's id is its own.)"""
    leaf = _leaves.get(id(batch))
    if leaf is None:
        leaf = _leaves[id(batch)] = Leaf(batch)
    return leaf


def _leaf_key(leaf: Leaf) -> Any:
    if leaf.array is None:
        return leaf.batch.type
    return (leaf.layout, key_of(leaf.array))


def _structure(pending: Pending, number: dict[Pending, int], leaves: dict[Leaf, int]) -> Any:
    inputs = []
    for ref in pending.inputs:
        leaf = _leaf(ref)
        source = number[ref.source] if leaf is None else -1 - leaves[leaf]  # type: ignore[index]
        inputs.append((source, ref.output, ref.argument))
    attributes = tuple((name, key_of(value)) for name, value in sorted(pending.attributes.items()))
    return (
        pending.operator.name, tuple(inputs), attributes, pending.single, pending.name,
        pending.location,
    )  # fmt: skip


def _graph(order: list[Pending], targets: Sequence[Pending], leaves: dict[Leaf, int]) -> Graph:
    """The pending calls as a graph, whose parameters are the leaves."""
    builder = GraphBuilder("deferred")
    nodes: dict[Leaf | Pending, Node] = {}
    for leaf, index in leaves.items():
        if leaf.array is None:
            nodes[leaf] = builder.add(parameter, (), {"number": index}, (leaf.batch.type,))
        else:
            fields = {"layout": leaf.layout, "value": leaf.array}
            nodes[leaf] = builder.add(constant, (), fields, (leaf.batch.type,))
    for index, pending in enumerate(order):
        edges = []
        for ref in pending.inputs:
            given = _leaf(ref)
            output = ref.output if given is None else 0
            source = nodes[ref.source if given is None else given]
            edges.append(Edge(source, output, ref.argument))
        if pending.operator.random:
            drawn = builder.add(random_key, (), {"slot": index}, (SampleType(None, 0, ""),))
            edges.append(Edge(drawn, 0, "key"))
        attributes = pending.attributes
        if pending.operator.random and pending.single:
            attributes = {**attributes, "shared": True}
        nodes[pending] = builder.add(
            pending.operator, tuple(edges), attributes, pending.types, pending.location,
            pending.name,
        )  # fmt: skip
    return builder.finish(
        tuple(
            Edge(nodes[target], output) for target in targets for output in range(len(target.types))
        )
    )
