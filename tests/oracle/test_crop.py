"""crop: equal to DALI, value by value; and what one refuses, the other does too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import DType, batch

from .pictures import pictures, ragged
from .reference import DTYPES, NAMES, REFUSALS, check, reference

LAYOUTS = ("HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "")
POLICIES = ("error", "pad", "trim_to_shape")
WINDOWS: tuple[dict[str, Any], ...] = (
    {"crop": (2, 3)},
    {"crop": (2, 3, 4)},
    {"crop": (6, 7)},
    {"crop": (7, 6, 11)},
    {"crop_h": 3.7, "crop_w": 0.0},
    {"crop_h": 2.0, "crop_w": 3.0, "crop_d": 2.0},
    {},
    {"crop_h": 2.0},
    {"crop_d": 2.0},
    {"crop": (2.0,)},
    {"crop": (2, 2), "crop_w": 2.0},
    {"crop": (3, 3), "crop_pos_x": 1.2},
    {"crop": (-1.0, 1.4)},
    {"crop": (3, 4), "crop_pos_x": [0, 0.3, 1], "crop_pos_y": [0.5, 0.21, 0.99]},
    {"crop": np.array([[1, 2], [3, 4], [12, 3]], np.float32)},
    {"crop_h": [1, 5, 9], "crop_w": 2.0, "crop_d": 3.0, "crop_pos_z": 0.8},
)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_windows(layout: str, policy: str) -> None:
    samples = ragged(layout)
    fills = (9.7, [1.0, 2.0, 300.0]) if policy == "pad" else (9.7,)
    for fill in fills:
        for window in WINDOWS:
            for rounding in ("round", "truncate"):
                check(
                    "crop",
                    samples,
                    layout=layout,
                    both_may_refuse=True,
                    rounding=rounding,
                    out_of_bounds_policy=policy,
                    fill_values=fill,
                    **window,
                )


def test_two_fill_values_for_three_channels() -> None:
    check(
        "crop",
        ragged("HWC"),
        layout="HWC",
        both_may_refuse=True,
        crop=(9, 9),
        out_of_bounds_policy="pad",
        fill_values=[1.0, 2.0],
    )


@pytest.mark.parametrize("rounding", ["round", "truncate"])
def test_anchors(rounding: str) -> None:
    """600 windows in long rows: positions on ties, and off by less than float32 resolves."""
    generator = np.random.default_rng(1)
    count = 600
    extents = generator.integers(1, 3000, count)
    positions = generator.uniform(0, 1, count).astype(np.float32)
    positions[::2] = generator.integers(0, 9, count // 2) / 8
    widths = generator.integers(1, 4000, count).astype(np.float32) + np.float32(0.6)
    rows = [np.arange(extent, dtype=np.int32).reshape(1, extent, 1) for extent in extents]
    check(
        "crop",
        rows,
        layout="HWC",
        crop_w=widths,
        crop_h=1.0,
        crop_pos_x=positions,
        out_of_bounds_policy="pad",
        rounding=rounding,
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bool"])
def test_dtypes(name: str) -> None:
    """To uint8 floats are truncated, here alone; fill values are cast as C does."""
    generator = np.random.default_rng(2)
    dtype = DTYPES[name].numpy
    wide = 150.0 if dtype.kind == "f" else 50.0
    samples = [np.abs(generator.normal(0, wide, (5, 6, 3))) for _ in range(2)]
    if dtype.kind == "f":
        samples = [sample * generator.choice([-1, 1], sample.shape) for sample in samples]
    arrays = [np.minimum(sample, 120 if dtype.kind != "f" else 1e9) for sample in samples]
    for fill in (2.5, -1.5, 300.0):
        for out in (None, "uint8", "float32", "float16"):
            given_dtype: dict[str, Any] = {} if out is None else {"dtype": DTYPES[out]}
            check(
                "crop",
                [array.astype(dtype) for array in arrays],
                layout="HWC",
                crop=(7, 3),
                out_of_bounds_policy="pad",
                fill_values=fill,
                **given_dtype,
            )


@pytest.mark.parametrize("out", [dtype for dtype in DTYPES.values() if dtype.name != "int16"])
def test_refused_dtypes(out: DType) -> None:
    check(
        "crop", ragged("HWC", np.int16), layout="HWC", both_may_refuse=True, crop=(2, 2), dtype=out
    )


def test_booleans_are_ours_alone() -> None:
    """DALI has no bool here; ours moves any element."""
    samples = ragged("HWC", bool)
    with pytest.raises(REFUSALS):
        reference("crop", [samples], layout="HWC", crop=(2, 2))
    ours = gradiva.crop(batch(samples, layout="HWC"), crop=(2, 2), crop_pos_x=0, crop_pos_y=0)
    for index, sample in enumerate(samples):
        np.testing.assert_array_equal(ours.at(index), sample[:2, :2])


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    size=st.tuples(st.floats(1, 140), st.floats(1, 140)),
    position=st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32)),
    policy=st.sampled_from(POLICIES),
    rounding=st.sampled_from(["round", "truncate"]),
    fill=st.floats(-300, 600),
)
def test_pictures(
    size: tuple[float, float],
    position: tuple[float, float],
    policy: str,
    rounding: str,
    fill: float,
) -> None:
    check(
        "crop",
        pictures(),
        both_may_refuse=True,
        crop=size,
        crop_pos_x=position[0],
        crop_pos_y=position[1],
        out_of_bounds_policy=policy,
        rounding=rounding,
        fill_values=fill,
    )
