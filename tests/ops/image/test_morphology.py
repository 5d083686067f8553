"""dilate, erode and median_blur, on a GPU only in DALI, against OpenCV and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from tests.tiers import examples

cv2: Any = pytest.importorskip("cv2")

CV_BORDERS = {"constant": 0, "replicate": 1, "reflect": 2, "reflect_101": 4}
OURS: dict[str, Any] = {"dilate": gradiva.experimental.dilate, "erode": gradiva.experimental.erode}
SHAPES = ((23, 31), (1, 17), (19, 1), (1, 1))


def image(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(3)
    if dtype == "float32":
        return generator.normal(0, 9, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize("name", OURS)
@settings(max_examples=examples(60), derandomize=True, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    size=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    place=st.one_of(st.none(), st.tuples(st.floats(0, 0.99), st.floats(0, 0.99))),
    border=st.sampled_from(sorted(CV_BORDERS)),
    iterations=st.integers(1, 3),
    dtype=st.sampled_from(("uint8", "uint16", "int16", "float32")),
    channels=st.integers(1, 5),
)
def test_as_opencv(
    name: str,
    shape: Any,
    size: Any,
    place: Any,
    border: str,
    iterations: int,
    dtype: str,
    channels: int,
) -> None:
    if iterations > 1 and border != "constant":
        iterations = 1  # OpenCV takes one larger mask, which mirrors further
    array = image((*shape, channels), dtype)
    anchor = (
        (-1, -1) if place is None else tuple(int(p * n) for p, n in zip(place, size, strict=True))
    )
    expected = getattr(cv2, name)(
        array,
        np.ones(size[::-1], np.uint8),
        anchor=anchor,
        iterations=iterations,
        borderType=CV_BORDERS[border],
    ).reshape(array.shape)
    made = OURS[name](
        batch([array], layout="HWC"),
        mask_size=size,
        anchor=anchor,
        border_mode=border,
        iterations=iterations,
    )
    np.testing.assert_array_equal(made.at(0), expected)
    planes = batch([np.ascontiguousarray(array.transpose(2, 0, 1))], layout="CHW")
    turned = OURS[name](
        planes, mask_size=size, anchor=anchor, border_mode=border, iterations=iterations
    )
    np.testing.assert_array_equal(turned.at(0), expected.transpose(2, 0, 1))


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("size", [(3, 3), (5, 2), (1, 7)])
def test_as_scipy(name: str, size: tuple[int, int]) -> None:
    """Also where the image goes on at its other end."""
    ndimage = pytest.importorskip("scipy.ndimage")
    compute = ndimage.maximum_filter if name == "dilate" else ndimage.minimum_filter
    array = image((13, 17), "int16")
    for border, mode in (("wrap", "wrap"), ("clamp", "nearest"), ("reflect_101", "mirror")):
        made = OURS[name](batch([array], layout="HW"), mask_size=size, border_mode=border)
        np.testing.assert_array_equal(made.at(0), compute(array, size[::-1], mode=mode))


@settings(max_examples=examples(60), derandomize=True, deadline=None)
@given(
    shape=st.sampled_from(SHAPES),
    size=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    square=st.booleans(),
    dtype=st.sampled_from(("uint8", "uint16", "int16", "float32")),
    channels=st.integers(1, 5),
)
def test_median(shape: Any, size: Any, square: bool, dtype: str, channels: int) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    width, height = 2 * size[0] + 1, 2 * size[0 if square else 1] + 1
    array = image((*shape, channels), dtype)
    expected = ndimage.median_filter(array, (height, width, 1), mode="nearest")
    made = gradiva.experimental.median_blur(
        batch([array], layout="HWC"), window_size=(width, height)
    )
    np.testing.assert_array_equal(made.at(0), expected)


def test_names() -> None:
    """The operators are where scripts look for them."""
    for name in ("dilate", "erode", "median_blur"):
        operator = getattr(gradiva.experimental, name)
        assert getattr(gradiva.fn.experimental, name) is operator
        assert getattr(gradiva.experimental.dynamic.experimental, name) is operator
    assert gradiva.fn.experimental.filter.__wrapped__ is gradiva.filter
