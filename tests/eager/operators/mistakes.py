"""Wrong calls of an operator, made from its cases: rank, layout, dtype, the length of an argument
that is given per sample, an argument out of range, an argument of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gradiva
from gradiva.eager.execution.eager_interpreter import (
    as_argument,
    as_input,
    batch_size_of,
    random_key,
    split_common,
)
from gradiva.eager.execution.execute import prepare
from gradiva.eager.operators.arguments import is_edge
from gradiva.eager.operators.cases import Case, samples
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError
from gradiva.eager.types.dtypes import dtypes
from gradiva.eager.values.batch import Batch

__all__ = ["KINDS", "Mistake", "mistake"]

KINDS = ("rank", "layout", "dtype", "length", "range", "type")


@dataclass
class Mistake:
    """A call that is refused before any kernel runs. argument: the one that is wrong, if any."""

    inputs: tuple[Any, ...]
    arguments: dict[str, Any]
    argument: str | None
    error: GradivaError


def _refusal(
    operator: OperatorBase, inputs: tuple[Any, ...], arguments: dict[str, Any]
) -> GradivaError | None:
    """The error of a call as far as types, arguments and shapes decide it; no kernel runs."""
    try:
        operator.check(inputs, arguments)
        given, common = split_common(operator, arguments)
        size, _ = batch_size_of(operator, inputs, given, common)
        batches = tuple(as_input(value, size, number) for number, value in enumerate(inputs))
        rows = {
            name: as_argument(operator.arguments[name], value, size)
            for name, value in given.items()
        }
        key = positions = None
        if operator.random:
            key, positions = random_key({"seed": 1}), np.arange(size, dtype=np.int64)
        prepare(operator, batches, rows, size, default_pool(), key, positions)
    except GradivaError as error:
        return error
    return None


def _good(operator: OperatorBase) -> list[Case]:
    """The cases to start from: several samples, and calls that are right."""
    assert operator.case_maker is not None
    found = [case for case in operator.case_maker() if case.raises is None]
    for least in (2, 1, 0):
        cases = [
            case
            for case in found
            if all(len(value) >= least for value in case.inputs if isinstance(value, Batch))
        ]
        if cases:
            return cases
    return []


def mistake(operator: OperatorBase, kind: str) -> Mistake | None:
    """A wrong call of this kind, or None if none was found."""
    first = None
    for case in _good(operator)[:4]:
        for inputs, arguments, name in _wrong(operator, case, kind):
            error = _refusal(operator, inputs, arguments)
            if error is None or isinstance(error, OperatorRuntimeError):
                continue  # right after all, or a function of the user's raised
            found = Mistake(inputs, arguments, name, error)
            if name is None or f"`{name}`" in str(error):
                return found
            first = first or found
    return first


def _wrong(
    operator: OperatorBase, case: Case, kind: str
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str | None]]:
    if not all(len(value) for value in case.inputs if isinstance(value, Batch)):
        case = replace(case, inputs=(samples((4, 5, 3), (2, 3, 3)),))
    if kind in ("rank", "layout", "dtype"):
        for number, value in enumerate(case.inputs):
            if isinstance(value, Batch):
                for other in _others(value, kind):
                    inputs = (*case.inputs[:number], other, *case.inputs[number + 1 :])
                    yield inputs, case.arguments, None
        return
    size = next((len(value) for value in case.inputs if isinstance(value, Batch)), None)
    keywords = dict(case.arguments)
    if size is None:
        size = keywords.setdefault("batch_size", 2)
    for name, argument in operator.arguments.items():
        if kind == "length" and argument.per_sample:
            value = case.arguments.get(name, argument.default)
            if value is None or is_edge(argument, value):
                value = 1
            if argument.kind.shaped:
                continue
            one = np.asarray(value, argument.kind.element).reshape(-1)
            rows = np.stack([one if argument.kind.vector else one[0]] * (size + 1))
            yield case.inputs, {**keywords, name: rows}, name
        if kind == "type" and argument.kind.expected != "a value":
            yield case.inputs, {**keywords, name: object()}, name
        if kind == "range":
            for value in _extremes(argument.kind.expected):
                yield case.inputs, {**keywords, name: value}, name


def _others(value: Batch, kind: str) -> Iterator[Batch]:
    count = len(value)
    if kind == "dtype":
        for dtype in dtypes:
            if dtype is not value.dtype:
                with np.errstate(all="ignore"):
                    other = gradiva.as_batch(value, dtype=dtype)
                yield other
    elif kind == "layout":
        for letters in ("QRSTUVXZ", "CQRSTUVX", "HQRSTUVX"):
            if 0 < value.ndim <= len(letters):
                yield gradiva.as_batch(value, layout=letters[: value.ndim])
    else:
        for ndim in (0, 7, 1, 2, 6):
            samples = np.ones((count, *([1] * ndim)), value.dtype.numpy)
            if ndim != value.ndim:
                yield gradiva.as_batch(samples)


def _extremes(expected: str) -> tuple[Any, ...]:
    if "string" in expected or "layout" in expected:
        return ("no such value", "QQ", "Q")
    if "interpolation" in expected or "image type" in expected:
        return (99,)
    if "number" in expected or "matrix" in expected:
        return (float("nan"), -1e9, 1e9, [1.0] * 9, [])
    if "integer" in expected:
        return (-1, -(10**9), 10**9, [-1], [7] * 9, 2**70)
    return ()
