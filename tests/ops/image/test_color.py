"""Color operators and blur: properties that need no reference, and the same bits when fused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.ops.image.filter.blur_rows import reflect
from gradiva.ops.math.series import decay, sine_cosine
from tests.tiers import few

SPACES = (types.RGB, types.BGR, types.GRAY, types.YCbCr)


def pictures(channels: int = 3) -> Any:
    generator = np.random.default_rng(1)
    shapes = ((50, 70, channels), (33, 41, channels), (64, 64, channels))
    return gradiva.batch([generator.integers(0, 256, s, np.uint8) for s in shapes], layout="HWC")


def chain(images: Any) -> Any:
    images = gradiva.resize(images, size=(40, 36))
    images = gradiva.color_twist(images, hue=20.0, saturation=1.3, contrast=0.9)
    images = gradiva.brightness(images, brightness=1.1)
    images = gradiva.hue(images, hue=-35.0)
    return gradiva.crop_mirror_normalize(images, crop=(24, 30), mean=[9.0, 8.0, 7.0], mirror=1)


def to_gray(images: Any) -> Any:
    images = gradiva.saturation(gradiva.crop(images, crop=(30, 40)), saturation=0.4)
    gray = gradiva.color_space_conversion(images, image_type=types.RGB, output_type=types.GRAY)
    return gradiva.contrast(gray, contrast=1.5)


def through_gray(images: Any) -> Any:
    colors = gradiva.color_space_conversion(
        to_gray(images), image_type=types.GRAY, output_type=types.YCbCr
    )
    return gradiva.flip(gradiva.hsv(colors, hue=12.0, dtype=gradiva.float32))


def blurred(images: Any) -> Any:
    blurred = gradiva.gaussian_blur(gradiva.hsv(images, value=0.7), sigma=[0.8, 1.5])
    return gradiva.color_twist(gradiva.flip(blurred), contrast=1.2)


@pytest.mark.parametrize("function", few([chain, to_gray, through_gray, blurred], count=2))
def test_pipelines_give_the_bits_of_single_calls(function: Any) -> None:
    images = pictures()

    @pipeline_def(batch_size=3, num_threads=2)
    def pipeline() -> Any:
        return function(fn.external_source([images], cycle=True))

    pipe = pipeline()
    (captured,) = pipe.run()
    pipe.close()
    eager = function(images)
    assert captured.layout == eager.layout
    for k in range(3):
        np.testing.assert_array_equal(captured.at(k), eager.at(k))


@pytest.mark.parametrize("target", SPACES)
@pytest.mark.parametrize("source", SPACES)
def test_planes_hold_what_interleaved_pixels_hold(source: Any, target: Any) -> None:
    """Also where one channel becomes three, or three become one; samples longer than a strip."""
    if source == target:
        return
    images = pictures(1 if source == types.GRAY else 3)
    planes = gradiva.batch(
        [np.ascontiguousarray(images.at(k).transpose(2, 0, 1)) for k in range(3)], layout="CHW"
    )
    arguments = {"image_type": source, "output_type": target}
    last = gradiva.color_space_conversion(images, **arguments)
    first = gradiva.color_space_conversion(planes, **arguments)
    assert first.layout == "CHW"
    for k in range(3):
        np.testing.assert_array_equal(first.at(k).transpose(1, 2, 0), last.at(k))


def test_ycbcr_there_and_back() -> None:
    """By the formulas of BT.601 in float64, rounded; and back within the rounding."""
    images = pictures()
    ycc = gradiva.color_space_conversion(images, image_type=types.RGB, output_type=types.YCbCr)
    back = gradiva.color_space_conversion(ycc, image_type=types.YCbCr, output_type=types.RGB)
    for k in range(3):
        r, g, b = np.moveaxis(images.at(k).astype(np.float64), -1, 0)
        luma = 0.299 * r + 0.587 * g + 0.114 * b
        expected = np.stack(
            [
                16 + luma * 219 / 255,
                128 + (b - luma) / 1.772 * 224 / 255,
                128 + (r - luma) / 1.402 * 224 / 255,
            ],
            axis=-1,
        )
        assert np.abs(ycc.at(k) - expected).max() < 0.5001
        assert np.abs(back.at(k).astype(int) - images.at(k)).max() <= 2


def test_bad_numbers_do_no_harm() -> None:
    """Infinite and missing numbers make values, not errors or crashes."""
    images = pictures()
    for bad in (np.nan, np.inf, -np.inf, 3e38):
        for name in ("hue", "saturation"):
            made = getattr(gradiva, name)(images, **{name: bad})
            assert made.shape == images.shape
        twisted = gradiva.color_twist(images, brightness=bad, contrast=bad)
        assert twisted.shape == images.shape
        with pytest.raises(gradiva.OperatorValueError, match=r"sigma|window"):
            gradiva.gaussian_blur(images, sigma=bad)


def test_series() -> None:
    """Correctly rounded, but for a few values in a million."""
    degrees = np.random.default_rng(0).uniform(-2000, 2000, 50000).astype(np.float32)
    degrees[:49] = np.arange(-360, 375, 15)
    sine, cosine = sine_cosine(degrees)
    radians = (degrees * np.float64(math.pi / 180)).astype(np.float32).astype(np.float64)
    for got, exact in ((sine, np.sin(radians)), (cosine, np.cos(radians))):
        assert (got != exact.astype(np.float32)).sum() <= 1
    values = np.concatenate([np.linspace(0, 80, 9999), [745.0, 1e9]])
    np.testing.assert_allclose(decay(values), np.exp(-values), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_reflect(size: int) -> None:
    expected = np.pad(np.arange(size), 30, mode="reflect")
    assert [reflect(k, size) for k in range(-30, size + 30)] == expected.tolist()


@pytest.mark.full
@pytest.mark.parametrize("half", range(10))
def test_blur_is_a_weighted_sum(half: int) -> None:
    """Every number of taps, in NumPy; threads and batches change no bit."""
    images = pictures()
    made = gradiva.gaussian_blur(images, window_size=2 * half + 1, dtype=gradiva.float32)
    sigma = 0.3 * (half - 1) + 0.8
    window = np.exp(-0.5 * (np.arange(-half, half + 1) / sigma) ** 2)
    window /= window.sum()
    for k in range(3):
        image = images.at(k).astype(np.float64)
        padded = np.pad(image, ((half, half), (half, half), (0, 0)), mode="reflect")
        rows = sum(w * padded[i : i + image.shape[0]] for i, w in enumerate(window))
        both = sum(w * rows[:, i : i + image.shape[1]] for i, w in enumerate(window))
        np.testing.assert_allclose(made.at(k), both, rtol=3e-6)
        alone = gradiva.gaussian_blur(
            gradiva.batch([images.at(k)], layout="HWC"),
            window_size=2 * half + 1,
            dtype=gradiva.float32,
        )
        np.testing.assert_array_equal(made.at(k), alone.at(0))


@pytest.mark.full
def test_blur_of_nothing() -> None:
    """DALI dies of a sample without rows; ours returns it."""
    for shape in ((0, 5, 3), (5, 0, 3), (5, 5, 0)):
        empty = gradiva.batch([np.zeros(shape, np.uint8)], layout="HWC")
        assert gradiva.gaussian_blur(empty, sigma=1.0).at(0).shape == shape
