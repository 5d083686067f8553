"""Single operators, ours alone: `python -m pytest benchmarks --benchmark-only`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import types

PHOTOGRAPHS = sorted((Path(gradiva.__file__).parent / "photographs").rglob("*.jpg"))


@pytest.fixture(scope="module")
def encoded() -> Any:
    data = [path.read_bytes() for path in PHOTOGRAPHS]
    return gradiva.batch([data[i % len(data)] for i in range(16)])


@pytest.fixture(scope="module")
def images() -> Any:
    noise = np.random.default_rng(0).integers(0, 256, (16, 400, 600, 3), np.uint8)
    return gradiva.as_batch(noise, layout="HWC")


@pytest.fixture(scope="module")
def small() -> Any:
    return gradiva.as_batch(np.zeros((4, 8, 8, 3), np.uint8), layout="HWC")


def test_decode(benchmark: Any, encoded: Any) -> None:
    benchmark(gradiva.decoders.image, encoded)


def test_peek(benchmark: Any, encoded: Any) -> None:
    benchmark(gradiva.peek_image_shape, encoded)


@pytest.mark.parametrize("name", ["NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN"])
def test_resize(benchmark: Any, images: Any, name: str) -> None:
    interp = getattr(types, f"INTERP_{name}")
    benchmark(gradiva.resize, images, size=(224, 224), interp_type=interp)


def test_crop(benchmark: Any, images: Any) -> None:
    benchmark(gradiva.crop, images, crop=(224, 224))


def test_flip(benchmark: Any, images: Any) -> None:
    benchmark(gradiva.flip, images)


def test_crop_mirror_normalize(benchmark: Any, images: Any) -> None:
    benchmark(gradiva.crop_mirror_normalize, images, crop=(224, 224), mean=[1.0, 2.0, 3.0])


def test_brightness_contrast(benchmark: Any, images: Any) -> None:
    benchmark(gradiva.brightness_contrast, images, brightness=1.1, contrast=0.9)


def test_cast(benchmark: Any, images: Any) -> None:
    benchmark(gradiva.cast, images, dtype=gradiva.float32)


def test_transpose(benchmark: Any, images: Any) -> None:
    benchmark(gradiva.transpose, images, perm=[2, 0, 1])


def test_add(benchmark: Any, images: Any) -> None:
    benchmark(lambda: images + 1)


def test_uniform(benchmark: Any) -> None:
    benchmark(gradiva.random.uniform, batch_size=64, shape=(224, 224))


def test_small_flip(benchmark: Any, small: Any) -> None:
    benchmark(gradiva.flip, small)
