"""The interpreter of calls outside of any pipeline that have no data: it makes free nodes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from gradiva.eager.operators.interpreter import current_interpreter, free_calls_hook, runs_at_once
from gradiva.eager.operators.operator import Maker, OperatorBase
from gradiva.eager.random.step import current_step
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, annotate_error
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.random_origin import random_origin_among
from gradiva.eager.values.value import Symbolic
from gradiva.ops.readers.core.source import SourceOperator

from .data_node import DataNode, WholeBatch
from .free_node import FreeCall, FreeNode
from .recorder import Recorder

__all__ = ["FreeCalls", "node_without_inputs", "per_recorded_sample", "per_sample"]

P = ParamSpec("P")


class FreeCalls:
    """Writes calls down. What is wrong with a call is an error at once: it is recorded into a graph
    of its own, which is then thrown away."""

    def bind(
        self, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        call = FreeCall(operator, inputs, keywords)
        if not isinstance(operator, SourceOperator):
            _check_no_data((*inputs, *keywords.values()))
        recorder = Recorder("outside of any pipeline")

        def stand_in(value: Any) -> Any:
            return recorder.parameter(value.type) if isinstance(value, DataNode) else value

        made = recorder.bind(
            operator,
            tuple(map(stand_in, inputs)),
            {name: stand_in(value) for name, value in keywords.items()},
        )
        if isinstance(made, list):
            return [FreeNode(one.edge, recorder, call) for one in made]
        return FreeNode(made.edge, recorder, call)


def _check_no_data(values: tuple[Any, ...]) -> None:
    """Refuse a batch beside what has no data yet. Raises OperatorTypeError."""
    if any(isinstance(value, Batch) for value in values):
        symbol = next(value for value in values if isinstance(value, Symbolic))
        what = symbol.described() if isinstance(symbol, FreeNode) else repr(symbol)
        raise OperatorTypeError(
            f"a batch of data and {what} have no place in one call: the second has no data before "
            "a pipeline runs it. Draw with gradiva.random, and read with gradiva.readers, where "
            "there are data"
        )


def per_recorded_sample(maker: Maker[P]) -> Callable[P, Any]:
    """A random operator that needs no `batch_size` in a pipeline: one value for each sample."""

    @functools.wraps(maker)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(current_interpreter(), Recorder):
            kwargs.setdefault("batch_size", _WHOLE_BATCH)
        return maker(*args, **kwargs)

    return call


def per_sample(maker: Maker[P]) -> Callable[P, Any]:
    """The pipeline spelling of a random operator, which needs no `batch_size`: one value for each
    sample of the pipeline, or of the step of a loop. Outside of both it makes a free node."""

    @functools.wraps(maker)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        running = current_interpreter()
        values = (*args, *kwargs.values())
        if isinstance(running, Recorder):
            kwargs.setdefault("batch_size", _WHOLE_BATCH)
        elif kwargs.get("batch_size") is None and not _has_data(values):
            step = current_step()
            if any(isinstance(value, Symbolic) for value in values):
                kwargs["batch_size"] = _WHOLE_BATCH
            elif step is not None:
                sizes = step.narrowed or (len(step.positions),)
                kwargs["batch_size"] = min(sizes)
            elif runs_at_once():
                kwargs["batch_size"] = _WHOLE_BATCH
            else:
                with annotate_error(maker.name):
                    raise OperatorValueError(
                        "it draws one value for each sample, and nothing says how many there are: "
                        f"gradiva.{maker.name} draws one for all",
                        argument="batch_size",
                        expected="the batch_size of a batch (such as images.batch_size)",
                        got="None",
                    )
        return maker(*args, **kwargs)

    return call


def node_without_inputs(maker: Maker[P]) -> Callable[P, Any]:
    """The pipeline spelling of an operator that calls something of the user's: without inputs, and
    outside of a pipeline and of a loop, it makes a free node, which is called for each batch."""

    @functools.wraps(maker)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        outside = runs_at_once() and current_step() is None
        if outside and not args and kwargs.get("batch_size") is None:
            kwargs["batch_size"] = _WHOLE_BATCH
        return maker(*args, **kwargs)

    return call


def _has_data(values: tuple[Any, ...]) -> bool:
    return (
        any(isinstance(value, Batch) for value in values) or random_origin_among(values) is not None
    )


_WHOLE_BATCH = WholeBatch()
free_calls_hook.fill(FreeCalls())
