"""The compiler: a visible, ordered list of passes over a graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeAlias

from gradiva.capture.passes.express import express
from gradiva.capture.passes.fold import fold
from gradiva.capture.passes.fuse import fuse, region
from gradiva.capture.passes.lower import lower
from gradiva.capture.passes.move import move
from gradiva.capture.passes.prune import prune

from .check import check
from .dropping import hold
from .graph import Graph

__all__ = ["PASSES", "optimise"]

Pass: TypeAlias = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = (hold, prune, fold, lower, move, region, fuse, express)
"""In the order in which they run."""


def optimise(graph: Graph, passes: tuple[Pass, ...] = PASSES, verify: bool = False) -> Graph:
    """Run the passes. GRADIVA_PRINT_GRAPH=1 prints the graph before and after each of them."""
    show = os.environ.get("GRADIVA_PRINT_GRAPH", "0") == "1"
    if show:
        print(f"# recorded\n{graph}", file=sys.stderr)
    for apply in passes:
        graph = apply(graph)
        if verify:
            check(graph)
        if show:
            print(f"# after {apply.__name__}\n{graph}", file=sys.stderr)
    return graph
