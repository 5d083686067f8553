"""What tests of compiler passes share: ragged images, graphs, and what running them gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gradiva
from gradiva import fn
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Graph
from gradiva.capture.pipeline.source_plan import SourcePlan
from gradiva.eager.runtime.worker_pool import WorkerPool

__all__ = ["body", "feed", "flags", "graph_of", "images", "prints", "refuses", "run", "same_bits"]

SHAPES = [(9, 12, 3), (13, 8, 3), (8, 8, 3), (16, 9, 3)]


def feed() -> list[Any]:
    noise = np.random.default_rng(5)
    return [noise.integers(0, 256, shape, np.uint8) for shape in SHAPES]


def flags() -> Any:
    return np.array([0, 1, 1, 0], np.int32)


def images() -> Any:
    return fn.external_source(source=feed, layout="HWC", dtype="uint8", ndim=3)


def graph_of(function: Callable[[], Any]) -> Graph:
    pipe = gradiva.pipeline_def(batch_size=4, num_threads=1, seed=3)(function)()
    return pipe.graph


def body(graph: Graph) -> str:
    """The printed graph without the line of the source."""
    lines = str(graph).splitlines()[1:-1]
    return "\n".join(line[2:] for line in lines if "external_source" not in line)


def prints(graph: Graph, text: str) -> None:
    assert body(graph) == text.strip()


def run(graph: Graph) -> list[Any]:
    outputs = SourcePlan(graph, 4, 3, WorkerPool(1)).run()
    return [
        (str(batch.type), batch.shape, [np.asarray(one).tobytes() for one in batch])
        for batch in outputs
    ]


def refuses(apply: Any, function: Callable[[], Any]) -> bool:
    graph = graph_of(function)
    return str(apply(graph)) == str(graph)


def same_bits(apply: Any, function: Callable[[], Any]) -> None:
    """With the pass and without it; and the pass has done something."""
    graph = graph_of(function)
    changed = optimize(graph, (apply,), verify=True)
    assert str(changed) != str(graph)
    assert run(changed) == run(graph)
