"""What tests of conditionals share: running a function as a pipeline, with all checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradiva
from gradiva import fn
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.compiler.verify import verify_graph
from gradiva.capture.graph.graph import Graph
from gradiva.capture.pipeline.source_plan import SourcePlan
from gradiva.eager.runtime.worker_pool import WorkerPool

__all__ = ["bits", "feed", "graph_of", "outputs_of", "run"]


def feed(values: Sequence[Any] | np.ndarray[Any, Any], typed: bool = True, **options: Any) -> Any:
    """One batch, again and again."""
    given = [np.asarray(value) for value in values]
    if typed and given:
        options = {"dtype": given[0].dtype.name, "ndim": given[0].ndim, **options}
    return fn.external_source(source=lambda: given, **options)


def graph_of(function: Callable[[], Any], size: int = 4) -> Graph:
    define = gradiva.pipeline_def(batch_size=size, num_threads=1, enable_conditionals=True, seed=3)
    return verify_graph(define(function)().graph)


def bits(outputs: Any) -> list[Any]:
    return [
        (str(batch.type), batch.shape, [one.tobytes() for one in batch.arrays()])
        for batch in outputs
    ]


def run(graph: Graph, size: int = 4, threads: int = 1) -> Any:
    return SourcePlan(graph, size, 3, WorkerPool(threads)).run()


def outputs_of(function: Callable[[], Any], size: int = 4) -> list[list[np.ndarray[Any, Any]]]:
    """The samples of each output; with and without passes and for several threads the bits are
    the same."""
    graph = graph_of(function, size)
    outputs = run(graph, size)
    optimized = optimize(graph, verify=True)
    assert bits(run(optimized, size)) == bits(outputs)
    assert bits(run(optimized, size, threads=3)) == bits(outputs)
    return [batch.arrays() for batch in outputs]
