"""What the operators share that fill samples with given values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import fill_launch, move_launch, steps_of
from gradiva.eager.support.layouts import check_layout


def filled_type(dtype: op.DType | None, shape: Any, layout: str | None) -> op.SampleType:
    """The type of samples of a given shape, scalars without one. Raises OperatorValueError."""
    if isinstance(shape, op.SampleType | op.Value):
        return op.SampleType(dtype, None, layout)
    extents = shape or ()
    if any(extent < 0 for extent in extents):
        raise op.OperatorValueError(argument="shape", expected="extents from 0 on", got=str(shape))
    try:
        return op.SampleType(dtype, len(extents), check_layout(layout or "", len(extents)))
    except ValueError as error:
        raise op.OperatorValueError(
            argument="layout",
            expected=f"one letter per axis, {len(extents)} in all",
            got=repr(layout),
        ) from error


def filled_shapes(call: op.Call) -> op.Int64Array | op.Geometry:
    """The shape rule: `shape` of each sample."""
    rows = call["shape"]
    if rows is None:
        return op.Geometry.equal(call.size, ())
    if (rows < 0).any():
        sample = int(np.flatnonzero((rows < 0).any(axis=1))[0])
        raise op.OperatorValueError(
            argument="shape",
            expected="extents from 0 on",
            got=str(tuple(rows[sample].tolist())),
            sample=sample,
        )
    filled_type(None, (0,) * rows.shape[1], call["layout"])
    found: op.Int64Array = rows
    return found


def fill_with(call: op.Call, value: int) -> None:
    """Fill the output with one number."""
    target = call.outputs[0]

    def fill(begin: int, end: int) -> None:
        if target.geometry.dense:
            target.as_array()[begin:end] = value
            return
        for sample in range(begin, end):
            target.array(sample)[...] = value

    call.for_samples(fill)


def filling_launch(call: op.Call, value: int) -> op.Launch:
    """The launch that does what `fill_with` does."""
    target = call.outputs[0]
    number: np.generic = np.array([value]).astype(target.data.dtype)[0]
    return fill_launch(target.data, target.geometry.offsets, target.geometry.volumes, number)


def broadcast_into(call: op.Call, values: op.Batch, data: NDArray[Any]) -> None:
    """Fill each sample of the output with a sample of `values`, broadcast. data: what stands for
    the slab of `values`, converted. Raises OperatorValueError, with the sample."""
    target = call.outputs[0]
    _check(values.geometry, target.geometry)
    missing = max(0, values.ndim - target.ndim)
    if values.geometry.dense and target.geometry.dense and call.size:
        inner = values.geometry.shape(0)[missing:]
        spread = (call.size, *(1,) * (target.ndim - len(inner)), *inner)
        whole = data[: values.geometry.size].reshape(spread)
    else:
        whole = None
    source = op.Batch(data, values.geometry, values.type)

    def fill(begin: int, end: int) -> None:
        if whole is not None:
            target.as_array()[begin:end] = whole[begin:end]
            return
        for sample in range(begin, end):
            part = source.array(sample)
            target.array(sample)[...] = part.reshape(part.shape[missing:])

    call.for_samples(fill)


def broadcast_launch(call: op.Call, values: op.Batch) -> op.Launch:
    """The launch that does what `broadcast_into` does, and converts the values."""
    target = call.outputs[0]
    given, goal = _check(values.geometry, target.geometry)
    paces = np.where(given == 1, 0, steps_of(given))
    return move_launch(values, target, values.geometry.offsets, goal, paces)


def _check(values: op.Geometry, wanted: op.Geometry) -> tuple[op.Int64Array, op.Int64Array]:
    """Refuse shapes that do not broadcast; leading axes of extent 1 may be dropped. Returns both
    with equally many axes."""
    ndim = max(values.ndim, wanted.ndim)
    given, goal = (
        np.pad(geometry.shapes, ((0, 0), (ndim - geometry.ndim, 0)), constant_values=1)
        for geometry in (values, wanted)
    )
    bad = ((given != goal) & (given != 1)).any(axis=1)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise op.OperatorValueError(
            "the values do not broadcast to the shape",
            expected=f"a shape that fits {wanted.shape(sample)}, or a scalar",
            got=str(values.shape(sample)),
            sample=sample,
        )
    return given, goal
