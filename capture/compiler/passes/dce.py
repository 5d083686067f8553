"""Dead code elimination. Nodes with effects and nodes marked `preserve` are kept, with all that
they need."""

from __future__ import annotations

from gradiva.capture.graph.graph import Graph
from gradiva.capture.graph.liveness import without_dead_nodes

__all__ = ["prune"]


def prune(graph: Graph) -> Graph:
    """The graph without dead nodes. The later passes do not leave any either."""
    return without_dead_nodes(graph)
