"""Means and deviations for `normalize`, given or measured."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Float64Array
from gradiva.ops.reductions.cpu import DEVIATIONS, MEAN, PLAIN, SUM
from gradiva.ops.reductions.reduce import reduce_batch, reduced_shapes, resolve_axes


class Numbers(NamedTuple):
    """One number per sample, or one for each place along the axes that are not reduced.

    values: float64; steps: int64 (N, 2): where those of a sample begin, and 0 if there is one only,
    else 1; counts: int64 (N,).
    """

    values: Float64Array
    steps: op.Int64Array
    counts: op.Int64Array


def _shapes_of(value: Any) -> op.Int64Array | None:
    """Shapes of the samples of an argument that was given as arrays, None for plain numbers."""
    if value is None:
        return None
    if isinstance(value, op.Batch):
        return value.batch_shape.shapes if value.batch_shape.ndim else None
    if value.ndim == 1:
        return None
    return np.tile(np.array(value.shape[1:], np.int64), (len(value), 1))


def normalized_axes(call: op.Call) -> tuple[int, ...]:
    """The axes to reduce: those named; else those along which arrays that were given have an extent
    of 1; else all. Raises OperatorValueError."""
    source = call.inputs[0].batch_shape
    axes, names = call["axes"], call["axis_names"]
    if axes is None and names is None:
        for name in ("mean", "stddev"):
            shapes = _shapes_of(call[name])
            if shapes is not None and shapes.shape[1] == source.ndim:
                return tuple(np.flatnonzero((shapes == 1).all(axis=0)).tolist())
    elif axes == () or names == "":
        argument = "axes" if names is None else "axis_names"
        raise op.wrong_value(argument, "at least one axis", "none")
    return resolve_axes(source.ndim, call.inputs[0].layout, axes, names)


def given(call: op.Call, name: str, taken: tuple[int, ...]) -> Numbers | None:
    """`mean` or `stddev`, if it was given. Raises OperatorValueError for a wrong shape."""
    value = call[name]
    if value is None:
        return None
    steps = np.zeros((call.size, 2), np.int64)
    shapes = _shapes_of(value)
    if isinstance(value, op.Batch):
        with np.errstate(invalid="ignore"):  # between samples lies what was there
            numbers = value.data.astype(np.float64)
        offsets = value.batch_shape.offsets
    else:
        numbers = value.astype(np.float64).reshape(-1)
        offsets = np.arange(call.size) * (numbers.size // max(1, call.size))
    steps[:, 0] = offsets
    if shapes is None:
        return Numbers(numbers, steps, np.ones(call.size, np.int64))
    wanted = reduced_shapes(call.inputs[0].batch_shape.shapes, taken, True)
    fits = (wanted == shapes).all(axis=1) if wanted.shape == shapes.shape else np.zeros(call.size)
    if not fits.all():
        sample = int(np.flatnonzero(fits == 0)[0])
        raise op.OperatorValueError(
            argument=name,
            expected=f"a number, or an array of shape {tuple(wanted[sample].tolist())}: the one "
            "of the sample, with 1 for the axes that are reduced",
            got=f"the shape {tuple(shapes[sample].tolist())}",
            sample=sample,
        )
    steps[:, 1] = 1
    return Numbers(numbers, steps, wanted.prod(axis=1))


def places_of(call: op.Call, taken: tuple[int, ...]) -> op.BatchShape:
    """Where the statistics of each sample go; for those of the whole batch, samples must agree in
    the other axes. Raises OperatorValueError."""
    places = op.BatchShape.of(reduced_shapes(call.inputs[0].batch_shape.shapes, taken, True))
    if call["batch"] and not places.uniform:
        sample = int(np.flatnonzero((places.shapes != places.shapes[0]).any(axis=1))[0])
        raise op.OperatorValueError(
            "with `batch`, samples may differ along the axes that are reduced only",
            expected=f"the extents {places.shape(0)} of sample 0, 1 standing for those axes",
            got=str(places.shape(sample)),
            sample=sample,
        )
    return places


def _in_order(call: op.Call, sums: Array) -> Any:
    """The sums of all samples added up, in their order: NumPy's own order of sums is no promise."""
    return np.add.accumulate(sums.reshape(call.size, -1), axis=0)[-1]


def _spread(places: op.BatchShape, values: Array, shared: bool) -> Numbers:
    steps = np.ones((len(places), 2), np.int64)
    steps[:, 0] = 0 if shared else places.offsets
    return Numbers(values, steps, places.volumes)


def counts_of(call: op.Call, places: op.BatchShape) -> Float64Array:
    """How many values stand behind each number of a sample."""
    return call.inputs[0].batch_shape.volumes / np.maximum(places.volumes, 1)


def measured_mean(call: op.Call, taken: tuple[int, ...]) -> Numbers:
    """The mean of each sample, or of the batch."""
    source, places = call.inputs[0], places_of(call, taken)
    if not call["batch"]:
        means = np.zeros(places.size)
        reduce_batch(call, source, SUM, MEAN, taken, means, places)
        return _spread(places, means, False)
    sums = np.zeros(places.size)
    reduce_batch(call, source, SUM, PLAIN, taken, sums, places)
    with np.errstate(all="ignore"):
        mean = _in_order(call, sums) / counts_of(call, places).sum()
    return _spread(places, mean, True)


def measured_variance(call: op.Call, taken: tuple[int, ...], mean: Numbers, ddof: int) -> Numbers:
    """The mean square of the distances from `mean`; 0 where no values are left to divide by."""
    shared, places = bool(call["batch"]), places_of(call, taken)
    centers = (mean.values, mean.steps[:, 0].copy(), mean.counts)
    sums = np.zeros(places.size)
    reduce_batch(call, call.inputs[0], DEVIATIONS, PLAIN, taken, sums, places, centers)
    counts = counts_of(call, places)
    if shared:
        total = _in_order(call, sums)
        left = counts.sum() - ddof
        return _spread(places, total / left if left > 0 else np.zeros_like(total), True)
    for sample, count in enumerate(counts.tolist()):
        offset = places.offsets[sample]
        part = sums[offset : offset + places.volumes[sample]]
        part *= 1 / (count - ddof) if count > ddof else 0
    return _spread(places, sums, False)
