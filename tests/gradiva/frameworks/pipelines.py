"""Pipelines that the tests of frameworks share."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva import Pipeline, fn, pipeline_def
from gradiva.eager.runtime.host_memory import pool

__all__ = ["labels", "leased", "numbered", "shapes_that_differ", "spans"]


def labels(count: int, shard_id: int = 0, num_shards: int = 1, pad: bool = False) -> Any:
    """The numbers 0, 1, ... of so many samples, of one shard."""
    _, numbers = fn.readers.file(
        files=[__file__] * count,
        labels=list(range(count)),
        name="reader",
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=pad,
    )
    return numbers


def numbered(count: int, batch_size: int, pad: bool = False, **options: Any) -> Pipeline:
    """A pipeline of the numbers 0, 1, ... and of planes (16, 32), all of whose elements are the
    number: batches that are large enough for the pool of memory."""

    @pipeline_def(batch_size=batch_size, num_threads=1)
    def pipe() -> Any:
        found = labels(count, pad=pad)
        return fn.cast(found, dtype="float32") + np.zeros((64, 32), np.float32), found

    return pipe(**options)


def shapes_that_differ() -> Pipeline:
    """A pipeline of two vectors of different lengths."""

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        return fn.external_source(lambda: [np.zeros(2, np.float32), np.ones(3, np.float32)])

    return pipe()


def spans() -> int:
    """How many bytes the batches of `numbered` with four samples are at least."""
    return 4 * 64 * 32 * 4


def leased() -> int:
    """Bytes of the pool of memory that somebody holds."""
    return pool.stats().leased
