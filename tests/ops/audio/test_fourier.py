"""Fourier transforms of eight rows: against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva.ops.audio.fourier import fourier_plan, place_of, power_of_lanes, work_size
from tests.tiers import few

SIZES = (1, 2, 3, 4, 5, 6, 8, 9, 16, 25, 31, 33, 50, 64, 105, 320, 400, 512, 1001, 2048, 16384)


@pytest.mark.parametrize("size", few(SIZES, 5, 512))
@pytest.mark.parametrize("power", few([1, 2], 2))
def test_power(size: int, power: int) -> None:
    plan = fourier_plan(size)
    assert plan is not None
    rows = np.random.default_rng(size).uniform(-1, 1, (8, size)).astype(np.float32)
    work = np.full(work_size(size), np.nan, np.float32)
    work[: 16 * size] = 0
    for t in range(size):
        at = place_of(size, t)
        work[at : at + 8] = rows[:, t]
    made = np.empty((size // 2 + 1) * 8, np.float32)
    power_of_lanes(plan, power, work, made)
    exact = np.abs(np.fft.rfft(rows.astype(np.float64), axis=1)) ** power
    np.testing.assert_allclose(made.reshape(-1, 8).T, exact, rtol=0, atol=6e-7 * exact.max())


def test_lanes_are_apart() -> None:
    """What is in one row changes no bit of another."""
    size = 150
    plan, generator = fourier_plan(size), np.random.default_rng(0)
    assert plan is not None
    made = []
    for scale in (1.0, 1e30, np.nan):
        work = generator.uniform(-1, 1, work_size(size)).astype(np.float32) * np.float32(scale)
        for t in range(size):
            work[place_of(size, t) + 3] = np.float32(np.sin(t * t))
        made.append(np.empty((size // 2 + 1) * 8, np.float32))
        power_of_lanes(plan, 2, work, made[-1])
    for other in made[1:]:
        np.testing.assert_array_equal(made[0].reshape(-1, 8)[:, 3], other.reshape(-1, 8)[:, 3])


def test_sizes_that_are_left_to_numpy() -> None:
    assert fourier_plan(37) is None
    assert fourier_plan(2 * 37) is None
    assert fourier_plan(1 << 15) is None
