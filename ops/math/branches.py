"""The two branches of a condition: `_conditional.split` and `_conditional.merge`.

A program runs them, not `execute`: batches that go in and come out have different sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.execution.gpu_copies import piece_launches
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.values.buffers import on_cpu

from .truth import check_scalar

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
    check_scalar(predicate, "a condition")
    return input, input


split = OperatorBase(_split, "_conditional.split", (2, 2), bfloat16=True)


def truth(predicate: op.Batch) -> Mask:
    """Whether the predicate is true, per sample. Raises OperatorTypeError."""
    check_scalar(op.SampleType(ndim=predicate.ndim), "a condition")
    return np.asarray(predicate.as_array() != 0)


def select(batch: op.Batch, chosen: Indices) -> op.Batch:
    """Some of the samples: where they are, or, if they are small, one after the other."""
    batch_shape, where, drawn = batch.batch_shape, batch.provenance, batch.drawn_at
    if len(chosen) == len(batch_shape):
        return batch
    listed = chosen.tolist()
    part = where.select(listed) if where else None
    if len(batch_shape) and batch_shape.dense and batch_shape.uniform:
        shape = batch_shape.shape(0)
        volume = batch_shape.size // len(batch_shape)
        if volume * batch.data.itemsize <= _GATHERED and on_cpu(batch.data):
            rows = batch.data[: batch_shape.size].reshape(len(batch_shape), volume)[chosen]
            equal = op.BatchShape.equal(len(chosen), shape)
            return op.Batch.over(rows.reshape(-1), equal, batch.type, part, drawn)
    if not listed:
        # Nothing is looked at, and nothing kept.
        place = op.BatchShape.of(batch_shape.shapes[:0])
        return op.Batch.over(batch.data[:0], place, batch.type, part, drawn)
    return op.Batch.over(batch.data, batch_shape.select(listed), batch.type, part, drawn)


def _merge(true: op.SampleType, false: op.SampleType, predicate: op.SampleType, /) -> op.SampleType:
    """Put together what `_conditional.split` has parted.

    true, false: of one dtype, rank and layout. predicate: says where each sample comes from.
    Returns the samples in their old order. Raises OperatorTypeError where the branches differ.
    """
    check_scalar(predicate, "a condition")
    return op.SampleType(
        _agree("dtype", true, false),
        _agree("ndim", true, false),
        _agree("layout", true, false),
        true.device,
    )


merge = OperatorBase(_merge, "_conditional.merge", (3, 3), bfloat16=True)

_WORDS = {"dtype": "dtypes", "ndim": "ranks", "layout": "layouts"}


def _agree(name: str, true: op.SampleType, false: op.SampleType) -> Any:
    one, other = getattr(true, name), getattr(false, name)
    if one is None or other is None:
        return other if one is None else one
    if one != other:
        raise op.OperatorTypeError(
            f"the branches of a condition have different {_WORDS[name]}",
            expected=f"one type in both branches, such as {true}",
            got=str(false),
        )
    return one


def merge_batches(
    true: op.Batch,
    false: op.Batch,
    mask: Mask,
    known: op.SampleType,
    run: Callable[[Callable[[int], None], op.Batch], None],
) -> op.Batch:
    """The samples of both, those of `true` where `mask` is. Raises OperatorTypeError.

    known: what is known of the type beforehand; run: calls a function for each sample of the
    batch that it is given. Nothing is copied where all samples are of one branch, or of one slab.
    """
    for part in (true, false):
        if len(part):
            known = _merge(known, part.type, op.SampleType())
    where = _provenance(true, false, mask)
    for part in (true, false):
        if len(part) == len(mask):
            return op.Batch.over(part.data, part.batch_shape, part.type, where)
    shapes = np.empty((len(mask), true.ndim), np.int64)
    shapes[mask], shapes[~mask] = true.batch_shape.shapes, false.batch_shape.shapes
    if true.data is false.data:
        offsets = np.empty(len(mask), np.int64)
        offsets[mask], offsets[~mask] = true.batch_shape.offsets, false.batch_shape.offsets
        uniform = bool((shapes == shapes[0]).all())
        size = max(true.batch_shape.size, false.batch_shape.size)
        place = op.BatchShape(shapes, offsets, size, uniform, False, False)
        return op.Batch.over(true.data, place, true.type, where)
    result = op.Batch.empty(op.BatchShape.of(shapes), true.type, where, true.device)
    if not on_cpu(result.data):
        gpu_of(true.device).run(merge_launches(true, false, mask, result))
        return result
    if result.batch_shape.dense and true.batch_shape.dense and false.batch_shape.dense:
        rows = result.data[: result.batch_shape.size].reshape(len(mask), -1)
        for part, here in ((true, mask), (false, ~mask)):
            rows[here] = part.data[: part.batch_shape.size].reshape(len(part), -1)
        return result
    # The place of each sample among those of its branch.
    places = np.where(mask, mask.cumsum(), (~mask).cumsum()) - 1
    sides, order = mask.tolist(), places.tolist()

    def copy(sample: int) -> None:
        part = true if sides[sample] else false
        result.array(sample)[...] = part.array(order[sample])

    run(copy, result)
    return result


def merge_launches(
    true: op.Batch, false: op.Batch, mask: Mask, result: op.Batch
) -> list[op.Launch]:
    """The launches that copy the samples of both into `result`, where `merge_batches` would. The
    mask is in host memory."""
    starts = np.empty(len(mask), np.int64)
    starts[mask], starts[~mask] = true.batch_shape.offsets, false.batch_shape.offsets
    size = result.dtype.itemsize
    places = result.batch_shape.offsets * size, result.batch_shape.volumes * size
    return piece_launches([true.data, false.data], result.data, (~mask, starts * size, *places))


def _provenance(true: op.Batch, false: op.Batch, mask: Mask) -> op.Provenance | None:
    """Files and positions of the samples, where both branches know those of theirs."""
    parts = [part.provenance for part in (true, false)]
    if any(part is None and len(b) for part, b in zip(parts, (true, false), strict=True)):
        return None
    known = zip((np.flatnonzero(mask), np.flatnonzero(~mask)), parts, strict=True)
    return op.Provenance.joined(
        [(rows, part) for rows, part in known if part is not None], len(mask)
    )
