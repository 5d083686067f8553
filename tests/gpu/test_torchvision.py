"""The transforms of torchvision with `device="gpu"`, on a simulated GPU: DALI's arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva

from .recipes import device, samples
from .shim import COMPILER

pytestmark = [pytest.mark.skipif(COMPILER is None, reason="g++ is not there"), pytest.mark.full]
tv: Any = gradiva.experimental.torchvision
GRAY: Any = {"image_type": "RGB", "output_type": "GRAY"}
TWIST: Any = {"brightness": 1.25, "contrast": 0.5, "saturation": 1.5, "hue": 36.0}


def sized(images: Any, sizes: Callable[[int, int], tuple[int, int]], **options: Any) -> Any:
    rows = [sizes(*shape[:2]) for shape in images.shape]
    return gradiva.resize(images, size=np.array(rows, np.float32), **options)


def shorter(height: int, width: int) -> tuple[int, int]:
    return (7, 7 * width // height) if height <= width else (7 * height // width, 7)


def at_most(height: int, width: int) -> tuple[int, int]:
    height, width = shorter(height, width)
    return (9 * height // max(height, width), 9) if width > 9 else (height, width)


def longer(height: int, width: int) -> tuple[int, int]:
    return (11 * height // width, 11) if height <= width else (11, 11 * width // height)


# What a transform does on the CPU, with the operators themselves.
CALLS: list[tuple[Any, Callable[[Any], Any]]] = [
    (tv.Resize((6, 5), device="gpu"), lambda x: gradiva.resize(x, size=(6, 5))),
    (tv.Resize(7, device="gpu"), lambda x: sized(x, shorter)),
    (tv.Resize(7, max_size=9, device="gpu"), lambda x: sized(x, at_most)),
    (tv.Resize(None, max_size=11, device="gpu"), lambda x: sized(x, longer)),
    (tv.CenterCrop((10, 8), device="gpu"), tv.CenterCrop((10, 8))),
    (tv.Pad((1, 2), fill=(1, 2, 3), device="gpu"), tv.Pad((1, 2), fill=(1, 2, 3))),
    (tv.RandomHorizontalFlip(1.0, device="gpu"), tv.RandomHorizontalFlip(1.0)),
    (tv.Grayscale(device="gpu"), lambda x: gradiva.color_space_conversion(x, **GRAY)),
    (
        tv.ColorJitter((1.25, 1.25), (0.5, 0.5), (1.5, 1.5), (0.1, 0.1), device="gpu"),
        lambda x: gradiva.color_twist(x, **TWIST),
    ),
    (
        tv.GaussianBlur((3, 5), 1.0, device="gpu"),
        lambda x: gradiva.gaussian_blur(x, window_size=(5, 3), sigma=1.0),
    ),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_values(number: int) -> None:
    transform, expected = CALLS[number]
    images = samples(3)
    wanted = expected(gradiva.batch(images, layout="HWC"))
    with device():
        mine = transform(gradiva.batch(images, layout="HWC"))
        assert mine.device.device_type == "gpu"
        bound = 1 if isinstance(transform, tv.ColorJitter) else 0
        for one, other in zip(mine.cpu(), wanted, strict=True):
            difference = np.asarray(one).astype(int) - np.asarray(other)
            assert np.abs(difference).max() <= bound
        run = tv.Compose([transform])
        made = run([Image.fromarray(image) for image in images])
        for picture, one in zip(made, mine.cpu(), strict=True):
            np.testing.assert_array_equal(np.asarray(picture).reshape(one.shape), np.asarray(one))
        del mine, run, made, one


def test_random_ones() -> None:
    """The draws are those of the CPU."""
    images = samples(3)
    names = {"size": 6, "padding": 2, "pad_if_needed": True}
    with device():
        for kind, given in ((tv.RandomCrop, names), (tv.RandomHorizontalFlip, {"p": 0.5})):
            results = []
            for where in ("cpu", "gpu"):
                gradiva.random.set_seed(7)
                made = kind(**given, device=where)(gradiva.batch(images, layout="HWC"))
                results.append([np.array(one) for one in made.cpu()])
            for one, other in zip(*results, strict=True):
                np.testing.assert_array_equal(one, other)
            del made
        some = tv.Compose(
            [tv.RandomGrayscale(0.5, device="gpu"), tv.ColorJitter(0.4, device="gpu")]
        )
        assert len(some([Image.fromarray(image) for image in images])) == 3
        del some
