"""Lossless JPEG of 8 bits: the pixels that were coded, in every kind of output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import types
from gradiva.eager.support.errors import SampleDataError
from tests.needs import needs_simplejpeg

from .lossless_jpegs import lossless_jpeg

RANDOM = np.random.default_rng(2)


def decoded(data: bytes, kind: str) -> np.ndarray[Any, Any]:
    array = np.frombuffer(data, np.uint8)
    return np.asarray(gradiva.decoders.image(array, output_type=types.ImageType[kind]))


@pytest.mark.parametrize("jfif", [False, True])
def test_gray(jfif: bool) -> None:
    image = RANDOM.integers(0, 256, (9, 13, 1)).astype(np.uint8)
    data = lossless_jpeg(image, jfif=jfif)
    for kind, channels in (("GRAY", 1), ("RGB", 3), ("BGR", 3), ("ANY_DATA", 1)):
        np.testing.assert_array_equal(decoded(data, kind), np.repeat(image, channels, axis=2))


@pytest.mark.parametrize("adobe", [False, True])
def test_colors(adobe: bool) -> None:
    image = RANDOM.integers(0, 256, (90, 81, 3)).astype(np.uint8)
    data = lossless_jpeg(image, adobe=adobe)
    for kind in ("RGB", "ANY_DATA"):
        np.testing.assert_array_equal(decoded(data, kind), image)
    np.testing.assert_array_equal(decoded(data, "BGR"), image[..., ::-1])
    gray = image.astype(np.float64) @ [0.299, 0.587, 0.114]
    assert np.abs(decoded(data, "GRAY")[..., 0] - gray).max() <= 0.51
    array = np.frombuffer(data, np.uint8)
    part = gradiva.decoders.image_slice(array, start=(7, 11), shape=(20, 30), axis_names="HW")
    np.testing.assert_array_equal(part, image[7:27, 11:41])
    np.testing.assert_array_equal(gradiva.decoders.image(array, min_size=4), image)


def test_ycbcr() -> None:
    """JFIF says that three samples are YCbCr."""
    image = RANDOM.integers(0, 256, (9, 13, 3)).astype(np.uint8)
    found = decoded(lossless_jpeg(image, jfif=True), "RGB").astype(int)
    assert np.abs(found - np.asarray(Image.fromarray(image, "YCbCr").convert("RGB"))).max() <= 1


@needs_simplejpeg
def test_other_depths_and_damage() -> None:
    image = RANDOM.integers(0, 256, (30, 31, 3)).astype(np.uint8)
    with pytest.raises(SampleDataError, match="lossless JPEG with 12-bit samples"):
        decoded(lossless_jpeg(image.astype(np.uint16) << 4, bits=12), "RGB")
    data = lossless_jpeg(image)
    with pytest.raises(SampleDataError, match="cut"):
        decoded(data[: len(data) // 2], "RGB")
