"""From calls to graphs, and from graphs to running pipelines.

`trace` records a function as a Graph, `compile` makes one that runs optimized, and
`reader.next_epoch(capture=True)` captures a running loop. `optimize` runs the compiler's passes on
a graph; `before_after` makes a picture of both.
"""

if __name__ != "gradiva.capture":
    raise ImportError(
        "this folder is part of gradiva: import gradiva.capture (or gradiva), not capture"
    )

import typing as _typing

from gradiva.eager.support.lazy_names import lazy_names as _lazy_names

# Nothing is imported before it is asked for.
if _typing.TYPE_CHECKING:
    from gradiva.capture.compiler.optimize import optimize as optimize
    from gradiva.capture.graph.graph import Graph as Graph
    from gradiva.capture.graph.svg import before_after as before_after
    from gradiva.capture.loop.captured_loop import CapturedLoop as CapturedLoop
    from gradiva.capture.loop.compile import Compiled as Compiled
    from gradiva.capture.loop.compile import compile as compile
    from gradiva.capture.loop.compile import invariant as invariant
    from gradiva.capture.loop.compile import trace as trace

    optimise = optimize
    """The older spelling."""
else:
    _places = {
        "optimize": "gradiva.capture.compiler.optimize:optimize",
        "Graph": "gradiva.capture.graph.graph:Graph",
        "Compiled": "gradiva.capture.loop.compile:Compiled",
        "compile": "gradiva.capture.loop.compile:compile",
        "invariant": "gradiva.capture.loop.compile:invariant",
        "trace": "gradiva.capture.loop.compile:trace",
        "CapturedLoop": "gradiva.capture.loop.captured_loop:CapturedLoop",
        "before_after": "gradiva.capture.graph.svg:before_after",
        "optimise": "gradiva.capture.compiler.optimize:optimize",
    }
    __getattr__, __dir__ = _lazy_names(__name__, _places)
    __all__ = list(_places)
