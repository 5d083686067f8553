"""The compiler: a visible, ordered list of passes over a graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeAlias

from gradiva.capture.compiler.passes.constant_fold import fold
from gradiva.capture.compiler.passes.dce import prune
from gradiva.capture.compiler.passes.decompose import lower
from gradiva.capture.compiler.passes.fuse_chains import fuse, region
from gradiva.capture.compiler.passes.fuse_elementwise import express
from gradiva.capture.compiler.passes.hoist_views import move
from gradiva.capture.compiler.passes.keep_skips import hold
from gradiva.capture.graph.graph import Graph

from .verify import check

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
