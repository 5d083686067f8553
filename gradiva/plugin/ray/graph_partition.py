"""Chooses where a graph is split between loader and trainer, so that the fewest bytes are sent.

Only cheap work may move to the trainer: pixelwise operators, windows, and transpositions. The
results have the same bits on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.capture.compiler.constant_fold import fold
from gradiva.capture.compiler.dce import may_skip_samples, prune
from gradiva.capture.compiler.decompose import decompose
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.builtin_ops import constant, parameter
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node
from gradiva.capture.graph.liveness import without_dead_nodes
from gradiva.capture.graph.scopes import scopes_of
from gradiva.capture.runtime.program import Program
from gradiva.eager.operators.fusion_roles import Expression, ToPlanar, View
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.eager.runtime.worker_pool import WorkerPool, shared_pool
from gradiva.eager.schedules.settling import has_schedules
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.eager.types.device import CPU
from gradiva.eager.values.batch import Batch

__all__ = ["GraphPartition", "TrainerProgram", "prepared", "propose", "split_at"]

_LIGHT = Pixelwise | Expression | ToPlanar | View
Sizes = Callable[[Node, int], int]


class GraphPartition(NamedTuple):
    """What is sent: outputs of nodes, by their numbers in the graph that `prepared` returns; the
    bytes of a sample with this split, and without it."""

    sent: tuple[tuple[int, int], ...]
    bytes: float
    before: float


def prepared(recorded: Graph) -> Graph:
    """The graph that is split: the same in every process."""
    return optimize(recorded, (prune, fold, decompose))


def propose(graph: Graph, samples: int, size: Sizes) -> GraphPartition:
    """The split that sends the fewest bytes. size: the bytes of an output of a node, for a number
    of samples."""
    movable = _movable(graph)
    found: dict[tuple[Node, int], tuple[int, frozenset[tuple[Node, int]]]] = {}

    def best(node: Node, output: int) -> tuple[int, frozenset[tuple[Node, int]]]:
        """What has to be sent for this value."""
        place = node, output
        if place not in found:
            own = 0 if node.operator is constant else size(node, output)
            kept = frozenset() if node.operator is constant else frozenset([place])
            chosen = own, kept
            if node in movable:
                sent = frozenset().union(*(best(one.node, one.output)[1] for one in node.inputs))
                total = sum(size(*one) for one in sent)
                chosen = (total, sent) if sent and total < own else chosen
            found[place] = chosen
        return found[place]

    outputs = [(edge.node, edge.output) for edge in graph.outputs]
    sent = frozenset().union(*(best(*place)[1] for place in outputs))
    # Split where each output is smallest. An input of several outputs may be sent in two forms.
    before = sum(size(*place) for place in set(outputs))
    after = sum(size(*place) for place in sent)
    chosen = sent if after < before else frozenset(outputs)
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    places = tuple(sorted((numbers[node], output) for node, output in chosen))
    return GraphPartition(places, min(after, before) / samples, before / samples)


def _movable(graph: Graph) -> set[Node]:
    scopes = scopes_of(graph.nodes)
    return {
        node
        for node in graph.nodes
        if isinstance(node.operator.fusion_role, _LIGHT)
        and node.device == "cpu"
        and scopes.get(node) is None
        and node not in graph.kept
        and not node.operator.effects
        and not may_skip_samples(node)
        and not has_schedules(dict(node.attributes))
    }


def split_at(graph: Graph, sent: Sequence[tuple[int, int]]) -> tuple[Graph, Graph]:
    """The graph of the loader, whose outputs are sent, and the graph of the trainer, whose
    parameters they are, in the same order."""
    places = [(graph.nodes[number], output) for number, output in sent]
    edges = tuple(Edge(node, output) for node, output in places)
    loader = without_dead_nodes(graph.with_(graph.nodes, edges))
    builder = GraphBuilder("trainer")
    moved: dict[tuple[Node, int], Edge] = {}
    for number, (node, output) in enumerate(places):
        kind = (node.type[output],)
        moved[node, output] = Edge(builder.add(parameter, (), {"number": number}, kind), 0)

    def move(node: Node, output: int) -> Edge:
        if (node, output) not in moved:
            inputs = tuple(
                Edge(*move(edge.node, edge.output)[:2], edge.argument) for edge in node.inputs
            )
            made = builder.add(node.operator, inputs, dict(node.attributes), node.type)
            builder.describe(made, graph.locations.get(node, ()), graph.origins.get(node))
            moved.update({(node, one): Edge(made, one) for one in range(len(node.type))})
        return moved[node, output]

    outputs = tuple(move(edge.node, edge.output) for edge in graph.outputs)
    return loader, builder.finish(outputs)


class TrainerProgram:
    """The part of a pipeline that a trainer runs on what loaders have sent.

    names: the operators in it, as the graph has them.
    """

    def __init__(self, recorded: Graph, sent: Sequence[tuple[int, int]]) -> None:
        graph = split_at(prepared(recorded), sent)[1]
        self.names = [
            node.operator.name for node in graph.nodes if node.operator not in (constant, parameter)
        ]
        self._program = Program(optimize(graph))
        # Parameters that only pass through may be missing from the program, or in any order.
        self._parameters = {node.attribute("number"): node for node in self._program.parameters}
        self._pool: WorkerPool | None = None
        self.num_threads = 1

    def __call__(self, *sent: Batch) -> tuple[Batch, ...]:
        """The outputs of the pipeline. Raises GradivaError."""
        if self._pool is None:
            self._pool = shared_pool(self.num_threads)
        count = {len(batch) for batch in sent}
        if len(count) != 1:
            raise OperatorRuntimeError(f"a batch whose parts have {sorted(count)} samples")
        size = count.pop()
        where = next((one.provenance for one in sent if one.provenance is not None), None)
        positions: Any = np.arange(size, dtype=np.int64) if where is None else where.positions
        values = {(node, 0): sent[number] for number, node in self._parameters.items()}
        outputs = self._program.run(values, size, {None: positions}, 0, self._pool, gpu=CPU)
        for batch in outputs:
            batch.provenance = batch.provenance or where
        return tuple(outputs)
