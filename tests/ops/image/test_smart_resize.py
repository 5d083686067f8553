"""`smart_resize`: its rule of sizes by plain arithmetic, its pixels by `resize`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, fn
from gradiva.ops.image.patches.smart_resize import smart_sizes
from tests.tiers import examples

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]


def by_hand(height: int, width: int, factor: int, least: int, most: int) -> tuple[int, int]:
    """The rule, one image at a time."""
    high, wide = (round(side / factor) * factor for side in (height, width))
    if high * wide > most:
        ratio = math.sqrt(height * width / most)
        high, wide = (
            max(factor, math.floor(side / ratio / factor) * factor) for side in (height, width)
        )
    elif high * wide < least:
        ratio = math.sqrt(least / (height * width))
        high, wide = (math.ceil(side * ratio / factor) * factor for side in (height, width))
    return high, wide


@pytest.mark.full
@settings(max_examples=examples(1000, quick=200), deadline=None)
@given(
    st.integers(1, 9000),
    st.floats(1 / 200, 200),
    st.sampled_from((14, 16, 28, 32, 48)),
    st.sampled_from((1, 3136, 65536, 100352)),
    st.sampled_from((100352, 401408, 1003520, 16777216)),
)
def test_sizes(height: int, aspect: float, factor: int, least: int, most: int) -> None:
    width = max(1, int(height * aspect))
    if max(height, width) > 200 * min(height, width):
        return
    made = smart_sizes(
        np.array([[height, width]]), factor, np.array([least]), np.array([most])
    ).tolist()
    assert tuple(made[0]) == by_hand(height, width, factor, least, most)


@pytest.mark.parametrize("compat", ["pil", "torchvision", "gradiva"])
@pytest.mark.parametrize("filter", [1, 2])
def test_pixels(compat: str, filter: int) -> None:
    """They are those of `resize` to these sizes, in every mode."""
    shapes = ((30, 45, 3), (90, 20, 3), (1, 9, 3), (56, 56, 3))
    samples = [np.random.default_rng(i).integers(0, 256, s, np.uint8) for i, s in enumerate(shapes)]
    arguments: dict[str, Any] = {
        "patch_size": 4,
        "min_pixels": 400,
        "max_pixels": 2000,
        "interp_type": filter,
    }
    batch = gradiva.batch(samples, layout="HWC")
    made = gradiva.smart_resize(batch, compat=compat, **arguments)
    sizes = [by_hand(s.shape[0], s.shape[1], 8, 400, 2000) for s in samples]
    assert [s[:2] for s in made.shape] == sizes
    plain: dict[str, Any] = {} if compat == "gradiva" else {"compat": compat}
    wanted = gradiva.resize(batch, size=np.array(sizes), interp_type=filter, **plain)

    @gradiva.pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def pipeline() -> Any:
        images = fn.external_source(lambda: samples, layout="HWC")
        return fn.brightness(fn.smart_resize(images, compat=compat, **arguments), brightness=0.5)

    (piped,) = pipeline().run()
    dark = gradiva.brightness(wanted, brightness=0.5)
    for i in range(4):
        np.testing.assert_array_equal(made.at(i), wanted.at(i))
        np.testing.assert_array_equal(piped.at(i), dark.at(i))


def test_defaults_and_arguments_per_sample() -> None:
    samples = [np.zeros((300, 451, 3), np.uint8), np.zeros((400, 600, 3), np.uint8)]
    batch = gradiva.batch(samples, layout="HWC")
    assert gradiva.smart_resize(batch).shape == [(308, 448, 3), (392, 588, 3)]
    few = gradiva.smart_resize(batch, max_pixels=[50_000, 1_000_000])
    assert few.shape == [(168, 252, 3), (392, 588, 3)]
    assert gradiva.smart_resize(samples[0], patch_size=16).shape == (288, 448, 3)
    frames = gradiva.smart_resize(np.zeros((2, 30, 60, 3), np.uint8), max_pixels=10_000)
    assert frames.shape == (2, 56, 84, 3)


def test_refused() -> None:
    wide = gradiva.batch([np.zeros((9, 9, 3), np.uint8), np.zeros((2, 401, 3), np.uint8)])
    with pytest.raises(OperatorValueError, match=r"(?s)at most 200 times.*2 x 401.*sample 1"):
        gradiva.smart_resize(wide)
    assert gradiva.smart_resize(np.zeros((2, 400, 3), np.uint8)).shape[0] == 28
    image = np.zeros((30, 30, 3), np.uint8)
    with pytest.raises(OperatorValueError, match="`min_pixels`"):
        gradiva.smart_resize(image, min_pixels=4000, max_pixels=3136)
    with pytest.raises(OperatorValueError, match="`max_pixels`"):
        gradiva.smart_resize(image, max_pixels=0)
    with pytest.raises(OperatorValueError, match="`merge_size`"):
        gradiva.smart_resize(image, merge_size=0)
    with pytest.raises(OperatorTypeError, match="`compat`"):
        gradiva.smart_resize(np.zeros((30, 30, 3), np.int8))
    with pytest.raises(OperatorTypeError, match="layout"):
        gradiva.smart_resize(gradiva.tensor(np.zeros((2, 3, 3, 1), np.uint8), layout="DHWC"))
