"""Every operator takes schedules in place of its numbers, and gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.schedules.schedule import Schedule
from tests.eager.operators.test_operators import GOOD


def scheduled(operator: OperatorBase, case: Case) -> dict[str, Any]:
    """The arguments of a call with a schedule in place of each number and tuple of numbers."""
    made = {}
    for name, value in case.arguments.items():
        argument = operator.arguments.get(name)
        row = value if isinstance(value, list | tuple) else [value]
        numbers = bool(row) and all(type(one) in (int, float) for one in row)
        if argument is not None and argument.kind.number is not None and numbers:
            listed = isinstance(value, list | tuple)
            per_sample = listed and argument.kind.element is not None and not argument.kind.vector
            if not per_sample and all(abs(one) < float("inf") for one in row):
                value = gradiva.schedule({0: value, 9: value}, mode="step")  # noqa: PLW2901
        made[name] = value
    return made


def with_numbers() -> list[Any]:
    """The cases with numbers among their arguments."""
    found = []
    for one in GOOD:
        operator, case = one.values
        values = scheduled(operator, case).values()
        if any(isinstance(value, Schedule) for value in values):
            found.append(one)
    return found


@pytest.mark.parametrize(("operator", "case"), with_numbers())
def test_numbers_may_be_schedules(operator: OperatorBase, case: Case) -> None:
    given = scheduled(operator, case)
    if operator.random and "seed" not in given:
        given["seed"] = 3
    fixed = {**case.arguments, **({"seed": given["seed"]} if "seed" in given else {})}
    with gradiva.step(0, 5, epoch=4):
        once = operator.bind(case.inputs, fixed)
        assert plain(operator.bind(case.inputs, given)) == plain(once)
        compiled = gradiva.capture.compile(lambda *inputs: operator.bind(inputs, given))
        assert plain(compiled(*case.inputs)) == plain(once)


def plain(values: Any) -> list[Any]:
    found = []
    for value in values if isinstance(values, list | tuple) else (values,):
        samples = value.tensors if isinstance(value, gradiva.Batch) else [value]
        arrays = [np.asarray(one) for one in samples]
        found.append([(one.dtype.str, one.shape, one.tobytes()) for one in arrays])
    return found
