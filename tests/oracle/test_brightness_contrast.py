"""brightness_contrast against DALI: exact, with and without each argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch

from .pictures import Array, pictures, values
from .reference import DTYPES, NAMES, REFUSALS, assert_close, check, fn, reference

SHARED = ("uint8", "int16", "int32", "float32")
"""What DALI takes; ours also takes int8 and uint16."""


def extreme(name: str, generator: np.random.Generator) -> list[Array]:
    arrays = [values(DTYPES[name].numpy, generator, 300).reshape(10, 10, 3) for _ in range(3)]
    if name == "float32":
        # NaN as an integer differs on purpose: see test_cast.py.
        arrays = [np.where(np.isnan(array), np.float32(5), array) for array in arrays]
    return arrays


def drawn(generator: np.random.Generator) -> dict[str, Any]:
    """Random arguments: each not given, one number, or one per sample."""
    spreads = {
        "brightness": (1.0, 2.0), "contrast": (1.0, 2.0), "brightness_shift": (0.0, 0.5),
        "contrast_center": (0.0, 100.0),
    }  # fmt: skip
    given: dict[str, Any] = {}
    for name, (center, spread) in spreads.items():
        if generator.random() < 0.6:
            rows = generator.normal(center, spread, 3).astype(np.float32)
            given[name] = rows if generator.random() < 0.5 else float(rows[0])
    return given


@pytest.mark.parametrize("target", SHARED)
@pytest.mark.parametrize("source", SHARED)
def test_values(source: str, target: str) -> None:
    generator = np.random.default_rng(7)
    for _ in range(12):
        images = batch(extreme(source, generator), layout="HWC")
        arguments = drawn(generator)
        check("brightness_contrast", images, dtype=DTYPES[target], **arguments)


def test_brightness_and_contrast_alone() -> None:
    """The operators `brightness` and `contrast` of DALI are ours with fewer arguments."""
    images = pictures()
    brighter = gradiva.brightness_contrast(images, brightness=1.3, brightness_shift=-0.1)
    assert_close(
        brighter,
        reference(lambda x: fn.brightness(x, brightness=1.3, brightness_shift=-0.1), [images]),
    )
    harder = gradiva.brightness_contrast(images, contrast=1.7, contrast_center=100.0)
    assert_close(
        harder, reference(lambda x: fn.contrast(x, contrast=1.7, contrast_center=100.0), [images])
    )


@settings(max_examples=30, derandomize=True, deadline=None)
@given(
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "brightness": st.floats(-2, 3, width=32),
            "contrast": st.floats(-2, 3, width=32),
            "brightness_shift": st.floats(-1, 1, width=32),
            "contrast_center": st.floats(-300, 300, width=32),
        },
    ),
    target=st.sampled_from(SHARED),
)
def test_pictures(arguments: dict[str, Any], target: str) -> None:
    check("brightness_contrast", pictures(), dtype=DTYPES[target], **arguments)


@pytest.mark.parametrize("shape", [(4, 5, 3), (2, 4, 5, 3), (2, 2, 4, 5, 3), (4, 5), (4,)])
@pytest.mark.parametrize("layout", ["given", ""])
def test_layouts(shape: tuple[int, ...], layout: str) -> None:
    """Channels last, as images or as sequences; without a layout by the number of axes."""
    letters = {3: "HWC", 4: "FHWC", 5: "FDHWC", 2: "HW", 1: "W"}[len(shape)] if layout else ""
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    # Gray images without a channel axis (HW) are ours alone.
    if len(shape) == 2:
        with pytest.raises(REFUSALS):
            reference("brightness_contrast", [[image]], layout=letters, contrast=2.0)
        assert gradiva.brightness_contrast(batch([image]), contrast=2.0).layout == "HW"
        return
    check("brightness_contrast", [image], layout=letters, both_may_refuse=True, contrast=2.0)


@pytest.mark.parametrize("layout", ["CHW", "FCHW", "CDHW"])
def test_channels_first_is_ours_alone(layout: str) -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 2, 5, 4)[-len(layout) :], np.uint8)
    with pytest.raises(REFUSALS):
        reference("brightness_contrast", [[image]], layout=layout, contrast=2.0)
    ours = gradiva.brightness_contrast(batch([image], layout=layout), contrast=2.0)
    flat = gradiva.brightness_contrast(batch([image.reshape(1, -1, 1)]), contrast=2.0)
    np.testing.assert_array_equal(ours.at(0).ravel(), flat.at(0).ravel())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SHARED])
def test_dtypes_that_the_reference_refuses(name: str) -> None:
    image = np.ones((2, 2, 1), DTYPES[name].numpy)
    whole = np.ones((2, 2, 1), np.uint8)
    if name not in ("int8", "uint16"):
        check("brightness_contrast", [image], layout="HWC", both_may_refuse=True, contrast=2.0)
        check(
            "brightness_contrast", [whole], layout="HWC", both_may_refuse=True, dtype=DTYPES[name]
        )
        return
    with pytest.raises(REFUSALS):
        reference("brightness_contrast", [[image]], layout="HWC", contrast=2.0)
    with pytest.raises(REFUSALS):
        reference("brightness_contrast", [[whole]], layout="HWC", dtype=DTYPES[name])
    # int8 has its middle at 64, uint16 at 32768: what contrast leaves as it is.
    middle = {"int8": 64, "uint16": 32768}[name]
    still = batch([np.full((2, 2, 1), middle, DTYPES[name].numpy)])
    assert (gradiva.brightness_contrast(still, contrast=0.25).at(0) == middle).all()
