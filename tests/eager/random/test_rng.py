"""Random values: the generator's known answers, keys, steps, and the shape of distributions."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random
from gradiva.eager.random.generator import RNG
from gradiva.eager.random.philox import normal_from_word, philox
from gradiva.eager.random.step import current_step


def test_known_answers() -> None:
    """The vectors that the authors of Philox publish with their implementation."""
    full = np.uint64(2**64 - 1)
    zeros = philox(np.uint32(0), np.uint32(0), np.uint64(0), np.uint64(0))
    ones = philox(np.uint32(2**32 - 1), np.uint32(2**32 - 1), full, full)
    assert [int(word) for word in zeros] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert [int(word) for word in ones] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_normal_quantile() -> None:
    """Against values of the standard normal distribution function's inverse from tables."""
    known = {0.975: 1.959963984540054, 0.5: 0.0, 0.999: 3.090232306167813, 1e-4: -3.719016485455709}
    for probability, quantile in known.items():
        word = np.uint32(round(probability * 2**32))
        slope = 2.0**-32 / (np.exp(-(quantile**2) / 2) / np.sqrt(2 * np.pi))
        assert abs(normal_from_word(word) - quantile) <= slope + 1e-12
    assert normal_from_word(np.uint32(0)) == -normal_from_word(np.uint32(2**32 - 1))


def draw(**options: Any) -> list[float]:
    batch = random.uniform(batch_size=4, **options)
    return [float(sample) for sample in batch]


def test_outside_of_loops_calls_are_numbered() -> None:
    random.set_seed(5)
    first, second = draw(), draw()
    assert first != second
    random.set_seed(5)
    assert [draw(), draw()] == [first, second]
    random.set_seed(6)
    assert draw() != first
    assert draw(seed=9) == draw(seed=9) != draw(seed=10)


def test_rng_objects() -> None:
    rng = RNG(7)
    first, second = draw(rng=rng), draw(rng=rng)
    assert first != second
    assert draw(rng=RNG(7)) == first
    twin = RNG(7)
    twin.advance(1)
    assert draw(rng=twin) == second
    saved = rng.get_state()
    copy = rng.clone()
    third = draw(rng=rng)
    assert draw(rng=copy) == third
    rng.set_state(saved)
    assert draw(rng=rng) == third
    with pytest.raises(ValueError, match="the state of an RNG"):
        rng.set_state("x")
    with pytest.raises(TypeError, match="`rng`"):
        draw(rng=3)


def test_values_do_not_depend_on_the_batch() -> None:
    with gradiva.step(100, 8):
        whole = [float(sample) for sample in random.uniform(batch_size=8)]
    with gradiva.step(104, 2):
        part = [float(sample) for sample in random.uniform(batch_size=2)]
    assert part == whole[4:6]
    assert current_step() is None


def test_steps_of_a_loop(photographs: Path) -> None:
    reader = gradiva.readers.File(file_root=str(photographs))
    other = gradiva.readers.File(file_root=str(photographs))
    for ended in (False, True):
        for index, (files, _labels) in enumerate(reader.next_epoch(batch_size=3)):
            opened = current_step()
            assert opened is not None
            assert files.positions is not None
            assert opened.positions.tolist() == files.positions.tolist()
            # A source that is read in the same turn leads until it ends or is closed.
            inner: Any = other.next_epoch(batch_size=2)
            next(inner)
            assert current_step() is not opened
            inner.close()
            assert current_step() is opened
            if index == 1:
                break
        # A loop that was left has not ended: who still holds it does not matter.
        assert current_step() is (None if ended else opened)


def test_the_end_of_a_loop_ends_what_was_opened_in_its_steps(photographs: Path) -> None:
    reader = gradiva.readers.File(file_root=str(photographs))
    for _ in reader.next_epoch(batch_size=3):
        for _ in gradiva.readers.File(file_root=str(photographs)).next_epoch(batch_size=2):
            break
    assert current_step() is None
    source = gradiva.ExternalSource(iter([np.zeros((2, 3))]))
    source()
    assert current_step() is not None
    source.close()
    assert current_step() is None


def test_a_seed_makes_calls_independent_of_loops_before(photographs: Path) -> None:
    random.set_seed(5)
    expected = draw()
    with gradiva.step(3, 2) as own:
        next(gradiva.readers.File(file_root=str(photographs)).next_epoch(batch_size=2))
        random.set_seed(5)
        assert current_step() is own
    next(gradiva.readers.File(file_root=str(photographs)).next_epoch(batch_size=2))
    assert draw() != expected
    random.set_seed(5)
    assert draw() == expected
    with pytest.raises(TypeError, match="seed"):
        random.set_seed("five")  # type: ignore[arg-type]


def test_loops_that_never_end_are_forgotten(photographs: Path) -> None:
    for _ in range(100):
        next(gradiva.readers.File(file_root=str(photographs)).next_epoch(batch_size=2))
    depth, found = 0, current_step()
    while found is not None:
        depth, found = depth + 1, found.outer
    assert depth == 32


def test_distributions() -> None:
    uniform = random.uniform(batch_size=1, shape=200000, range=(2, 5), seed=1).at(0)
    assert uniform.min() >= 2
    assert uniform.max() < 5
    assert abs(uniform.mean() - 3.5) < 0.01
    assert abs(uniform.var() - 9 / 12) < 0.01
    normal = random.normal(batch_size=1, shape=200000, mean=3, stddev=2, seed=2).at(0)
    assert abs(normal.mean() - 3) < 0.02
    assert abs(normal.std() - 2) < 0.02
    assert abs((np.abs(normal - 3) < 2).mean() - 0.6827) < 0.005
    coin = random.coin_flip(batch_size=1, shape=200000, probability=0.3, seed=3).at(0)
    assert abs(coin.mean() - 0.3) < 0.005
    chosen = random.uniform(batch_size=1, shape=90000, values=[1, 2, 7], seed=4).at(0)
    values, counts = np.unique(chosen, return_counts=True)
    assert values.tolist() == [1, 2, 7]
    assert np.abs(counts / 90000 - 1 / 3).max() < 0.01


def test_upper_bound_is_never_reached() -> None:
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2))
    drawn = random.uniform(batch_size=1, shape=10000, range=(float(low), float(high)), seed=1)
    assert (drawn.at(0) == low).all()


def test_without_batch_size_one_tensor() -> None:
    single = random.uniform(shape=[2])
    assert isinstance(single, gradiva.Tensor)
    assert single.shape == (2,)
    assert isinstance(random.coin_flip(batch_size=1), gradiva.Batch)


def test_several_threads_draw_without_losing_calls() -> None:

    rng = RNG(1)
    drawn: list[float] = []

    def work() -> None:
        for _ in range(200):
            drawn.extend(draw(rng=rng))

    users = [threading.Thread(target=work) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert rng.state[1] == 800
    again = RNG(1)
    assert sorted(drawn) == sorted(value for _ in range(800) for value in draw(rng=again))
