"""Noise: exact properties, and the same bits whatever the batch and the threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.random.step
from gradiva import batch
from gradiva.eager.random.philox import normal_from_word
from gradiva.ops.noise.poisson import (
    LONGEST,
    SUMMED,
    falling,
    fill_sums,
    poisson_from_sums,
    poisson_from_word,
)
from gradiva.ops.noise.words import normal_values
from tests.tiers import few

OPERATORS: dict[str, dict[str, Any]] = {
    "gaussian": {"stddev": 20.0},
    "salt_and_pepper": {"prob": 0.4},
    "shot": {"factor": 3.0},
}


def operator(name: str) -> Any:
    return getattr(gradiva.noise, name)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_batch_size_and_number_of_threads(name: str) -> None:
    """A sample's noise depends on its position in the stream only."""
    generator = np.random.default_rng(0)
    images = [generator.integers(0, 256, (90 + k, 131, 3), np.uint8) for k in range(6)]
    results = []
    for size in (1, 2, 6):
        for threads in (1, 3):
            gradiva.set_num_threads(threads)
            made = []
            for first in range(0, 6, size):
                with gradiva.eager.random.step.step(first, size):
                    part = batch(images[first : first + size], layout="HWC")
                    rng = gradiva.random.RNG(5)
                    made += list(map(np.asarray, operator(name)(part, rng=rng, **OPERATORS[name])))
            results.append(made)
    gradiva.set_num_threads(None)
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, two)
    assert (results[0][0][:90] != images[0][:90]).any()


def test_gaussian_noise_is_random_normal() -> None:
    zeros = batch([np.zeros((50, 41, 3), np.float32)] * 2, layout="HWC")
    noise = gradiva.noise.gaussian(zeros, mean=2.0, stddev=3.0, seed=9)
    drawn = gradiva.random.normal(zeros, mean=2.0, stddev=3.0, seed=9)
    np.testing.assert_array_equal(noise.as_array(), drawn.as_array())


def test_salt_and_pepper_is_a_coin() -> None:
    image = batch([np.full((50, 41, 3), 9, np.uint8)], layout="HWC")
    noise = gradiva.noise.salt_and_pepper(image, prob=0.25, salt_vs_pepper=1, seed=9).at(0)
    coins = gradiva.random.coin_flip(shape=(50, 41), probability=0.25, seed=9, batch_size=1).at(0)
    np.testing.assert_array_equal(noise[..., 1] == 255, coins == 1)


def test_normal_values() -> None:
    words = np.random.default_rng(0).integers(0, 2**32, 5000, np.uint32)
    words[:4] = [0, 2**32 - 1, 2**31, 2**31 - 1]
    made = np.empty(5000)
    normal_values(words, made)
    np.testing.assert_array_equal(made, [normal_from_word(word) for word in words])


@pytest.mark.full
@pytest.mark.parametrize("mean", few([1e-6, 0.3, 4.0, 21.25, 63.9, 64.1, 500.0, 1e5], 4.0, 64.1))
def test_poisson_quantiles(mean: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    words = np.random.default_rng(1).integers(0, 2**32, 20000, np.uint32)
    words[:2] = [0, 2**32 - 1]
    none = falling(mean) if mean < 64 else 1.0
    made = np.array([poisson_from_word(mean, none, word) for word in words])
    expected = stats.poisson.ppf((words + 0.5) / 2**32, mean)
    apart = np.abs(made - expected)
    assert apart.max() <= 1
    assert (apart > 0).mean() <= (0 if mean < 64 else 2e-4)


@pytest.mark.parametrize("factor", few([1e-300, 0.01, 1.7, 3.98, 4.0, 12.0, 1e9], 3.98, 12.0))
def test_tables_of_quantiles(factor: float) -> None:
    words = np.random.default_rng(1).integers(0, 2**32, 300, np.uint32)
    words[:6] = [0, 2**32 - 1, 2**24 - 1, 2**24, 2**32 - 2**24, 2**32 - 2]
    sums, starts = np.empty((256, LONGEST)), np.empty((256, 256), np.uint8)
    known = fill_sums(factor, sums, starts)
    assert known == sum(byte / factor <= SUMMED for byte in range(256))
    for byte in range(known):
        mean = byte / factor
        none = falling(mean)
        made = [poisson_from_sums(np.uint8(byte), word, sums, starts) for word in words]
        assert made == [poisson_from_word(mean, none, word) for word in words]


@pytest.mark.parametrize("factor", [0.5, 3.0, 12.0])
def test_shot_of_many_bytes(factor: float) -> None:
    """By tables the same as of numbers that have none."""
    image = np.random.default_rng(0).integers(0, 256, (100, 200, 3), np.uint8)
    few_bytes = image[:3]
    for one in (image, few_bytes):
        made = gradiva.noise.shot(batch([one, one], layout="HWC"), factor=factor, seed=3)
        wide = batch([one.astype(np.uint16)] * 2, layout="HWC")
        same = gradiva.noise.shot(wide, factor=factor, seed=3)
        for k in range(2):
            np.testing.assert_array_equal(made.at(k), np.minimum(same.at(k), 255))


@pytest.mark.full
def test_shot_of_large_values() -> None:
    """Beyond what events could be counted as: still the mean and the spread."""
    image = batch([np.full(50000, 1e30, np.float64)], layout="")
    made = gradiva.noise.shot(image, factor=1e20, seed=1).at(0) / 1e30
    assert abs(made.mean() - 1) < 1e-6
    assert abs(made.std() * 1e5 - 1) < 0.02
    infinite = gradiva.noise.shot(np.array([np.inf], np.float32), factor=1.0)
    assert np.isinf(np.asarray(infinite)).all()
