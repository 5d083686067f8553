"""Samples that leave a batch: the others move together in its memory."""

from __future__ import annotations

import numpy as np

from gradiva.eager.runtime.host_memory import ALIGNMENT
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.batch_shape import BatchShape

from .batch import Batch


def moved_together(batch: Batch, kept: Int64Array) -> Batch:
    """The batch with these samples only, one after the other as if it had never had more: those
    before one that is left out move up in its memory, or those after it down, whichever are less.
    Nobody else may read its memory.
    """
    old, new = batch.batch_shape, BatchShape.of(batch.batch_shape.shapes[kept])
    sizes = old.volumes[kept]
    distances = old.offsets[kept] - new.offsets
    starts = [int(one) for one in np.unique(distances) if one % ALIGNMENT == 0]  # of bytes, too
    start = min(starts, key=lambda one: int(sizes[distances != one].sum()), default=0)
    moved = np.flatnonzero(distances != start)
    up = distances[moved] < start
    for row in (*moved[up][::-1], *moved[~up]):
        source, size = int(old.offsets[kept[row]]), int(sizes[row])
        to = start + int(new.offsets[row])
        batch.data[to : to + size] = batch.data[source : source + size]
    where = batch.provenance.select(kept.tolist()) if batch.provenance is not None else None
    return Batch.over(batch.data[start : start + new.size], new, batch.type, where)
