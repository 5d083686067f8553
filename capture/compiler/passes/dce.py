"""Drop what nothing needs. Effects and nodes marked `preserve` stay, and all they need."""

from __future__ import annotations

from gradiva.capture.graph.graph import Graph
from gradiva.capture.graph.liveness import without_dead_nodes

__all__ = ["prune"]


def prune(graph: Graph) -> Graph:
    """The graph without dead nodes. After it, each rewriting pass leaves none either."""
    return without_dead_nodes(graph)
