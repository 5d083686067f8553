"""From calls to graphs, and from graphs to running pipelines.

`trace` records a function as a Graph, `compile` makes one that runs optimised, and
`reader.next_epoch(capture=True)` captures a running loop. `optimise` runs the compiler's passes on
a graph; `before_after` makes a picture of both.
"""

if __name__ != "gradiva.capture":
    raise ImportError(
        "this folder is part of gradiva: import gradiva.capture (or gradiva), not capture"
    )

from .compiler import optimise as optimise
from .draw import before_after as before_after
from .function import Compiled as Compiled
from .function import compile as compile
from .function import invariant as invariant
from .function import trace as trace
from .graph import Graph as Graph
from .loop import CapturedLoop as CapturedLoop
