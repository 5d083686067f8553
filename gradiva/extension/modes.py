"""A case of an operator in both modes: called at once, and run by a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradiva.capture.check import check
from gradiva.capture.pipeline_def import pipeline_def
from gradiva.capture.tracer import WholeBatch
from gradiva.eager.arguments import is_edge
from gradiva.eager.batch import Batch, as_batch
from gradiva.eager.case import Case
from gradiva.eager.operator import OperatorBase
from gradiva.ops.generic.external_source import external_source

__all__ = ["argument_dtype", "both_ways", "outputs_of", "per_sample"]


def outputs_of(result: Any) -> tuple[Any, ...]:
    """What an operator returned, as a tuple also where it is one output."""
    return result if isinstance(result, tuple) else (result,)


def both_ways(
    operator: OperatorBase, case: Case, follow: Callable[[Any], Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], Any] | None:
    """Outputs at once, of two runs of a pipeline, and its graph; None for an empty batch."""
    batches = [value for value in case.inputs if isinstance(value, Batch)]
    arguments = {
        name: value
        if isinstance(value, Batch)
        else as_batch(np.asarray(value, argument_dtype(value)))
        for name, value in case.arguments.items()
        if per_sample(operator, name, value)
    }
    size = len(batches[0]) if batches else case.arguments.get("batch_size", 1)
    if size == 0:
        return None
    keywords = {name: value for name, value in case.arguments.items() if name not in arguments}
    keywords.pop("batch_size", None)
    if operator.random:
        keywords["seed"] = 5
    fed = [*batches, *arguments.values()]

    @pipeline_def(batch_size=size, num_threads=2)
    def pipeline() -> Any:
        symbols: Iterator[Any] = iter(())
        if fed:
            symbols = iter(external_source([tuple(fed)], num_outputs=len(fed), cycle=True))
        inputs = [next(symbols) if isinstance(value, Batch) else value for value in case.inputs]
        given: dict[str, Any] = {name: next(symbols) for name in arguments}
        if operator.random and not batches:
            given["batch_size"] = WholeBatch()
        result = outputs_of(operator(*inputs, **keywords, **given))  # type: ignore[operator]
        return (follow(result[0]), *result[1:])

    pipe = pipeline()
    graph = check(pipe.graph)
    captured, again = pipe.run(), pipe.run()
    pipe.close()
    eager_keywords = {**keywords, **arguments}
    if not batches:
        eager_keywords["batch_size"] = size
    eager = outputs_of(operator(*case.inputs, **eager_keywords))  # type: ignore[operator]
    return (follow(eager[0]), *eager[1:]), captured, again, graph


def argument_dtype(value: Any) -> Any:
    """The dtype of a batch of values of an argument: int32 for integers, float32 for others."""
    kind = np.asarray(value).dtype.kind
    return np.int32 if kind in "ib" else np.float32


def per_sample(operator: OperatorBase, name: str, value: Any) -> bool:
    """Whether this value of an argument holds one value per sample."""
    argument = operator.arguments.get(name)
    return argument is not None and is_edge(argument, value)
