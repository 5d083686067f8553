"""What a cache knows samples by, and the samples of a batch that have to be computed."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from gradiva.eager.execution.error_policy import keep_rows
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.values.batch import Batch


def identities_of(batch: Batch, trusted: bool, pool: WorkerPool) -> list[str]:
    """Of each sample a text that is another one where its values may be others."""
    where = batch.provenance
    origin = where.origin if trusted and where is not None else None
    known: list[str | None] = [None] * len(batch) if origin is None else [*origin.identities]
    unknown = [sample for sample, text in enumerate(known) if text is None]
    type = batch.type
    kind = f"{type.dtype} {type.layout}"

    def digest(begin: int, end: int) -> None:
        for sample in unknown[begin:end]:
            array = batch.array(sample)
            digest = blake2b(np.ascontiguousarray(array).view(np.uint8).data, digest_size=16)
            known[sample] = f"contents {kind} {array.shape} {digest.hexdigest()}"

    pool.run(digest, [(i, min(i + 4, len(unknown))) for i in range(0, len(unknown), 4)])
    return known  # type: ignore[return-value]


def loaded(batch: Batch, samples: list[int]) -> Batch:
    """These samples of a batch; those that its source has left out are read."""
    chosen = keep_rows(batch, samples) if len(samples) < len(batch) else batch
    where = chosen.provenance
    origin = None if where is None else where.origin
    if origin is None or origin.left_out is None or not origin.left_out.any():
        return chosen
    assert origin.load is not None
    again = np.flatnonzero(origin.left_out).tolist()
    read = origin.load(again)
    arrays = chosen.arrays()
    for sample, array in zip(again, read.arrays(), strict=True):
        arrays[sample] = array
    shapes = np.array([array.shape for array in arrays], np.int64)
    # The type of a batch of which nothing was read may be a guess.
    made = Batch.empty(BatchShape.of(shapes), read.type, where)
    for target, array in zip(made.arrays(), arrays, strict=True):
        target[...] = array
    return made
