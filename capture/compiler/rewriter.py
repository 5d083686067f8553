"""Rewriting of graphs: a graph is built a second time, node by node, while a rule replaces some
nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from gradiva.capture.graph.builtin_ops import constant
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node
from gradiva.capture.graph.hints import HINT
from gradiva.capture.graph.liveness import without_dead_nodes
from gradiva.capture.graph.type_inference import infer
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.values.tensor import Tensor


class Rewriter:
    """A graph that is being rebuilt. Rules call `add` and return edges of the new graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = GraphBuilder(graph.title)
        self.uses = uses_of(graph)
        self._moved: dict[tuple[Node, int], Edge] = {}

    def moved(self, edge: Edge) -> Edge:
        """The edge of the new graph for an edge of the old one."""
        new = self._moved[edge.node, edge.output]
        return Edge(new.node, new.output, edge.argument)

    def inputs(self, node: Node) -> tuple[Edge, ...]:
        """The inputs of an old node in the new graph."""
        return tuple(self.moved(edge) for edge in node.inputs)

    def used_once(self, node: Node) -> bool:
        """Whether an old node has one output, and exactly one reader, which is a node."""
        return len(node.type) == 1 and self.uses.get(node, 0) == 1 and node not in self.graph.kept

    def add(
        self,
        old: Node,
        operator: OperatorBase,
        inputs: tuple[Edge, ...],
        attributes: dict[str, Any],
    ) -> Edge:
        """A new node in place of (or beside) `old`. It gets the location of `old` in the user's
        code."""
        types = infer(operator, inputs, attributes, old.device)
        hint = old.attribute(HINT)
        if hint is not None:
            attributes = {HINT: hint, **attributes}
        node = self.builder.add(operator, inputs, attributes, types)
        origin = self.graph.origins.get(old, old.operator.name)
        self.builder.describe(
            node,
            self.graph.locations.get(old, ()),
            origin if origin != operator.name else None,
            self.graph.names.get(old) if operator is old.operator else None,
        )
        return Edge(node, 0)

    def constant(self, old: Node, value: Tensor) -> Edge:
        """A constant in place of `old`."""
        array = np.array(value)
        array.flags.writeable = False
        fields = {"layout": value.layout, "value": array}
        node = self.builder.add(constant, (), fields, (value.type,))
        return Edge(node, 0)

    def copy(self, node: Node) -> Node:
        graph = self.graph
        made = self.builder.add(
            node.operator,
            self.inputs(node),
            dict(node.attributes),
            node.type,
            None,
            graph.names.get(node),
            node in graph.kept,
        )
        self.builder.describe(made, graph.locations.get(node, ()), graph.origins.get(node))
        for member in node.members:
            self.builder.describe(
                member,
                graph.locations.get(member, ()),
                graph.origins.get(member),
                graph.names.get(member),
            )
        return made

    def run(self, rule: Rule) -> Graph:
        for node in self.graph.nodes:
            replaced = rule(self, node)
            if replaced is None:
                made = self.copy(node)
                for output in range(len(node.type)):
                    self._moved[node, output] = Edge(made, output)
            else:
                ends = (replaced,) if isinstance(replaced, Edge) else replaced
                self._pass_on_name(node, ends[0].node)
                for output, end in enumerate(ends):
                    self._moved[node, output] = Edge(end.node, end.output)
        # The replaced node may still be in the graph, without readers.
        graph = self.builder.finish(tuple(self.moved(edge) for edge in self.graph.outputs))
        return without_dead_nodes(graph)

    def _pass_on_name(self, old: Node, new: Node) -> None:
        """Give the replacement the name of the node, unless one of its parts has it already, or it
        replaces another node, too."""
        name = self.graph.names.get(old)
        if name is None or new.members or self.builder.has_name(name):
            return
        if all(edge.node is not new for edge in self._moved.values()):
            self.builder.describe(new, (), None, name)


Rule: TypeAlias = "Callable[[Rewriter, Node], Edge | tuple[Edge, ...] | None]"
"""What replaces a node: an edge, or one for each of several outputs; None keeps the node."""


def rewrite(graph: Graph, rule: Rule) -> Graph:
    """The graph with every node replaced for which `rule` returns an edge."""
    return Rewriter(graph).run(rule)


def replace_chains(
    graph: Graph,
    chain: Callable[[Rewriter, Node], list[Node]],
    join: Callable[[Rewriter, list[Node]], Edge | None],
) -> Graph:
    """The graph with chains of nodes replaced, the last nodes first.

    chain: the nodes of the chain that ends with a node of the old graph, none if there is no chain;
    join: the edge that replaces the last node of a chain; None keeps it.
    """
    ends: dict[Node, list[Node]] = {}
    inner: set[Node] = set()
    uses = Rewriter(graph)
    for node in reversed(graph.nodes):
        if node not in inner:
            found = chain(uses, node)
            if found:
                ends[node] = found
                inner.update(found)
    return rewrite(
        graph, lambda rewriter, node: join(rewriter, ends[node]) if node in ends else None
    )


def uses_of(graph: Graph) -> dict[Node, int]:
    """The number of readers of each node: other nodes and outputs."""
    uses: dict[Node, int] = {}
    for edge in [*graph.outputs, *(edge for node in graph.nodes for edge in node.inputs)]:
        uses[edge.node] = uses.get(edge.node, 0) + 1
    return uses
