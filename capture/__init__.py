"""From calls to graphs, and from graphs to running pipelines.

`trace` records a function as a Graph, `compile` makes one that runs optimized, and
`reader.next_epoch(capture=True)` captures a running loop. `optimize` runs the compiler's passes on
a graph; `before_after` makes a picture of both.
"""

if __name__ != "gradiva.capture":
    raise ImportError(
        "this folder is part of gradiva: import gradiva.capture (or gradiva), not capture"
    )

from gradiva.capture.compiler.optimize import optimize as optimize
from gradiva.capture.graph.graph import Graph as Graph
from gradiva.capture.lazy.compile import Compiled as Compiled
from gradiva.capture.lazy.compile import compile as compile
from gradiva.capture.lazy.compile import invariant as invariant
from gradiva.capture.lazy.compile import trace as trace
from gradiva.capture.loop.captured_loop import CapturedLoop as CapturedLoop
from gradiva.capture.viz import text_formats as text_formats  # fills places of graphs
from gradiva.capture.viz.svg import before_after as before_after

optimise = optimize
"""The older spelling."""
