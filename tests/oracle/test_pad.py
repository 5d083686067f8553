"""pad: equal to DALI, and what one refuses, the other does too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import pictures, ramp
from .reference import DTYPES, NAMES, check

ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"fill_value": -2.7},
    {"fill_value": [1, 2.5, 300]},
    {"axes": (0, 1)},
    {"axes": -1},
    {"axes": ()},
    {"axes": (0, 0)},
    {"axes": 5},
    {"axis_names": "W"},
    {"axis_names": "WH"},
    {"axis_names": "D"},
    {"axis_names": ""},
    {"axis_names": "W", "axes": 1},
    {"axes": np.array([[0], [1], [1]])},
    {"axes": np.array([[0, 1], [1, 2], [2, 1]]), "align": 4},
    {"shape": (3, 12), "axes": (0, 1)},
    {"shape": (0, 12), "axes": (0, 1)},
    {"shape": (-1, 12), "axes": (0, 1)},
    {"shape": 9},
    {"shape": (9, 9), "axes": 0},
    {"shape": np.array([[9, 9, 1], [3, 12, 1], [0, 1, 4]])},
    {"align": 4},
    {"align": (4, 3), "axes": (1, 0)},
    {"align": 0},
    {"align": (4, -1), "axes": (1, 0)},
    {"align": np.array([[2, 3, 1], [4, 5, 2], [7, 1, 1]])},
    {"shape": 7, "align": 3, "axes": (0, 1)},
)


@pytest.mark.parametrize("layout", ["HWC", "CHW", ""])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_arguments(arguments: dict[str, Any], layout: str) -> None:
    samples = [ramp(4, 6, 3), ramp(5, 2, 3), ramp(1, 9, 2)]
    check("pad", samples, layout=layout, both_may_refuse=True, **arguments)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str) -> None:
    """float64 is ours alone."""
    samples = [ramp(4, 6, dtype=DTYPES[name].numpy), ramp(5, 2, dtype=DTYPES[name].numpy)]
    for fill in (2.5, -1.5, 300.0):
        if name != "float64":
            check("pad", samples, layout="HW", fill_value=fill)
            continue
        ours = gradiva.pad(batch(samples, layout="HW"), fill_value=fill)
        for index, sample in enumerate(samples):
            wide = [(0, to - n) for n, to in zip(sample.shape, (5, 6), strict=True)]
            np.testing.assert_array_equal(
                ours.at(index), np.pad(sample, wide, constant_values=fill)
            )


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    shape=st.tuples(st.integers(-1, 150), st.integers(-1, 150)),
    align=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    fill=st.floats(-300, 600),
)
def test_pictures(shape: tuple[int, int], align: tuple[int, int], fill: float) -> None:
    check("pad", pictures(), axis_names="HW", shape=shape, align=align, fill_value=fill)
