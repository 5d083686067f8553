"""transforms.* and coord_* against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva import Batch
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators

from .reference import assert_close, check, reference

CASES = [
    pytest.param(operator, case, id=f"{name}-{case.name}".replace(" ", "_"))
    for name, operator in sorted(operators.items())
    if name.startswith("transforms.") and operator.case_maker
    for case in operator.case_maker()
    if case.raises is None
    and "empty" not in case.name
    and case.name not in ("sequence", "no size")
    and not any(isinstance(value, Batch) and value.ndim == 3 for value in case.inputs)
]


@pytest.mark.parametrize(("operator", "case"), CASES)
def test_cases(operator: Any, case: Case) -> None:
    """Layouts aside: DALI says "**"."""
    given = {name: value for name, value in case.arguments.items() if name != "batch_size"}
    ours = operator(*case.inputs, **case.arguments)
    batches = [value for value in case.inputs if isinstance(value, Batch)]
    inputs: list[Any] = (
        list(batches) if len(batches) == len(case.inputs) else [case.inputs[0], case.inputs[1]]
    )
    if not inputs:
        identity = [np.eye(*one.shape, dtype=np.float32) for one in ours.tensors]
        inputs = [identity]
    theirs = reference(operator.name, inputs, **given)
    assert_close(ours, theirs, exact=False, layout=False)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    matrix=st.lists(st.floats(-9, 9, width=32), min_size=6, max_size=6),
    name=st.sampled_from(["M", "MT"]),
    kind=st.sampled_from([np.uint8, np.int16, np.float32]),
)
def test_points(matrix: list[float], name: str, kind: Any) -> None:
    generator = np.random.default_rng(0)
    points = [generator.integers(0, 99, (count, 2)).astype(kind) for count in (1, 7, 30)]
    given_matrix: dict[str, Any] = {name: tuple(matrix)}
    check("coord_transform", points, exact=False, **given_matrix)
