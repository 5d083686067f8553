"""Dead code elimination. Nodes with effects and nodes marked `preserve` are kept, with all that
they need; so is what may lose samples (`on_error="skip"`), which leave all outputs."""

from __future__ import annotations

from dataclasses import replace

from gradiva.capture.graph.graph import Graph, Node
from gradiva.capture.graph.liveness import without_dead_nodes


def may_skip_samples(node: Node) -> bool:
    """Whether this node may lose samples."""
    return node.attribute("on_error") == "skip" or any(map(may_skip_samples, node.members))


def prune(graph: Graph) -> Graph:
    """The graph without dead nodes. The later passes do not leave any either."""
    while True:
        pruned = without_dead_nodes(graph)
        alive = set(pruned.nodes)
        lost = [node for node in graph.nodes if node not in alive and may_skip_samples(node)]
        if not lost:
            return pruned
        graph = replace(graph, kept=graph.kept | {lost[-1]})
