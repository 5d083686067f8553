"""The types and shapes of samples that are filled with given values."""

from __future__ import annotations

from typing import Any

from gradiva.eager import extension as op
from gradiva.eager.support.layouts import as_layout


def filled_type(dtype: op.DType | None, shape: Any, layout: str | None) -> op.SampleType:
    """The type of samples of a given shape, scalars without one. Raises OperatorValueError."""
    if isinstance(shape, op.SampleType | op.Value):
        return op.SampleType(dtype, None, layout)
    extents = shape or ()
    if any(extent < 0 for extent in extents):
        raise op.wrong_value("shape", "extents from 0 on", shape)
    try:
        return op.SampleType(dtype, len(extents), as_layout(layout or "", len(extents)))
    except ValueError as error:
        raise op.wrong_value(
            "layout", f"one letter per axis, {len(extents)} in all", repr(layout)
        ) from error


def filled_shapes(call: op.Call) -> op.Int64Array | op.BatchShape:
    """The shape rule: `shape` of each sample."""
    rows = call["shape"]
    if rows is None:
        return op.BatchShape.equal(call.size, ())
    op.refuse_samples((rows < 0).any(axis=1), "shape", "extents from 0 on", rows)
    filled_type(None, (0,) * rows.shape[1], call["layout"])
    found: op.Int64Array = rows
    return found
