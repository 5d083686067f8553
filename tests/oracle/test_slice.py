"""slice: equal to DALI, value by value; and what one refuses, the other does too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import pictures, ragged, ramp
from .reference import DTYPES, NAMES, agree, check, reference

LAYOUTS = ("HWC", "CHW", "DHWC", "FHWC", "HW", "")
POLICIES = ("error", "pad", "trim_to_shape")
REGIONS: tuple[dict[str, Any], ...] = (
    {"start": (1, 2), "end": (3, 4)},
    {"start": (1, 2)},
    {"start": 1},
    {"end": (3, 4)},
    {"shape": (3, 9)},
    {"shape": 2},
    {"start": (-1, 2), "end": (3, 4)},
    {"start": (2, 2), "end": (1, 4)},
    {"start": (2, 2), "shape": (0, 2)},
    {"start": (2, 2), "shape": (-1, 2)},
    {"start": (20, 20), "shape": 3},
    {"rel_start": (0.3, 0.25), "rel_end": (0.7, 0.75)},
    {"rel_start": (0.5, 0.5), "rel_shape": (0.5, 0.5)},
    {"rel_start": 0.3, "shape": 2},
    {"start": 1, "rel_shape": 0.5},
    {"start": 1, "rel_end": 0.9},
    {"rel_end": 1.2},
    {"rel_start": -0.3},
    {"start": 1, "rel_start": 0.1},
    {"end": 3, "shape": 2},
    {"end": 3, "rel_shape": 0.5},
    {},
    {"start": 1, "end": 3, "axes": 0},
    {"start": 1, "end": 3, "axes": (1, -1)},
    {"start": 1, "end": 2, "axes": ()},
    {"start": 1, "axes": (0, 0)},
    {"start": 1, "axes": 7},
    {"start": (1, 0, 1), "axes": (0, 1)},
    {"start": 1, "end": 3, "axis_names": "H"},
    {"start": 1, "end": 2, "axis_names": "C"},
    {"start": 1, "end": 2, "axis_names": "F"},
    {"start": 1, "end": 3, "axis_names": "H", "axes": 0},
    {"start": np.array([[1, 2], [0, 3], [2, 2]]), "shape": np.array([[2, 2], [3, 1], [1, 1]])},
    {"start": 1, "end": 3, "axes": np.array([[0], [1], [0]])},
)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_regions(layout: str, policy: str) -> None:
    samples = ragged(layout)
    for fill in (9.7, [1.0, 2.0, 300.0]):
        for region in REGIONS:
            check(
                "slice",
                samples,
                layout=layout,
                both_may_refuse=True,
                fill_values=fill,
                out_of_bounds_policy=policy,
                **region,
            )


def test_one_axis() -> None:
    audio = [ramp(n, dtype=np.float64) for n in (9, 5, 7)]
    check("slice", audio, both_may_refuse=True, start=1)
    check("slice", audio, start=1, end=4, axes=0)
    check("slice", audio, rel_start=0.4, axes=-1)


@pytest.mark.parametrize("policy", ["pad", "trim_to_shape"])
def test_inputs(policy: str) -> None:
    """Anchors and shapes as inputs: on ties, negative, beyond the end."""
    generator = np.random.default_rng(1)
    count = 300
    rows = [
        np.arange(n, dtype=np.int32).reshape(1, n, 1) for n in generator.integers(1, 3000, count)
    ]
    images = batch(rows, layout="HWC")
    anchors = generator.uniform(-0.5, 1.2, (count, 1)).astype(np.float32)
    anchors[::2] = generator.integers(-4, 9, (count // 2, 1)) / 8
    extents = generator.uniform(0, 1.5, (count, 1)).astype(np.float32)
    extents[::3] = generator.integers(0, 9, (count // 3, 1)) / 8
    for scale, normal in ((1, True), (100, False)):
        for dtype in (np.float32, np.int32, np.int64):
            if dtype is not np.float32 and normal:
                continue
            normals = {"normalized_anchor": normal, "normalized_shape": normal}
            inputs = [images, *(batch((x * scale).astype(dtype)) for x in (anchors, extents))]
            _same(inputs, axis_names="W", out_of_bounds_policy=policy, fill_values=-1, **normals)


def _same(inputs: Any, **arguments: Any) -> None:
    agree(
        lambda: gradiva.slice(*inputs, **arguments), lambda: reference("slice", inputs, **arguments)
    )


@pytest.mark.parametrize("name", ["rel_start", "rel_end", "rel_shape"])
def test_ties(name: str) -> None:
    """Fractions whose products with the extents are nearly ties."""
    generator = np.random.default_rng(3)
    extents = generator.integers(3, 60, 300)
    at = (generator.integers(0, 1000, 300) % (extents // 2) + 0.5) / extents
    rows = [np.arange(extent, dtype=np.int32) for extent in extents]
    given_rows: dict[str, Any] = {name: at.astype(np.float32).reshape(-1, 1)}
    check("slice", rows, axes=0, **given_rows)
    start = generator.uniform(0, 0.5, (300, 1)).astype(np.float32)
    first = np.floor(start[:, 0] * extents) + 1 + generator.integers(0, 5, 300)
    shape = ((first + 0.5) / extents - start[:, 0]).astype(np.float32).reshape(-1, 1)
    for pair in ({"rel_shape": shape}, {"rel_end": start + shape}):
        check("slice", rows, axes=0, rel_start=start, out_of_bounds_policy="trim_to_shape", **pair)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bool"])
def test_dtypes(name: str) -> None:
    generator = np.random.default_rng(2)
    dtype = DTYPES[name].numpy
    sample = np.minimum(np.abs(generator.normal(0, 60, (5, 6, 3))), 120)
    if dtype.kind == "f":
        sample = sample * 3 * generator.choice([-1, 1], sample.shape)
    for fill in (2.5, -1.5, 300.0):
        for out in (None, "uint8", "float32", "float16", "int32"):
            given_dtype: dict[str, Any] = {} if out is None else {"dtype": DTYPES[out]}
            check(
                "slice",
                [sample.astype(dtype)],
                layout="HWC",
                both_may_refuse=True,
                start=(1, -1),
                shape=(3, 7),
                out_of_bounds_policy="pad",
                fill_values=fill,
                **given_dtype,
            )


def test_beyond_the_reference() -> None:
    """bool, five axes, and integers beside fractions: DALI has none of these."""
    flags, deep = ramp(4, 5, dtype=bool), ramp(2, 3, 4, 5, 6, dtype=np.int16)
    images = batch([ramp(10, 12, 3)], layout="HWC")
    taken = gradiva.slice(batch([flags]), start=1, end=3, axes=(0, 1))
    np.testing.assert_array_equal(taken.at(0), flags[1:3, 1:3])
    taken = gradiva.slice(batch([deep]), start=1, axes=(0, 1, 2, 3, 4))
    np.testing.assert_array_equal(taken.at(0), deep[1:, 1:, 1:, 1:, 1:])
    mixed = gradiva.slice(images, batch(np.array([[2, 3]])), batch(np.array([[0.5, 0.25]])))
    np.testing.assert_array_equal(mixed.at(0), images.at(0)[3:6, 2:8])


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    start=st.tuples(st.floats(-0.5, 1.25, width=32), st.floats(-0.5, 1.25, width=32)),
    # Of no extent, DALI's end may lie a rounding before its start.
    shape=st.tuples(st.floats(0.0625, 1.5, width=32), st.floats(0.0625, 1.5, width=32)),
    names=st.sampled_from(["WH", "HW", "CW"]),
    policy=st.sampled_from(POLICIES),
    fill=st.floats(-300, 600),
)
def test_pictures(
    start: tuple[float, float], shape: tuple[float, float], names: str, policy: str, fill: float
) -> None:
    check(
        "slice",
        pictures(),
        both_may_refuse=True,
        rel_start=start,
        rel_shape=shape,
        axis_names=names,
        out_of_bounds_policy=policy,
        fill_values=fill,
    )
