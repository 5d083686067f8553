"""The cases that operators declare, against DALI."""

from __future__ import annotations

import operator as python
from typing import Any

import pytest

from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.values.batch import Batch

from .reference import assert_close, reference

# Sums of many products are close, not equal; all other operators are exact.
RESAMPLED = ("resize", "resize_crop_mirror", "tensor_resize")
CLOSE = (
    *RESAMPLED,
    "audio_resample",
    "bbox_rotate",
    "decoders.audio",
    "filter",
    "gaussian_blur",
    "laplacian",
    "mel_filter_bank",
    "mfcc",
    "normalize",
    "power_spectrum",
    "spectrogram",
    "to_decibels",
    *(
        f"reductions.{name}"
        for name in ("mean", "mean_square", "rms", "std_dev", "sum", "variance")
    ),
)

# DALI computes its filters in float32.
NEAR = {**dict.fromkeys(RESAMPLED, 1e-4), "mel_filter_bank": 6e-6}


def _samples(case: Case) -> int:
    return max((len(value) for value in case.inputs if isinstance(value, Batch)), default=0)


CASES = [
    pytest.param(operator, case, id=f"{name}-{case.name}".replace(" ", "_"))
    for name, operator in sorted(operators.items())
    if operator.case_maker
    for case in operator.case_maker()
    if case.oracle and case.raises is None and _samples(case)
]


def tolerances(operator: OperatorBase) -> dict[str, Any]:
    """How close an operator must come, for `assert_close`."""
    near = NEAR.get(operator.name, 1e-6)
    return {"exact": operator.name not in CLOSE, "float_range": near}


@pytest.mark.parametrize(("operator", "case"), CASES)
def test_case(operator: OperatorBase, case: Case) -> None:
    ours: Any = operator
    target = python.add if operator.name == "add" else operator.name
    results = ours(*case.inputs, **case.arguments)
    results = results if isinstance(results, list | tuple) else (results,)
    expected = reference(target, list(case.inputs), outputs=len(results), named=case.arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for result, theirs in zip(results, expected, strict=True):
        assert_close(result, theirs, **tolerances(operator))
