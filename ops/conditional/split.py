"""`_conditional.split`: the samples for which a condition is true, and the others.

A program runs it, not `execute`: its outputs are batches of other sizes than its inputs.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.values.buffers import on_cpu

from .truth import require_scalar

Indices = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_GATHERED = 4096
"""Dense samples of at most this many bytes are copied, so that what is selected is dense too."""


def _split(
    input: op.SampleType, predicate: op.SampleType, /
) -> tuple[op.SampleType, op.SampleType]:
    """Part a batch in two by a scalar per sample.

    input: anything. predicate: scalars (0-D) of any dtype; what is not zero is true, NaN as well.
    Returns the samples where it is true, and those where it is not, each in their old order.
    Raises OperatorTypeError for predicates with axes.
    """
    require_scalar(predicate, "a condition")
    return input, input


split = OperatorBase(_split, "_conditional.split", (2, 2), bfloat16=True)


def truth(predicate: op.Batch) -> Mask:
    """Whether the predicate is true, per sample. Raises OperatorTypeError."""
    require_scalar(op.SampleType(ndim=predicate.ndim), "a condition")
    return np.asarray(predicate.as_array() != 0)


def select(batch: op.Batch, chosen: Indices) -> op.Batch:
    """Some of the samples: where they are, or, if they are small, one after the other."""
    geometry, where, drawn = batch.geometry, batch.provenance, batch.drawn_at
    if len(chosen) == len(geometry):
        return batch
    listed = chosen.tolist()
    part = where.select(listed) if where else None
    if len(geometry) and geometry.dense and geometry.uniform:
        shape = geometry.shape(0)
        volume = geometry.size // len(geometry)
        if volume * batch.data.itemsize <= _GATHERED and on_cpu(batch.data):
            rows = batch.data[: geometry.size].reshape(len(geometry), volume)[chosen]
            equal = op.Geometry.equal(len(chosen), shape)
            return op.Batch(rows.reshape(-1), equal, batch.type, part, drawn)
    if not listed:
        # Nothing is looked at, and nothing kept.
        place = op.Geometry.of(geometry.shapes[:0])
        return op.Batch(batch.data[:0], place, batch.type, part, drawn)
    return op.Batch(batch.data, geometry.select(listed), batch.type, part, drawn)
