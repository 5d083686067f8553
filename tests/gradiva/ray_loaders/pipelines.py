"""Pipelines for loaders, and what a local one gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from gradiva import fn, pipeline_def, types
from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIGenericIterator

NAMES = ("images", "numbers", "noise")
SIZE = 50
GLOBAL = 12
STORE = 80 << 20
"""Bytes of the object store: hardly more than the least that Ray takes."""


def write(folder: Path) -> str:
    """A small data set, of batches that are worth sharing."""
    for number in range(SIZE):
        np.save(folder / f"{number:03}.npy", np.full((90, 85, 3), number, np.uint8))
    return str(folder)


def producer(folder: str, batch_size: int = GLOBAL, **reader: Any) -> Callable[..., Any]:
    """What makes pipelines of images, their numbers and random values."""

    @pipeline_def(batch_size=batch_size, num_threads=2, seed=11)
    def pipe() -> Any:
        arrays, numbers = fn.readers.numpy(
            file_root=folder, random_shuffle=True, with_index=True, name="arrays", **reader
        )
        noise = fn.random.uniform(range=(0, 1))
        images = fn.cast(fn.crop(arrays, crop=(80, 80)), dtype=types.FLOAT) * noise
        return images, numbers, noise

    return pipe


def large(folder: str) -> Callable[..., Any]:
    """What makes pipelines of batches that are a fifth of the object store."""

    @pipeline_def(batch_size=2, num_threads=1, seed=11)
    def pipe() -> Any:
        arrays = fn.readers.numpy(file_root=folder, name="arrays")
        noise = fn.cast(fn.random.uniform(range=(0, 200)), dtype=types.UINT8)
        return arrays + noise, noise

    return pipe


def digest_of(batches: Sequence[dict[str, Any]]) -> str:
    """SHA-256 of the batches of all trainers in a step, one after the other."""
    made = sha256()
    for name in NAMES:
        for batch in batches:
            made.update(np.ascontiguousarray(batch[name]).tobytes())
    return made.hexdigest()


def local_digests(folder: str, epochs: int, policy: LastBatchPolicy) -> list[list[str]]:
    """SHA-256 of each batch of a local pipeline, by epoch."""
    pipe = producer(folder, pad_last_batch=True)()
    loop = DALIGenericIterator(pipe, list(NAMES), reader_name="arrays", last_batch_policy=policy)
    found = [[digest_of(batch) for batch in loop] for _ in range(epochs)]
    pipe.close()
    return found
