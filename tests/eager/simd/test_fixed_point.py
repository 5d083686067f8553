"""Sums of bytes in whole numbers, moved pixels and copied bytes, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva.eager.jit.jit import jit
from gradiva.eager.simd.fixed_point import LANES, move_pixels, weigh_bytes
from gradiva.eager.simd.memory import copy_bytes
from gradiva.eager.types.arrays import I32Vector, U8Vector


@jit
def _weighed(
    source: U8Vector, step: int, weights: I32Vector, count: int, places: int, target: U8Vector
) -> None:
    weigh_bytes(source, 1, step, weights, 2, count, places, target, 3)


@jit
def _moved(source: U8Vector, step: int, target: U8Vector, pace: int, pixels: int) -> None:
    move_pixels(source, 1, step, target, 2, pace, pixels)


@jit
def _copied(source: U8Vector, target: U8Vector, count: int) -> None:
    copy_bytes(source.ctypes.data + 1, target.ctypes.data + 3, count)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("places", [1, 14, 22])
def test_weights(count: int, places: int) -> None:
    generator = np.random.default_rng(count)
    step = 37
    source = generator.integers(0, 256, 2 + count * step + LANES, np.uint8)
    top = (1 << places) * 4 // (count + 3)  # a sum is an int32, as in a filter
    weights = generator.integers(-top // 4, top + 1, count + 2, np.int32)
    target = np.full(LANES + 6, 9, np.uint8)
    _weighed(source, step, weights, count, places, target)
    total = np.full(LANES, 1 << (places - 1), np.int64)
    for k in range(count):
        total += np.int64(weights[2 + k]) * source[1 + k * step : 1 + k * step + LANES]
    wanted = np.clip(total >> places, 0, 255)
    np.testing.assert_array_equal(target[3 : 3 + LANES], wanted)
    assert (target[:3] == 9).all()
    assert (target[3 + LANES :] == 9).all()


@pytest.mark.parametrize(("step", "pace"), [(3, 32), (32, 3), (3, 3), (5, 4)])
def test_pixels(step: int, pace: int) -> None:
    source = np.random.default_rng(1).integers(0, 256, 400, np.uint8)
    target = np.zeros(400, np.uint8)
    for pixels in (0, 1, 11):
        _moved(source, step, target, pace, pixels)
        for k in range(pixels):
            here, there = 1 + k * step, 2 + k * pace
            np.testing.assert_array_equal(target[there : there + 3], source[here : here + 3])


def test_copies_of_any_size() -> None:
    source = np.random.default_rng(2).integers(1, 256, 100, np.uint8)
    for count in range(80):
        target = np.zeros(100, np.uint8)
        _copied(source, target, count)
        np.testing.assert_array_equal(target[3 : 3 + count], source[1 : 1 + count])
        assert not target[:3].any()
        assert not target[3 + count :].any()
