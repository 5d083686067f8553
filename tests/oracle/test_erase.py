"""erase: equal to DALI, and what one refuses, the other does too."""

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
    {"shape": (2, 3)},
    {"anchor": (1, 2)},
    {"anchor": (), "shape": ()},
    {"anchor": (1, 2), "shape": (2, 3)},
    {"anchor": (1.9, 2.2), "shape": (1.2, 2.9)},
    {"anchor": (-1.5, -0.5), "shape": (2.2, 1.7)},
    {"anchor": (1, 2), "shape": (-2, 3)},
    {"anchor": (1, 2), "shape": (20, 30)},
    {"anchor": (1, 2, 0, 0), "shape": (2, 3, 1, 1)},
    {"anchor": (1, 2, 0), "shape": (2, 3, 1)},
    {"anchor": (1, 2, 0, 0), "shape": (2, 3)},
    {"anchor": (1, 2), "shape": (2, 3), "axes": (1, 0)},
    {"anchor": (1, 2), "shape": (2, 3), "axes": (0, 1), "axis_names": "WH"},
    {"anchor": (1, 2), "shape": (2, 3), "axis_names": "DH"},
    {"anchor": 1, "shape": 1, "axis_names": "C"},
    {"anchor": 1, "shape": 1, "axes": 0},
    {"anchor": (0.3, 0.2), "shape": (0.5, 0.6), "normalized": True},
    {"anchor": (0.3, 0.2), "shape": (2, 3), "normalized_anchor": True},
    {"anchor": (1, 2), "shape": (0.5, 0.6), "normalized_shape": True},
    {"anchor": (1, 2), "shape": (2, 3), "normalized": False, "normalized_shape": True},
    {"anchor": (2, 3), "shape": (3, 3), "centered_anchor": True},
    {"anchor": (0.5, 0.4), "shape": (0.5, 0.3), "centered_anchor": True, "normalized": True},
    {"anchor": (1, 2), "shape": (2, 3), "fill_value": (7.9, -3.5, 300)},
    {"anchor": (1, 2), "shape": (2, 3), "fill_value": (7, 8)},
    {"anchor": (1, 2), "shape": (2, 3), "fill_value": -3.5},
    {"anchor": (1, 2), "shape": (2, 3), "fill_value": ()},
    {"anchor": np.array([[1, 2], [0, 0], [3, 3]]), "shape": np.array([[1, 2], [2, 2], [9, 1]]),
     "fill_value": np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])},
)  # fmt: skip


@pytest.mark.parametrize("layout", ["HWC", "CHW"])
@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_arguments(arguments: dict[str, Any], layout: str) -> None:
    shapes = ((5, 6, 3), (5, 4, 3), (4, 9, 3))
    samples = [ramp(*(s if layout == "HWC" else (s[2], *s[:2]))) for s in shapes]
    check("erase", samples, layout=layout, both_may_refuse=True, **arguments)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("bool", "float64")])
def test_dtypes(name: str) -> None:
    samples = [ramp(4, 6, 3, dtype=DTYPES[name].numpy)]
    for fill in (2.5, -1.5, (300.0, 1.0, 2.0)):
        check("erase", samples, layout="HWC", anchor=(1, 1), shape=(2, 3), fill_value=fill)


def test_layouts() -> None:
    volume, sound = ramp(3, 4, 5, 2, dtype=np.int16), ramp(9, dtype=np.float32)
    check("erase", [volume], layout="DHWC", anchor=(0, 1, 2), shape=(2, 2, 2), axis_names="DHW")
    check("erase", [sound], anchor=(2, 6), shape=(3, 1), axes=0)


def test_beyond_the_reference() -> None:
    """float64, negative axes, another number of regions per sample, and no layout."""
    samples = [ramp(4, 6, 3, dtype=np.float64), ramp(5, 5, 3, dtype=np.float64)]
    anchors = batch([np.array([1.0, 2.0], np.float32), np.zeros(4, np.float32)])
    shapes = batch([np.array([1.0, 2.0], np.float32), np.array([1, 1, 2, 1], np.float32)])
    for axes in (None, (-3, -2)):
        ours = gradiva.erase(batch(samples), anchor=anchors, shape=shapes, axes=axes)
        expected = [sample.copy() for sample in samples]
        expected[0][1:2, 2:4] = 0
        expected[1][:2, :1] = 0
        for index, sample in enumerate(expected):
            np.testing.assert_array_equal(ours.at(index), sample)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    anchor=st.lists(st.floats(-0.5, 1.25, width=32), min_size=4, max_size=4),
    shape=st.lists(st.floats(0, 1.25, width=32), min_size=4, max_size=4),
    centered=st.booleans(),
    relative=st.booleans(),
)
def test_pictures(anchor: list[float], shape: list[float], centered: bool, relative: bool) -> None:
    if not relative:
        anchor, shape = ([value * 90 for value in values] for values in (anchor, shape))
    check(
        "erase",
        pictures(),
        anchor=anchor,
        shape=shape,
        centered_anchor=centered,
        normalized=relative,
        fill_value=(1, 2, 3),
    )


@pytest.mark.parametrize("layout", ["HWC", "CHW", "WCH", "HCW"])
def test_regions_on_every_axis(layout: str) -> None:
    """Against NumPy: regions that are cut on one, two and three axes, a value for each channel."""
    sample, fill = ramp(3, 3, 3, dtype=np.int16), np.array([7, 8, 9])
    colors = fill.reshape([3 if letter == "C" else 1 for letter in layout])
    for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        for low, size in ((0, 1), (1, 2), (0, 3), (2, 0)):
            ours = gradiva.erase(
                batch([sample], layout=layout),
                axes=axes,
                anchor=(low,) * len(axes),
                shape=(size,) * len(axes),
                fill_value=fill.tolist(),
            )
            where = tuple(
                slice(low, low + size) if axis in axes else slice(None) for axis in range(3)
            )
            expected = sample.copy()
            expected[where] = np.broadcast_to(colors, (3, 3, 3))[where]
            np.testing.assert_array_equal(ours.at(0), expected)
