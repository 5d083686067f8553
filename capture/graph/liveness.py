"""Which nodes of a graph are needed: by an output, by an effect, or because users keep them."""

from __future__ import annotations

from collections.abc import Iterable

from gradiva.ops.readers.core.source import SourceOperator

from .builtin_ops import random_key
from .graph import Graph, Node


def without_dead_nodes(graph: Graph) -> Graph:
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


def outputs_read(graph: Graph, node: Node) -> frozenset[int]:
    """The outputs of a node that others read, or that the graph returns; all of them where users
    keep it. Random values that are counted along a source read how many samples it has."""
    return _read_by(graph.nodes, graph, node)


def outputs_counted(graph: Graph, node: Node) -> frozenset[int]:
    """The outputs of `outputs_read` of which only the number of samples is read, by random values
    that are counted along a source."""
    others = [other for other in graph.nodes if other.operator is not random_key]
    return outputs_read(graph, node) - _read_by(others, graph, node)


def outputs_looked_at(graph: Graph, node: Node) -> tuple[frozenset[int], bool]:
    """The outputs of a source whose values are read; where there are none, all that are read. And
    whether there are none, so that only the number of samples matters."""
    read = outputs_read(graph, node)
    looked_at = read - outputs_counted(graph, node)
    return (looked_at or read), not looked_at


def _read_by(readers: Iterable[Node], graph: Graph, node: Node) -> frozenset[int]:
    if node in graph.kept:
        return frozenset(range(len(node.type)))
    edges = [*graph.outputs, *(edge for other in readers for edge in other.inputs)]
    return frozenset(edge.output for edge in edges if edge.node is node)
