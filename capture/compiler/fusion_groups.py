"""Builds fused groups from nodes."""

from __future__ import annotations

from collections.abc import Sequence

from gradiva.capture.graph.builtin_ops import fused, parameter
from gradiva.capture.graph.graph import Edge, Members, Node

from .rewriter import Rewriter


class Grouping:
    """A fused group that is being built: its members in order, and their inputs."""

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        self.inputs: list[Edge] = []
        self.members: list[Node] = []
        self._leaves: dict[tuple[Node, int], Node] = {}

    def leaf(self, edge: Edge) -> Edge:
        """The edge inside of the group for an edge of the new graph."""
        key = (edge.node, edge.output)
        if key not in self._leaves:
            number = len(self.inputs)
            type = edge.node.type[edge.output]
            self._leaves[key] = Node(parameter, (), (("number", number),), (type,))
            self.inputs.append(Edge(edge.node, edge.output))
        return Edge(self._leaves[key], 0, edge.argument)

    def member(self, node: Node, inner: Sequence[Edge]) -> Node:
        """A node as a member that reads leaves and members."""
        made = Node(node.operator, tuple(inner), node.attributes, node.type)
        self.members.append(made)
        graph, builder = self.rewriter.graph, self.rewriter.builder
        # A node of the old graph, or one that this rewriting has made.
        old = graph.locations.get(node, ()), graph.origins.get(node), graph.names.get(node)
        builder.describe(made, *(old if any(old) else builder.described(node)))
        return made

    def edge(self, node: Node) -> Edge:
        """The group as a node of the new graph, in place of `node`."""
        made = self.rewriter.builder.add(
            fused, tuple(self.inputs), {"members": Members(tuple(self.members))}, node.type
        )
        return Edge(made, 0)
