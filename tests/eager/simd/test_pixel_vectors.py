"""Pixels of three channels moved and mixed by vectors: what plain loops over them give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit.jit import jit
from gradiva.eager.simd.pixel_vectors import blend_three, move_three, reverse_pixels


@jit
def _blend(source: Any, at: int, below: int, weights: Any, target: Any) -> None:
    blend_three(source, at, 3, below, weights[0], weights[1], target, 1)


@jit
def _move(source: Any, at: int, target: Any, to: int) -> None:
    move_three(source, at, target, to)


@jit
def _reverse(source: Any, at: int, target: Any, to: int) -> None:
    reverse_pixels(source, at, target, to)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_a_pixel_is_mixed_in_the_order_that_is_told(dtype: type) -> None:
    rng = np.random.default_rng(0)
    source: Any = rng.integers(0, 100, 40).astype(dtype)
    weights = rng.random(2).astype(np.float32)
    target = np.zeros(6, np.float32)
    _blend(source, 2, 21, weights, target)
    a, b, c, d = (source[at : at + 3].astype(np.float32) for at in (2, 5, 23, 26))
    q, r = weights
    p = np.float32(1) - q
    top, low = a * p + b * q, c * p + d * q
    assert np.array_equal(target[1:4], top + (low - top) * r)
    assert target[0] == target[5] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_pixels_are_moved(dtype: type) -> None:
    source: Any = np.arange(60).astype(dtype)
    target: Any = np.zeros(60, dtype)
    _move(source, 5, target, 2)
    assert target[:7].tolist() == [0, 0, 5, 6, 7, 8, 0]
    target[:] = 0
    _reverse(source, 7, target, 4)
    expected = np.zeros_like(source)
    expected[4:52] = source[7:55].reshape(16, 3)[::-1].reshape(-1)
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("width", [16, 37])
def test_wide_images_are_mirrored(width: int) -> None:
    images = np.random.default_rng(1).integers(0, 256, (2, 5, width, 3), np.uint8)
    assert np.array_equal(gradiva.flip(gradiva.as_batch(images)).as_array(), images[:, :, ::-1])
