"""Several threads of the user call operators at once: no error, no wrong bit, no deadlock."""

from __future__ import annotations

import contextlib
import hashlib
import random as python_random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalContext, EvalMode, ThreadPool, fn, pipeline_def
from gradiva.random import RNG, get_default_rng, set_seed

pytestmark = pytest.mark.core

THREADS = 8
PROGRAMS = 24
PIPELINES = 4


def digest(value: Any) -> str:
    """Shapes and bits of a batch or tensor."""
    found = hashlib.blake2b(digest_size=16)
    for sample in value.tensors if isinstance(value, gradiva.Batch) else [value]:
        array = np.ascontiguousarray(sample)
        found.update(f"{array.shape}{array.dtype}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def steps(rng: RNG, choose: np.random.Generator, count: int) -> list[Callable[[Any], Any]]:
    """Calls with random arguments, some drawn by Python and some by `rng` per sample."""
    width, height = (int(extent) for extent in choose.integers(3, 24, 2))
    low = float(choose.uniform(0, 1))

    def flip(images: Any) -> Any:
        mirror = gradiva.random.coin_flip(batch_size=count, rng=rng)
        return gradiva.flip(images, horizontal=mirror, vertical=int(choose.integers(2)))

    def brightness(images: Any) -> Any:
        by = gradiva.random.uniform(range=(low, 2.0), batch_size=count, rng=rng)
        return gradiva.brightness_contrast(images, brightness=by, contrast=low)

    def rotate(images: Any) -> Any:
        angle = gradiva.random.normal(mean=30, stddev=9, batch_size=count, rng=rng)
        return gradiva.rotate(images, angle=angle, fill_value=3, keep_size=True)

    return [
        flip,
        brightness,
        rotate,
        lambda images: gradiva.resize(images, size=(height, width)),
        lambda images: gradiva.crop(images, crop=(2, 3), crop_pos_x=low),
        lambda images: gradiva.pad(images, axes=[0], fill_value=7),
        lambda images: images.slice[1:, ::-1],
        lambda images: gradiva.cast(images * 2 + low, dtype=gradiva.uint8),
        lambda images: gradiva.cast(255 - images, dtype=gradiva.uint8),
        lambda images: gradiva.color_twist(images, hue=40.0, saturation=low),
    ]


def program(seed: int) -> str:
    """What a random program of eight calls gives for a random batch: all of it follows `seed`."""
    choose, rng = np.random.default_rng(seed), RNG(seed)
    count = int(choose.integers(1, 7))
    shapes = choose.integers(4, 40, (count, 2))
    pictures = [choose.integers(0, 256, (h, w, 3), np.uint8) for h, w in shapes]
    images: Any = gradiva.batch(pictures, layout="HWC")
    for number in choose.integers(0, 10, 8):
        if min(min(shape[:2]) for shape in images.shape) < 3:
            images = gradiva.resize(images, size=(9, 8))
        images = steps(rng, choose, count)[number](images)
    return digest(images) + digest(gradiva.reductions.mean(images, axes=[0]))


def pipeline(seed: int) -> str:
    """What three batches of a pipeline of two threads give."""

    @pipeline_def(batch_size=3, num_threads=2, seed=seed, prefetch_queue_depth=2)
    def made() -> Any:
        images = fn.random.uniform(range=[0.0, 255.0], shape=[9, 8, 3], dtype=gradiva.uint8)
        images = fn.reshape(images, layout="HWC")
        return fn.flip(fn.resize(images, size=(6, 7)), horizontal=fn.random.coin_flip())

    pipe = made()
    try:
        return "".join(digest(pipe.run()[0]) for _ in range(3))
    finally:
        pipe.close()


@contextlib.contextmanager
def surroundings(kind: int, choose: python_random.Random) -> Iterator[None]:
    """What the calls of a thread of this kind stand in."""
    if kind == 1:
        with EvalContext(num_threads=choose.randint(1, 4)):
            yield
    elif kind == 2:
        with EvalMode.deferred:
            yield
    elif kind == 3:
        with ThreadPool(2), EvalContext():
            yield
    else:
        yield


def storm(goes_on: Callable[[int], bool]) -> int:
    """Eight threads work at once as long as `goes_on(turn)`; the number of programs that they ran.

    Each fourth one runs pipelines too, and each sixth of its own accord changes the number of
    threads. All draw from the default generator, which must give each call its own number.
    """
    expected = [program(seed) for seed in range(PROGRAMS)]
    expected_pipelines = [pipeline(seed) for seed in range(PIPELINES)]
    wrong: list[str] = []
    turns = [0] * THREADS
    start = threading.Barrier(THREADS)
    set_seed(99)

    def user(index: int) -> None:
        choose = python_random.Random(index)
        start.wait()
        while goes_on(turns[index]) and not wrong:
            seed = choose.randrange(PROGRAMS)
            try:
                with surroundings(index % 4, choose):
                    found = program(seed)
                    np.asarray(gradiva.random.uniform(shape=3))
                if found != expected[seed]:
                    wrong.append(f"thread {index}: program {seed} gives other bits")
                if index % 4 == 3:
                    number = choose.randrange(PIPELINES)
                    if pipeline(number) != expected_pipelines[number]:
                        wrong.append(f"thread {index}: pipeline {number} gives other bits")
                if index == 5:
                    gradiva.set_num_threads(choose.randint(1, 4))
            except Exception as error:  # noqa: BLE001  shown below, whatever it is
                wrong.append(f"thread {index}: program {seed}: {error!r}")
            turns[index] += 1

    users = [threading.Thread(target=user, args=(index,), daemon=True) for index in range(THREADS)]
    try:
        for thread in users:
            thread.start()
        for thread in users:
            thread.join(timeout=200)
        stuck = [thread.name for thread in users if thread.is_alive()]
    finally:
        gradiva.set_num_threads(None)
    assert wrong == []
    assert stuck == []
    assert get_default_rng().get_state() == (99, sum(turns)), "a call was lost or counted twice"
    return sum(turns)


@pytest.mark.full
def test_users_in_eight_threads() -> None:
    assert storm(lambda turn: turn < 12) == THREADS * 12


@pytest.mark.full
def test_users_in_eight_threads_for_10_seconds() -> None:
    end = time.monotonic() + 10
    assert storm(lambda turn: time.monotonic() < end) > THREADS


def test_values_do_not_depend_on_threads() -> None:
    """One value per (seed, call, sample), whatever works on the samples."""

    def values() -> list[str]:
        rng = RNG(11)
        some = gradiva.random.uniform(range=(0, 1), batch_size=33, shape=5, rng=rng)
        chosen = gradiva.random.choice(9, shape=(2, 40), batch_size=17, rng=rng)
        flags = gradiva.random.coin_flip(probability=some.slice[0], rng=rng)
        spread = gradiva.random.beta(alpha=2.0, beta=1.5, shape=1000, batch_size=3, rng=rng)
        return [digest(each) for each in (some, chosen, flags, spread)]

    expected = values()
    for threads in (1, 2, 5):
        with EvalContext(num_threads=threads):
            assert values() == expected
    with ThreadPool(3), EvalMode.deferred:
        assert values() == expected
    found: list[list[str]] = []
    users = [threading.Thread(target=lambda: found.append(values())) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert found == [expected] * 4
