"""A case of an operator in both modes: called at once, and run by a pipeline."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradiva.capture.compiler.verify import verify_graph
from gradiva.capture.pipeline.pipeline_def import pipeline_def
from gradiva.capture.recording.data_node import WholeBatch
from gradiva.eager.operators.arguments import is_edge
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.runtime.worker_pool import get_num_threads, set_num_threads
from gradiva.eager.values.batch import Batch, as_batch
from gradiva.ops.external_source.external_source import external_source

__all__ = ["CaseCalls", "argument_dtype", "outputs_of", "per_sample"]


def outputs_of(result: Any) -> tuple[Any, ...]:
    """What an operator returned, as a tuple also where it is one output."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


class CaseCalls:
    """The calls of one case that its checks share: each is made once, when it is first needed."""

    def __init__(self, operator: OperatorBase, case: Case) -> None:
        self.operator = operator
        self.case = case
        self.batches = [value for value in case.inputs if isinstance(value, Batch)]
        self.keywords = dict(case.arguments)
        if operator.random:
            self.keywords.setdefault("seed", 11)
        self.per_sample = {
            name: value
            if isinstance(value, Batch)
            else as_batch(np.asarray(value, argument_dtype(value)))
            for name, value in case.arguments.items()
            if per_sample(operator, name, value)
        }
        self.size = len(self.batches[0]) if self.batches else case.arguments.get("batch_size", 1)

    @functools.cached_property
    def plain(self) -> tuple[Any, ...]:
        """As the case has it: without a seed, where the operator is random."""
        if self.keywords == self.case.arguments:
            return self.by_one_thread
        return self._call(self.case.arguments)

    @functools.cached_property
    def by_one_thread(self) -> tuple[Any, ...]:
        with _threads(1):
            return self._call(self.keywords)

    @functools.cached_property
    def by_three_threads(self) -> tuple[Any, ...]:
        with _threads(3):
            return self._call(self.keywords)

    @functools.cached_property
    def like_a_pipeline(self) -> tuple[Any, ...]:
        """With what a pipeline is fed: arguments per sample as batches."""
        if self.batches and not self.per_sample:
            return self.by_one_thread
        keywords = {**self.keywords, **self.per_sample}
        if not self.batches:
            keywords["batch_size"] = self.size
        return self._call(keywords)

    def _call(self, keywords: dict[str, Any]) -> tuple[Any, ...]:
        before = [batch.data.copy() for batch in self.batches]
        made = outputs_of(self.operator(*self.case.inputs, **keywords))  # type: ignore[operator]
        for old, batch in zip(before, self.batches, strict=True):
            np.testing.assert_array_equal(old, batch.data, err_msg="an input was written into")
        return made

    def in_pipeline(
        self, follow: Callable[[Any], Any] = lambda value: value
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any] | None:
        """Outputs of two runs of a pipeline, and its graph; None for an empty batch.

        follow: what the pipeline does with the first output.
        """
        if self.size == 0:
            return None
        operator, inputs = self.operator, self.case.inputs
        keywords = {k: v for k, v in self.keywords.items() if k not in self.per_sample}
        keywords.pop("batch_size", None)
        fed = [*self.batches, *self.per_sample.values()]

        # Batches are not made ahead: starting threads would take most of the time.
        @pipeline_def(batch_size=self.size, num_threads=2, exec_async=False)
        def pipeline() -> Any:
            symbols: Iterator[Any] = iter(())
            if fed:
                symbols = iter(external_source([tuple(fed)], num_outputs=len(fed), cycle=True))
            given = [next(symbols) if isinstance(value, Batch) else value for value in inputs]
            arguments: dict[str, Any] = {name: next(symbols) for name in self.per_sample}
            if operator.random and not self.batches:
                arguments["batch_size"] = WholeBatch()
            result = outputs_of(operator(*given, **keywords, **arguments))  # type: ignore[operator]
            return (follow(result[0]), *result[1:])

        pipe = pipeline()
        try:
            graph = verify_graph(pipe.graph)
            return pipe.run(), pipe.run(), graph
        finally:
            pipe.close()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Calls in the block use this many threads."""
    before = get_num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)


def argument_dtype(value: Any) -> Any:
    """The dtype of a batch of values of an argument: int32 for integers, float32 for others."""
    kind = np.asarray(value).dtype.kind
    return np.int32 if kind in "ib" else np.float32


def per_sample(operator: OperatorBase, name: str, value: Any) -> bool:
    """Whether this value of an argument holds one value per sample."""
    argument = operator.arguments.get(name)
    return argument is not None and is_edge(argument, value)
