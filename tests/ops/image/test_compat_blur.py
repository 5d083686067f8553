"""`gaussian_blur(compat=...)` beside torchvision, where it is installed, and beside Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFilter

import gradiva
from gradiva import OperatorTypeError, OperatorValueError
from tests.ops.image.test_compat_colors import by_torchvision, image, one, recorded

pytestmark = pytest.mark.core

KNOWN = [
    [90, 122, 153, 128, 101],
    [94, 113, 132, 131, 118],
    [93, 104, 123, 142, 142],
    [96, 96, 115, 134, 145],
    [107, 107, 125, 124, 131],
]
SIZES = ((16, 16), (31, 17), (64, 47))
WINDOWS = ((3, 3), (1, 1), (5, 9), (15, 1))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("sigma", [None, 0.3, 1.0, 2.25])
def test_as_torchvision(window: tuple[int, int], sigma: float | None) -> None:
    pytest.importorskip("torchvision")
    arguments: tuple[Any, ...] = ([*window[::-1]],) + (() if sigma is None else (sigma,))
    given: dict[str, Any] = {} if sigma is None else {"sigma": sigma}
    for seed, size in enumerate(SIZES):
        for dtype, most, share in ((np.uint8, 1, 1e-3), (np.float32, 1e-6, 1.0)):
            sample = image(seed, (*size, 3), dtype)
            expected = by_torchvision(sample, "gaussian_blur", arguments)
            more = {**given, "window_size": window, "compat": "torchvision"}
            made = one("gaussian_blur", sample, **more)
            apart = np.abs(made.astype(np.float64) - expected)
            assert apart.max() <= most
            assert (apart > 0).mean() <= share
            planes = one(
                "gaussian_blur", np.ascontiguousarray(np.moveaxis(sample, 2, 0)), "CHW", **more
            )
            np.testing.assert_array_equal(np.moveaxis(planes, 0, 2), made)


@pytest.mark.parametrize("channels", [1, 3])
def test_as_pillow(channels: int) -> None:
    for seed, size in enumerate(((1, 1), (4, 9), *SIZES)):
        sample = image(seed, (*size, channels))
        picture = Image.fromarray(sample if channels == 3 else sample[..., 0])
        for sigma in (0.0, 0.7, 3.0, (0.5, 4.0)):
            radius = (sigma[1], sigma[0]) if isinstance(sigma, tuple) else (sigma, sigma)
            single = (float(np.float32(radius[0])), float(np.float32(radius[1])))
            expected = np.asarray(picture.filter(ImageFilter.GaussianBlur(single)))
            made = one("gaussian_blur", sample, sigma=sigma, compat="pil")
            np.testing.assert_array_equal(made.reshape(expected.shape), expected)


def test_known_values() -> None:
    """Made with torchvision 0.28.0."""
    gray = (np.arange(0, 250, 10).reshape(5, 5, 1) * 7).astype(np.uint8)
    made = one("gaussian_blur", gray, window_size=3, sigma=1.0, compat="torchvision")
    assert made[..., 0].tolist() == KNOWN


@pytest.mark.parametrize(
    "arguments",
    [
        {"compat": "torchvision", "window_size": 5, "sigma": [0.4, 1.7]},
        {"compat": "pil", "sigma": [0.4, 1.7]},
    ],
)
def test_same_bits_in_a_pipeline_and_for_each_sample(arguments: Any) -> None:
    images = [image(1, (20, 30, 3)), image(2, (7, 9, 3))]
    sigmas = arguments["sigma"]
    rows = np.array(sigmas)[:, None]
    batch = gradiva.batch(images, layout="HWC")
    eager = gradiva.gaussian_blur(batch, **{**arguments, "sigma": rows})
    for made in recorded(images, "gaussian_blur", **arguments):
        for number in range(2):
            np.testing.assert_array_equal(made[number], np.asarray(eager.at(number)))
    for number in range(2):
        alone = one("gaussian_blur", images[number], **{**arguments, "sigma": sigmas[number]})
        np.testing.assert_array_equal(np.asarray(eager.at(number)), alone)
    frames = np.stack([images[0]] * 2)
    for frame in one("gaussian_blur", frames, "FHWC", **{**arguments, "sigma": sigmas[0]}):
        np.testing.assert_array_equal(frame, np.asarray(eager.at(0)))


def test_what_is_refused() -> None:
    batch = gradiva.batch([image(0, (4, 5, 3))], layout="HWC")
    with pytest.raises(OperatorValueError, match="`window_size`"):
        gradiva.gaussian_blur(batch, window_size=9, compat="torchvision")
    with pytest.raises(OperatorValueError, match="`window_size`"):
        gradiva.gaussian_blur(batch, window_size=4, compat="torchvision")
    with pytest.raises(OperatorValueError, match="`sigma`"):
        gradiva.gaussian_blur(batch, window_size=3, compat="pil")
    with pytest.raises(OperatorTypeError, match="`dtype`"):
        gradiva.gaussian_blur(batch, sigma=1.0, dtype="float32", compat="pil")
    volume = gradiva.batch([image(0, (4, 5, 6, 3))], layout="DHWC")
    with pytest.raises(OperatorTypeError, match="layout"):
        gradiva.gaussian_blur(volume, window_size=3, compat="torchvision")
