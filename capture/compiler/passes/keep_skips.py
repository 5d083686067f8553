"""Keep what may leave out samples (`on_error=\"skip\"`), though no output needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gradiva.capture.graph.graph import Graph, Node

__all__ = ["keep_skipping_ops", "may_skip_samples"]


def may_skip_samples(node: Node) -> bool:
    """Whether this node may drop samples from the step."""
    return node.attribute("on_error") == "skip" or any(map(may_skip_samples, node.members))


def keep_skipping_ops(graph: Graph) -> Graph:
    """A pass: what may leave out samples stays, though no output needs it."""
    needed = _before([*(edge.node for edge in graph.outputs), *graph.kept])
    read = {edge.node for node in graph.nodes for edge in node.inputs}
    held: set[Node] = set()
    waiting = [node for node in graph.nodes if node not in read and node not in needed]
    while waiting:
        node = waiting.pop()
        if may_skip_samples(node):
            held.add(node)
        else:
            waiting += [edge.node for edge in node.inputs if edge.node not in needed]
    if not held:
        return graph
    return replace(graph, kept=graph.kept | held)


def _before(nodes: Iterable[Node]) -> set[Node]:
    """These nodes, and all nodes that they need."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [edge.node for edge in node.inputs]
    return found
