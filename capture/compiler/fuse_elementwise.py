"""Fuses trees of arithmetic on a GPU into groups: one kernel instead of one for each operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gradiva.capture.graph.builtin_ops import parameter
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored

from .eligibility import is_expression
from .fusion_groups import Grouping
from .rewriter import Rewriter, rewrite

_MOST: Final = 16
"""The most members of a group: each needs a register for an element."""

_MOST_READ: Final = 8
"""The most inputs of a group."""


def fuse_elementwise(graph: Graph) -> Graph:
    """Arithmetic on a GPU: an operator and the operators that only it reads become one group."""
    return rewrite(graph, _join)


def _join(rewriter: Rewriter, node: Node) -> Edge | None:
    if not _may_join(rewriter, node):
        return None
    inputs = rewriter.inputs(node)
    inside = [
        _may_join(rewriter, new.node) and rewriter.used_once(old.node)
        for old, new in zip(node.inputs, inputs, strict=True)
    ]
    if not any(inside):
        return None
    tree = _ExpressionTree(rewriter)
    parts = [
        tree.take(edge.node) if joins else tree.leaf(edge)
        for edge, joins in zip(inputs, inside, strict=True)
    ]
    tree.member(node, parts)
    if len(tree.members) > _MOST or len(tree.inputs) > _MOST_READ:
        return None
    return tree.edge(node)


def _may_join(rewriter: Rewriter, node: Node) -> bool:
    return (
        node.device == "gpu"
        and is_expression(node.members or (node,))
        and bool(node.inputs)
        and not (node in rewriter.graph.kept or is_anchored(node))
    )


class _ExpressionTree(Grouping):
    """The members, each after those that it reads."""

    def take(self, node: Node) -> Edge:
        """A node of the new graph, or the members of a group; returns its value."""
        if not node.members:
            return Edge(self.member(node, [self.leaf(edge) for edge in node.inputs]), 0)
        made: dict[Node, Node] = {}
        for member in node.members:
            made[member] = self.member(member, self._inner(member.inputs, node, made))
        return Edge(made[node.members[-1]], 0)

    def _inner(self, edges: Sequence[Edge], group: Node, made: dict[Node, Node]) -> list[Edge]:
        return [
            self.leaf(group.inputs[edge.node.attribute("number")])
            if edge.node.operator is parameter
            else Edge(made[edge.node], 0)
            for edge in edges
        ]
