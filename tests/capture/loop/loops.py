"""What the tests of captured loops share: small photographs, and a loop run with its results kept.

Not a test itself: `run` gives the bits of every value of every step, and the state left behind.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import random, readers
from gradiva.capture.loop.report import Explanation

__all__ = [
    "LoopFacts", "ahead_threads", "all_served", "bits", "make_folder", "no_thread_is_left", "noisy",
    "normalized", "open_reader", "run", "same", "threads_end",
]  # fmt: skip

Body = Callable[[Any, Any, int], Iterable[Any]]


def make_folder(root: Path, count: int = 11) -> str:
    """Small ragged JPEGs, in two folders."""
    noise = np.random.default_rng(3)
    for index in range(count):
        folder = root / "ab"[index % 2]
        folder.mkdir(exist_ok=True)
        small = noise.integers(0, 255, (5, 6, 3), np.uint8)
        image = Image.fromarray(small).resize((40 + 3 * index, 50 - 2 * index))
        image.save(folder / f"{index:02d}.jpg")
    return str(root)


class LoopFacts(NamedTuple):
    """steps: the bits of the values of each step; after: reader and generator when all is done."""

    steps: list[list[Any]]
    after: Any
    explanations: list[Explanation]


def bits(value: Any) -> Any:
    """A value as what can be compared: shapes, dtype, layout and bytes."""
    if isinstance(value, gradiva.Batch | gradiva.Tensor):
        samples = value.tensors if isinstance(value, gradiva.Batch) else [value]
        arrays = [np.asarray(sample) for sample in samples]
        facts = [(str(a.dtype), a.shape, a.tobytes()) for a in arrays]
        kind = "Batch" if isinstance(value, gradiva.Batch) else "Tensor"
        return kind, value.layout, facts
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    return value


def normalized(files: Any) -> Any:
    """The recipe of validation: decode, resize, crop and normalize."""
    images = gradiva.resize(gradiva.decoders.image(files), resize_shorter=32)
    return gradiva.crop_mirror_normalize(
        images, crop=(28, 28), mean=[120.0, 110.0, 100.0], std=[60.0, 59.0, 58.0]
    )


def open_reader(folder: str, **options: Any) -> Any:
    random.set_seed(7)
    return readers.File(file_root=folder, random_shuffle=True, **options)


def noisy(files: Any) -> Any:
    x = normalized(files)
    return x + random.normal(x, stddev=0.1), random.coin_flip(batch_size=x.batch_size)


Threads = Sequence[threading.Thread]


def ahead_threads(others: Threads = ()) -> Threads:
    """The threads of captured loops, one that reads and its runners each; without some others."""
    every = [one for one in threading.enumerate() if one.name.startswith("gradiva-ahead")]
    return [one for one in every if one not in others]


def threads_end(others: Threads = ()) -> bool:
    """Whether these threads end: not at once after a loop was dropped, since a finalizer waits for
    nothing, but soon."""
    until = time.monotonic() + 30.0
    while ahead_threads(others) and time.monotonic() < until:
        time.sleep(0.002)
    return ahead_threads(others) == []


@pytest.fixture
def no_thread_is_left() -> Any:
    """The threads of the test's own loops end; those that are there before are others' concern."""
    others = ahead_threads()
    yield
    gc.collect()
    assert threads_end(others)


def run(
    folder: str,
    body: Body,
    capture: bool,
    batch_size: int | None = 2,
    epochs: int = 2,
    strict: bool = False,
    forget: bool = False,
    **options: Any,
) -> LoopFacts:
    """Loop over a shuffled reader, epoch by epoch. forget: each loop has to learn anew."""
    reader = open_reader(folder, **options)
    steps, explanations = [], []
    for _ in range(epochs):
        if forget:
            reader._learned.clear()
        loop = reader.next_epoch(batch_size=batch_size, capture=capture, strict=strict)
        for step, (files, labels) in enumerate(loop):
            steps.append([bits(value) for value in body(files, labels, step)])
        if capture:
            explanations.append(loop.explain())
    generator = random.get_default_rng()
    after = (reader.get_state(), generator.get_state(), bits(random.uniform(batch_size=3)))
    return LoopFacts(steps, after, explanations)


def same(folder: str, body: Body, **options: Any) -> list[Explanation]:
    """Check that a loop gives the same with and without capture; return what it explains."""
    eager = run(folder, body, capture=False, **options)
    captured = run(folder, body, capture=True, **options)
    assert captured.steps == eager.steps
    assert captured.after == eager.after
    return captured.explanations


def all_served(explanations: list[Explanation], turns: int) -> bool:
    """Whether nothing but the very first of `turns` steps was traced, and all else was served."""
    first, *others = explanations
    assert [str(one) for one in explanations if one.unserved] == []
    assert first.traced >= 1
    assert first.served == (turns - 1) * first.traced, str(first)
    # Later loops begin with what the first one has learned.
    assert [(one.traced, one.served) for one in others] == [(0, turns * first.traced)] * len(others)
    return True
