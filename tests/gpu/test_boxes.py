"""Operators on boxes through their GPU kernels, beyond their cases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators
from gradiva.eager.values.batch import batch

from .harness import all_launches, planned
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def test_logarithms_of_ratios_without_an_extent(tmp_path: Path) -> None:
    """A box without width, and anchors without: infinite and undefined differences."""
    boxes = batch([np.array([[0.2, 0.1, 0.2, 0.6], [0.1, 0.1, 0.4, 0.5]], np.float32)])
    labels = batch([np.array([3, 4], np.int32)])
    anchors = [0.0, 0.0, 0.4, 0.5, 0.5, 0.5, 0.5, 0.9, 0.6, 0.6, 1.0, 0.9]
    flat = batch([np.array([[0.5, 0.5, 0.5, 0.9], [0.9, 0.1, 0.6, 0.4]], np.float32)])
    cases = [
        Case("box", (boxes, labels), {"anchors": anchors, "offset": True}),
        Case("anchor", (flat, labels), {"anchors": anchors[4:8] * 2, "offset": True}),
    ]
    found = planned(operators["box_encoder"], cases)
    run_launches(all_launches(found), tmp_path)
    values = set()
    for one in found:
        assert one.tolerance == 0
        for ours, expected in zip(one.samples, one.expected, strict=True):
            np.testing.assert_array_equal(ours, expected, err_msg=one.name)
            values |= {str(value) for value in np.asarray(expected).ravel()}
    assert {"-inf", "nan"} <= values
