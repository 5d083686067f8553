"""Sources for worker processes: at the top of a module, so that every start method finds them."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import gradiva
from gradiva import types

SAMPLES = 22


def sample(info: types.SampleInfo) -> Any:
    """Ragged samples that depend on where they are."""
    if info.idx_in_epoch >= SAMPLES:
        raise StopIteration
    shape = (3, 1 + info.idx_in_epoch % 4)
    return np.full(shape, 100 * info.epoch_idx + info.idx_in_epoch, np.int32)


def pair(info: types.SampleInfo) -> Any:
    """Two outputs; the second has a layout."""
    label = gradiva.as_tensor(np.full((2, 2, 1), info.idx_in_batch, np.uint8), layout="HWC")
    return sample(info), label


def batch(iteration: int) -> Any:
    """A batch as one array."""
    if iteration >= 5:
        raise StopIteration
    return np.full((3, 2), iteration, np.float32)


def batch_of_info(info: types.BatchInfo) -> Any:
    """A batch as a list, and a smaller one at the end."""
    if info.iteration >= 5:
        raise StopIteration
    count = 4 if info.iteration < 4 else 1
    return [np.full(i, 10 * info.epoch_idx + info.iteration, np.int16) for i in range(count)]


def batch_object(iteration: int) -> Any:
    """A Batch with a layout."""
    if iteration >= 3:
        raise StopIteration
    return gradiva.as_batch(np.full((2, 2, 2), iteration, np.uint8), layout="HW")


class Scaled:
    """A callable class."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, info: types.SampleInfo) -> Any:
        return sample(info) * self.factor


def batches() -> Iterator[Any]:
    """A generator function."""
    for index in range(7):
        yield np.full((3, 2), index, np.int64)


def samples() -> Iterator[Any]:
    for index in range(9):
        yield np.full(2, index, np.uint8)


class Shuffled:
    """An iterable whose epochs differ: a new worker must go through all of them."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(5)

    def __iter__(self) -> Iterator[Any]:
        for _ in range(4):
            yield self.generator.integers(0, 1000, (2, 3))


def big(info: types.SampleInfo) -> Any:
    """Grows over time: places must grow."""
    return np.full(200_000 * (1 + info.iteration), info.idx_in_epoch % 251, np.uint8)


def mine(info: types.SampleInfo) -> Any:
    """In which process it was made."""
    time.sleep(0.02)
    return np.array([os.getpid()], np.int64)


class Trouble:
    """`what` happens at one sample; once, if there is a file to remember it in."""

    def __init__(self, what: str, at: int = 5, once: str | None = None) -> None:
        self.what, self.at, self.once = what, at, once

    def __call__(self, info: types.SampleInfo) -> Any:
        if info.idx_in_epoch == self.at and not (self.once and os.path.exists(self.once)):
            if self.once:
                with open(self.once, "w"):
                    pass
            return self.happens(info)
        return sample(info)

    def happens(self, info: types.SampleInfo) -> Any:
        results: dict[str, Any] = {
            "text": object(),
            "pair": (1, 2, 3),
            "dtype": np.zeros((3, 1), np.float32),
            "rank": np.zeros(3, np.int32),
        }
        if self.what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.what == "segfault":
            faulthandler.disable()
            os.kill(os.getpid(), signal.SIGSEGV)
        elif self.what == "exit":
            os._exit(3)
        elif self.what == "sys.exit":
            sys.exit(4)
        elif self.what == "raise":
            raise ValueError("no such sample")
        elif self.what == "gradiva":
            wrong: dict[str, Any] = {"wrong": 1}
            gradiva.cast(np.zeros(3), dtype=gradiva.float32, **wrong)
        elif self.what == "sleep":
            time.sleep(3600)
        elif self.what == "spin":
            while True:
                pass
        return results[self.what]


def unloadable() -> Any:
    raise RuntimeError("not in this process")


class Unloadable:
    """Can be pickled, and not be loaded again."""

    def __reduce__(self) -> Any:
        return (unloadable, ())

    def __call__(self, info: types.SampleInfo) -> Any:
        return sample(info)
