"""The samples of several parts of a batch as one batch again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.execution.gpu_copies import piece_launches
from gradiva.eager.operators.call import Call
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import OperatorTypeError, describe, user_location
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.device import CPU
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.random_origin import EagerRandomOrigin, random_origin_among
from gradiva.eager.values.tensor import Tensor
from gradiva.eager.values.value import Following
from gradiva.ops.math.branches import merge

__all__ = ["put_together", "with_mark"]

Rows = np.ndarray[Any, np.dtype[np.int64]]
Parts = Sequence[tuple[Rows, Any]]


def put_together(parts: Parts, size: int, title: str) -> Any:
    """One value of the parts: `(rows, value)`, the value's samples belong to these rows.

    Tuples, lists and dicts of batches are put together item by item, and targets. Nothing is copied
    where one part has all samples. Raises OperatorTypeError where the parts do not fit.
    """
    first = parts[0][1]
    if isinstance(first, tuple | list):
        if any(type(one) is not type(first) or len(one) != len(first) for _, one in parts):
            raise _differ(title, "results", describe(first), "results of another kind or number")
        items = (
            put_together([(rows, one[item]) for rows, one in parts], size, title)
            for item in range(len(first))
        )
        return type(first)(items)
    if isinstance(first, dict):
        if any(type(one) is not dict or one.keys() != first.keys() for _, one in parts):
            raise _differ(title, "results", describe(first), "results with other keys")
        return {
            name: put_together([(rows, one[name]) for rows, one in parts], size, title)
            for name in first
        }
    if isinstance(first, Following):
        return _targets_together(parts, size, title)
    batches = [(rows, _as_batch(value, len(rows), title)) for rows, value in parts]
    filled = [(rows, batch) for rows, batch in batches if len(rows)] or batches[:1]
    batch = filled[0][1]
    for _, other in filled[1:]:
        for word, one, its in (
            ("dtypes", batch.dtype, other.dtype),
            ("ranks", batch.ndim, other.ndim),
            ("layouts", batch.layout, other.layout),
        ):
            if one != its:
                raise _differ(title, word, str(one) or "no layout", str(its) or "no layout")
    if len(filled) == 1:
        return batch
    return _gathered(filled, size)


def _targets_together(parts: Parts, size: int, title: str) -> Any:
    """Targets of all samples, of those of the parts."""
    filled = [one for one in parts if len(one[0])] or parts[:1]
    rows, first = filled[0]
    if any(type(one) is not type(first) for _, one in filled):
        raise _differ(title, "results", describe(first), "results of another kind")
    if len(rows) == size:
        return first

    def join(values: list[Any]) -> Any:
        pairs = zip(filled, values, strict=True)
        return put_together([(rows, value) for (rows, _), value in pairs], size, title)

    try:
        return first.joined([one for _, one in filled[1:]], join)
    except OperatorTypeError as error:
        raise error.complete(operator=title, location=user_location()) from None


def with_mark(value: Any, drawn_at: EagerRandomOrigin) -> Any:
    """Values with the mark of those that depend on random ones, if there is one (see
    `gradiva.eager.values.random_origin`). Values that wait to be computed keep their own."""
    if drawn_at is None:
        return value
    if isinstance(value, tuple | list):
        return type(value)(with_mark(one, drawn_at) for one in value)
    # New ones: an operation may have returned what it was given.
    if type(value) is Batch:
        return Batch.over(value.data, value.batch_shape, value.type, value.provenance, drawn_at)
    if isinstance(value, Following):
        return value.marked(lambda track: with_mark(track, drawn_at))
    if isinstance(value, dict):
        return {name: with_mark(one, drawn_at) for name, one in value.items()}
    if type(value) is Tensor:
        return Tensor.over(value._array, value.layout, value.provenance, drawn_at)
    return value


def _as_batch(value: Any, size: int, title: str) -> Batch:
    if isinstance(value, Tensor):
        value = Batch.broadcast(value, size)
    if not isinstance(value, Batch):
        raise OperatorTypeError(
            "an operation returned something else than a batch",
            operator=title,
            expected="a batch, or a tuple or list of batches",
            got=describe(value),
            location=user_location(),
        )
    if len(value) != size:
        raise _differ(title, "numbers of samples", str(size), str(len(value)))
    return value


def _differ(title: str, word: str, expected: str, got: str) -> OperatorTypeError:
    return OperatorTypeError(
        f"the operations return different {word}",
        operator=title,
        expected=expected,
        got=got,
        location=user_location(),
    )


def _gathered(parts: Sequence[tuple[Rows, Batch]], size: int) -> Batch:
    shapes = np.empty((size, parts[0][1].ndim), np.int64)
    owner = np.empty(size, np.int64)
    place = np.empty(size, np.int64)
    for number, (rows, batch) in enumerate(parts):
        shapes[rows] = batch.batch_shape.shapes
        owner[rows] = number
        place[rows] = np.arange(len(rows))
    device = next((one.device for _, one in parts if one.device is not CPU), CPU)
    result = Batch.empty(BatchShape.of(shapes), parts[0][1].type, _provenance(parts, size), device)
    result.drawn_at = random_origin_among(batch for _, batch in parts)
    if device is not CPU:
        _gather_there([(rows, one.to_device(device)) for rows, one in parts], owner, result)
        return result
    whose, where = owner.tolist(), place.tolist()

    def copy(begin: int, end: int) -> None:
        for sample in range(begin, end):
            result.array(sample)[...] = parts[whose[sample]][1].array(where[sample])

    call = Call(merge, (), {}, size, default_pool())
    call.outputs = (result,)
    call.for_samples(copy)
    return result


def _gather_there(parts: Sequence[tuple[Rows, Batch]], owner: Rows, result: Batch) -> None:
    """The same on a GPU."""
    starts = np.empty(len(owner), np.int64)
    for rows, batch in parts:
        starts[rows] = batch.batch_shape.offsets
    size = result.dtype.itemsize
    places = result.batch_shape.offsets * size, result.batch_shape.volumes * size
    pieces = (owner, starts * size, *places)
    slabs = [batch.data for _, batch in parts]
    gpu_of(result.device).run(piece_launches(slabs, result.data, pieces))


def _provenance(parts: Sequence[tuple[Rows, Batch]], size: int) -> Provenance | None:
    """Files and positions of the samples, where all parts know theirs."""
    known = [(rows, batch.provenance) for rows, batch in parts if batch.provenance is not None]
    return Provenance.joined(known, size) if len(known) == len(parts) else None
