"""Drop what nothing needs. Effects and nodes marked `preserve` stay, and all they need."""

from __future__ import annotations

from gradiva.capture.graph.graph import Graph, Node
from gradiva.eager.readers.source import SourceOperator

__all__ = ["prune"]


def prune(graph: Graph) -> Graph:
    """The nodes that an output, an effect or a kept node needs, in their old order.

    A source counts as an effect only if something needs it: an unread file needs no reading.
    """
    pending: list[Node] = [edge.node for edge in graph.outputs]
    pending += graph.kept
    pending += [
        node
        for node in graph.nodes
        if node.operator.effects and not isinstance(node.operator, SourceOperator)
    ]
    needed: set[Node] = set()
    while pending:
        node = pending.pop()
        if node not in needed:
            needed.add(node)
            pending += [edge.node for edge in node.inputs]
    return graph.with_(node for node in graph.nodes if node in needed)
