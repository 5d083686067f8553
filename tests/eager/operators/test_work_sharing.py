"""Threads share the samples of a call in compiled code: the same bits as one thread makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.operators.call
from gradiva.eager.jit.work_sharing import share_ranges
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase
from gradiva.extension import checks
from gradiva.extension.modes import CaseCalls
from tests.eager.operators.test_operators import CASES, GOOD

SHARED = ("flip", "brightness", "resize", "warp_affine", "reductions.mean")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Small batches are shared, too; how many ranges each call had."""
    counts: list[int] = []

    def noted(pool: Any, ranges: Any, calls: Any, again: Any) -> None:
        counts.append(len(ranges))
        share_ranges(pool, ranges, calls, again)

    monkeypatch.setattr(gradiva.eager.operators.call, "_INLINE_BYTES", 0)
    monkeypatch.setattr(gradiva.eager.operators.call, "share_ranges", noted)
    return counts


@pytest.mark.full
@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_same_bits(operator: OperatorBase, case: Case, shared: list[int]) -> None:
    assert checks.check_threads(CaseCalls(operator, case))
    good = [one.name for one in CASES[operator.name] if one.raises is None]
    if operator.name in SHARED and case.name == good[0]:
        assert min(shared, default=0) > 1


def test_samples_of_a_call(shared: list[int]) -> None:
    """All of them are made once, in ranges that threads take."""
    images = np.random.default_rng(1).integers(0, 256, (40, 9, 7, 3), np.uint8)
    gradiva.set_num_threads(3)
    try:
        found = gradiva.flip(gradiva.as_batch(images), horizontal=1, vertical=0)
    finally:
        gradiva.set_num_threads(None)
    assert shared[0] > 3
    assert (np.asarray(found.cpu()) == images[:, :, ::-1]).all()
