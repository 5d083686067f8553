"""The compiler: a visible, ordered list of passes over a graph."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeAlias

from gradiva.capture.graph.graph import Graph

from .caches import cut_caches
from .constant_fold import fold
from .dce import prune
from .decompose import decompose
from .fuse_chains import fuse, fuse_resize_views
from .fuse_elementwise import fuse_elementwise
from .fuse_spectra import fuse_spectra
from .hoist_views import hoist_views
from .verify import verify_graph
from .without_pixels import without_pixels

__all__ = ["PASSES", "optimize"]

Pass: TypeAlias = Callable[[Graph], Graph]

PASSES: tuple[Pass, ...] = (
    prune,
    fold,
    decompose,
    cut_caches,
    without_pixels,
    hoist_views,
    fuse_resize_views,
    fuse,
    fuse_elementwise,
    fuse_spectra,
)
"""In the order in which they run."""


def optimize(graph: Graph, passes: tuple[Pass, ...] = PASSES, verify: bool = False) -> Graph:
    """Run the passes. GRADIVA_PRINT_GRAPH=1 prints the graph before and after each of them."""
    show = os.environ.get("GRADIVA_PRINT_GRAPH", "0") == "1"
    if show:
        print(f"# recorded\n{graph}", file=sys.stderr)
    for apply in passes:
        graph = apply(graph)
        if verify:
            verify_graph(graph)
        if show:
            print(f"# after {apply.__name__}\n{graph}", file=sys.stderr)
    return graph
