"""Batches of which only some samples are read."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .table import Records


def widened(batch: op.Batch, rows: op.Int64Array, size: int) -> op.Batch:
    """A batch of `size` samples: `rows` are those of `batch`, in its memory, the others are empty;
    of scalars, which cannot be, they are zeros."""
    laid = batch.batch_shape
    if not batch.ndim:
        values = np.zeros(size, batch.data.dtype)
        values[rows] = batch.data[laid.offsets]
        return op.Batch.over(values, op.BatchShape.equal(size, ()), batch.type)
    shapes = np.zeros((size, batch.ndim), np.int64)
    offsets = np.zeros(size, np.int64)
    shapes[rows], offsets[rows] = laid.shapes, laid.offsets
    uniform = bool((shapes == shapes[:1]).all())
    whole = op.BatchShape(shapes, offsets, laid.size, uniform, False, False)
    return op.Batch.over(batch.data, whole, batch.type)


def spread_out(
    records: Records, rows: op.Int64Array, names: list[str], known: dict[int, op.Batch]
) -> Records:
    """What was read of some samples of a batch, as records of all of them, of which the others are
    empty. rows: the samples that were read; names: of all; known: outputs that are known of all."""
    size = len(names)
    columns = tuple(
        known[output] if output in known else widened(batch, rows, size)
        for output, batch in enumerate(records.columns)
    )
    failures = {int(rows[place]): error for place, error in records.failures.items()}
    own = records.names
    every = None if own is None else tuple(_placed(names, rows, one) for one in own)
    return Records(columns, failures, every)


def _placed(names: list[str], rows: op.Int64Array, own: list[str]) -> list[str]:
    found = [*names]
    for row, name in zip(rows.tolist(), own, strict=True):
        found[row] = name
    return found
