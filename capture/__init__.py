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
    from gradiva.capture.lazy.compile import Compiled as Compiled
    from gradiva.capture.lazy.compile import compile as compile
    from gradiva.capture.lazy.compile import invariant as invariant
    from gradiva.capture.lazy.compile import trace as trace
    from gradiva.capture.loop.captured_loop import CapturedLoop as CapturedLoop
    from gradiva.capture.viz.svg import before_after as before_after

    optimise = optimize
    """The older spelling."""
else:
    _places = {
        "optimize": "gradiva.capture.compiler.optimize:optimize",
        "Graph": "gradiva.capture.graph.graph:Graph",
        "Compiled": "gradiva.capture.lazy.compile:Compiled",
        "compile": "gradiva.capture.lazy.compile:compile",
        "invariant": "gradiva.capture.lazy.compile:invariant",
        "trace": "gradiva.capture.lazy.compile:trace",
        "CapturedLoop": "gradiva.capture.loop.captured_loop:CapturedLoop",
        "before_after": "gradiva.capture.viz.svg:before_after",
        "optimise": "gradiva.capture.compiler.optimize:optimize",
    }
    __getattr__, __dir__ = _lazy_names(__name__, _places)
    __all__ = list(_places)
