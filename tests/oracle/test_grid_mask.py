"""grid_mask against DALI: exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import pictures
from .reference import NAMES, check


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    tile=st.integers(1, 60),
    ratio=st.one_of(st.floats(-0.5, 1.5, width=32), st.sampled_from([0.25, 0.5, 0.1])),
    angle=st.one_of(st.floats(-7, 7, width=32), st.sampled_from([0.0, np.pi / 2, np.pi / 4])),
    shift=st.tuples(*[st.one_of(st.floats(-99, 99, width=32), st.integers(-9, 9))] * 2),
)
def test_pictures(tile: int, ratio: float, angle: float, shift: tuple[float, float]) -> None:
    check(
        "grid_mask",
        pictures(),
        tile=tile,
        ratio=ratio,
        angle=angle,
        shift_x=shift[0],
        shift_y=shift[1],
    )


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32"])
def test_dtypes(dtype: str) -> None:
    check("grid_mask", pictures(dtype), tile=7, angle=0.3)


def test_per_sample() -> None:
    images = [np.full((40, 50 + k, 2), 9, np.uint8) for k in range(3)]
    given: dict[str, Any] = {
        "tile": np.array([5, 9, 30]),
        "ratio": np.array([0.5, 0.3, 0.7], np.float32),
        "angle": np.array([0, 1, -2], np.float32),
        "shift_x": np.array([1, 2.5, 3], np.float32),
        "shift_y": np.array([-1, 0, 0.25], np.float32),
    }
    check("grid_mask", images, layout="HWC", **given)


@pytest.mark.parametrize("layout", ["CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW"])
@pytest.mark.parametrize("dtype", NAMES)
def test_other_layouts_and_dtypes(layout: str, dtype: str) -> None:
    """DALI takes HWC for every layout; ours masks the same pixels of each plane."""
    arguments: dict[str, Any] = {"tile": 4, "angle": 0.3}
    mask = gradiva.grid_mask(np.ones((9, 11, 1), np.uint8), **arguments)
    shape = [{"H": 9, "W": 11, "C": 3, "F": 2}[letter] for letter in layout]
    image = np.ones(shape, dtype)
    made = gradiva.grid_mask(batch([image], layout=layout), **arguments).at(0)
    folded = [layout.index(letter) for letter in "HW"]
    expected = np.expand_dims(
        np.asarray(mask)[..., 0], [k for k in range(len(layout)) if k not in folded]
    )
    np.testing.assert_array_equal(made, np.broadcast_to(expected, shape).astype(dtype))
