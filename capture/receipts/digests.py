"""Digests of batches: of each sample, and of all together.

A digest covers the dtype, the layout, the shapes and the bytes of the values. It does not depend on
how the batch lies in memory. `sha256` is in Python, and runs at 1.8 GB/s on a core with SHA
instructions; `xxh3_128` of the package xxhash is 20 times as fast, but is no protection against
somebody who wants two batches to have one digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.eager.support.lazy_import import can_import, lazy_module
from gradiva.eager.types.device import CPU
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu

xxhash = lazy_module("xxhash", "xxhash")

__all__ = ["HASHES", "combined", "hash_of", "sample_digests", "type_text"]

HASHES: Final = ("sha256", "xxh3_128")
_CHUNK: Final = 1 << 16
"""The least number of bytes that are worth the start of another thread."""


def hash_of(name: str) -> Callable[[], Any]:
    """What makes a new hash. Raises OperatorRuntimeError if its package is not installed."""
    if name == "sha256":
        return hashlib.sha256
    if not can_import("xxhash"):
        raise OperatorRuntimeError(
            "the hash xxh3_128 needs the package xxhash: pip install xxhash",
            argument="with_receipt['hash']",
        )
    made: Callable[[], Any] = xxhash.xxh3_128
    return made


def type_text(batch: Batch) -> str:
    """The dtype and the layout of a batch, as text."""
    return f"{batch.type.dtype} {batch.layout or '-'}"


def sample_digests(batches: Sequence[Batch], hash: str, pool: WorkerPool) -> list[bytes]:
    """A digest of each sample: of its values in all of these batches, which have as many
    samples."""
    here = [batch if on_cpu(batch.data) else batch.to_device(CPU) for batch in batches]
    count = len(here[0]) if here else 0
    new, made = hash_of(hash), [b""] * count

    def digest(begin: int, end: int) -> None:
        for sample in range(begin, end):
            state = new()
            for batch in here:
                array = np.ascontiguousarray(batch.array(sample))
                state.update(f"{batch.batch_shape.shapes[sample].tolist()}".encode())
                state.update(array.reshape(-1).view(np.uint8).data)
            made[sample] = state.digest()

    mean = sum(batch.nbytes for batch in here) // max(1, count)
    step = max(1, min(count, _CHUNK // max(1, mean)))
    pool.run(digest, [(i, min(i + step, count)) for i in range(0, count, step)])
    return made


def combined(kind: str, digests: Sequence[bytes], hash: str) -> str:
    """The digest of a batch of this type, in hexadecimal digits, from those of its samples."""
    state = hash_of(hash)()
    state.update(f"{kind} {len(digests)}\n".encode())
    for one in digests:
        state.update(one)
    text: str = state.hexdigest()
    return text
