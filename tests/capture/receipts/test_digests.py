"""Digests of batches: values and shapes, not memory."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

import gradiva
from gradiva.capture.receipts.digests import combined, sample_digests, type_text
from gradiva.eager.runtime.worker_pool import WorkerPool

pytestmark = pytest.mark.core

POOL = WorkerPool(2)


def of(batch: gradiva.Batch, hash: str = "sha256") -> str:
    return combined(type_text(batch), sample_digests([batch], hash, POOL), hash)


def test_a_digest_is_a_sha256_of_samples() -> None:
    arrays = [np.arange(6, dtype=np.int16).reshape(2, 3), np.ones((1, 3), np.int16)]
    whole = sha256(b"int16 HW 2\n")
    for array in arrays:
        whole.update(sha256(str(list(array.shape)).encode() + array.tobytes()).digest())
    assert of(gradiva.as_batch(arrays, layout="HW")) == whole.hexdigest()


def test_memory_does_not_matter() -> None:
    array = np.random.default_rng(1).integers(0, 256, (5, 40, 30, 3), np.uint8)
    dense = gradiva.as_batch(array, layout="HWC")
    listed = gradiva.as_batch([np.asfortranarray(one) for one in array], layout="HWC")
    reversed_twice = dense.select([4, 3, 2, 1, 0]).select([4, 3, 2, 1, 0])
    assert of(dense) == of(listed) == of(reversed_twice)
    several = sample_digests([dense, dense], "sha256", WorkerPool(1))
    assert several == sample_digests([dense, listed], "sha256", WorkerPool(3))


def test_what_differs_is_told_apart() -> None:
    zeros = np.zeros((2, 4, 6), np.uint8)
    batches = [
        gradiva.as_batch(zeros),
        gradiva.as_batch(zeros, layout="HW"),
        gradiva.as_batch(zeros.view(np.int8)),
        gradiva.as_batch(zeros.reshape(2, 6, 4)),
        gradiva.as_batch(zeros.reshape(2, 24)),
        gradiva.as_batch(zeros.reshape(1, 8, 6)),
        gradiva.as_batch(np.zeros((2, 3), np.float64)),
        gradiva.as_batch(-np.zeros((2, 3), np.float64)),
        gradiva.as_batch(np.zeros((2,), np.float32)),
        gradiva.as_batch(np.zeros((2, 0), np.float32)),
        gradiva.as_batch(np.zeros((2,), np.bool_)),
        gradiva.as_batch(np.zeros((0, 3), np.uint8)),
    ]
    assert len({of(batch) for batch in batches}) == len(batches)
    changed = zeros.copy()
    changed[1, 3, 5] = 1
    assert of(gradiva.as_batch(changed)) != of(batches[0])


def test_xxhash() -> None:
    xxhash = pytest.importorskip("xxhash")
    batch = gradiva.as_batch(np.arange(12, dtype=np.uint8).reshape(2, 6))
    whole = xxhash.xxh3_128(b"uint8 - 2\n")
    for array in batch.arrays():
        whole.update(xxhash.xxh3_128(b"[6]" + array.tobytes()).digest())
    assert of(batch, "xxh3_128") == whole.hexdigest()
