"""`subscript`: a part of each sample, as Python's brackets say it.

`images[..., 0]` on symbols, `batch.slice[..., 0]` in both modes, `tensor[..., 0]` on tensors with
numbers that differ per sample. Ranges are Python's: negative numbers count from the end, stops
beyond the end are cut, steps may be negative. An index outside of its axis is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import move_launch, steps_of
from gradiva.eager.support.errors import annotate_error
from gradiva.eager.values.indexing import GIVEN, expand, newaxis, out_of_range, parse, result_type
from gradiva.eager.values.value import arithmetic

_FAR = 1 << 62
"""Numbers are cut to this, so that sums of two stay in 64 bits; no extent comes near it."""


@op.operator("subscript", inputs=(1, 97), bfloat16=True)
def subscript(
    input: op.SampleType, /, *numbers: op.SampleType, ranges: Any, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Take a part of each sample: what a subscript such as `batch[:, 10:20]` calls.

    The layout loses the letters of axes that an index takes, and gets those of named new axes; with
    a new axis that has no name the result has no layout.

    Args:
        input: any dtype, rank and layout.
        numbers: scalars of an integer type, for the numbers in `ranges` that differ per sample.
        ranges: items as in `gradiva.eager.values.indexing`.

    Returns:
        The part of each sample.

    Raises:
        OperatorTypeError: for more subscripts than axes and for numbers that are not scalar
            integers.
        OperatorValueError: with the sample, for an index out of range and a step of 0.

    Example:
        image = gradiva.imread("cat.jpg")
        image[50:250, 100:400].shape  # (200, 300, 3)
    """
    wanted = sum(field == GIVEN for item in ranges for field in item[1:] if item[0] != "new")
    if wanted != len(numbers):
        raise op.wrong_type("ranges", f"{len(numbers)} numbers per sample", wanted)
    for number in numbers:
        if number.dtype is not None and number.dtype.numpy.kind not in "iu":
            raise op.wrong_type(
                "", "integers", f"dtype {number.dtype.name}", "a subscript that is given per sample"
            )
        if number.ndim:
            raise op.OperatorTypeError(
                "a subscript that is given per sample",
                expected="a scalar per sample",
                got=f"{number.ndim}-D samples",
            )
    return result_type(input, ranges)


def _take(value: op.Value, ranges: Any) -> Any:
    """`value.slice[ranges]`."""
    with annotate_error(subscript.name):
        items, numbers = parse(ranges)
    return subscript.bind((value, *numbers), {"ranges": items})


arithmetic["getitem"] = _take


@dataclass(frozen=True)
class SubscriptPlan(op.Plan):
    """items: the indexing expressions, one for each axis; starts, counts, steps: of
    the elements that are taken, (N, axes of the input)."""

    items: Any
    starts: op.Int64Array
    counts: op.Int64Array
    steps: op.Int64Array


@subscript.shapes
def _shapes(call: op.Call) -> SubscriptPlan:
    extents = call.inputs[0].batch_shape.shapes
    numbers = iter(_values(batch) for batch in call.inputs[1:])
    items = expand(call["ranges"], extents.shape[1])
    shapes = np.ones((call.size, sum(item[0] != "index" for item in items)), np.int64)
    starts, steps = np.zeros_like(extents), np.ones_like(extents)
    counts = np.ones_like(extents)
    axis = 0
    for place, item in enumerate(items):
        if item[0] == "new":
            continue
        extent = extents[:, axis]
        fields = [next(numbers) if field == GIVEN else field for field in item[1:]]
        if item[0] == "index":
            starts[:, axis] = _index(fields[0], extent, axis)
        else:
            starts[:, axis], counts[:, axis], steps[:, axis] = _range(fields, extent)
            before = sum(other[0] == "index" for other in items[:place])
            shapes[:, place - before] = counts[:, axis]
        axis += 1
    return SubscriptPlan(shapes, items, starts, counts, steps)


def _values(batch: Any) -> op.Int64Array:
    """One int64 per sample; values beyond the range of int64 become large ones."""
    values = batch.data[batch.batch_shape.offsets]
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(_FAR))
    cut: op.Int64Array = np.clip(values.astype(np.int64), -_FAR, _FAR)
    return cut


def _cut(number: Any) -> Any:
    return max(-_FAR, min(number, _FAR)) if isinstance(number, int) else number


def _index(number: Any, extent: op.Int64Array, axis: int) -> op.Int64Array:
    index = np.zeros_like(extent) + _cut(number)
    bad = (index < -extent) | (index >= extent)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        wrong = number if isinstance(number, int) else int(number[sample])
        raise out_of_range(wrong, axis, int(extent[sample]), sample)
    found: op.Int64Array = np.where(index < 0, index + extent, index)
    return found


def _range(
    fields: list[Any], extent: op.Int64Array
) -> tuple[op.Int64Array, op.Int64Array, op.Int64Array]:
    """Start, count and step per sample, by the rules of Python's slices."""
    start, stop, step = (_cut(field) for field in fields)
    step = np.zeros_like(extent) + (1 if step is None else step)
    if not step.all():
        sample = int(np.flatnonzero(step == 0)[0])
        raise op.OperatorValueError("the step of a range must not be 0", sample=sample)
    forward = step > 0
    least = np.where(forward, 0, -1)
    most = np.where(forward, extent, extent - 1)

    def end(number: Any, default: op.Int64Array) -> op.Int64Array:
        if number is None:
            return default
        place = np.zeros_like(extent) + number
        cut: op.Int64Array = np.clip(np.where(place < 0, place + extent, place), least, most)
        return cut

    first = end(start, np.where(forward, 0, most))
    distance = end(stop, np.where(forward, extent, -1)) - first
    size = np.abs(step)
    length = np.where(forward, distance, -distance)
    count = np.where(length > 0, (length - 1) // size + 1, 0)
    return np.where(count > 0, first, 0), count, step


@subscript.cpu
def _cpu(call: op.Call, plan: SubscriptPlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    starts, counts, steps = plan.starts.tolist(), plan.counts.tolist(), plan.steps.tolist()

    def index_of(sample: int) -> tuple[Any, ...]:
        axes = iter(zip(starts[sample], counts[sample], steps[sample], strict=True))
        found: list[Any] = []
        for item in plan.items:
            if item[0] == "new":
                found.append(None)
                continue
            start, count, step = next(axes)
            if item[0] == "index":
                found.append(start)
                continue
            stop = start + count * step
            found.append(slice(start, stop if stop >= 0 else None, step) if count else slice(0, 0))
        return (*found, ...)

    def copy(begin: int, end: int) -> None:
        if len(call.inputs) == 1 and source.batch_shape.dense:
            # All samples are alike, and lie in one array.
            part = slice(begin, end)
            target.as_array()[part] = source.as_array()[(part, *index_of(begin))]
            return
        for sample in range(begin, end):
            target.array(sample)[...] = source.array(sample)[index_of(sample)]

    call.for_samples(copy)


@subscript.gpu
def _gpu(call: op.Call, plan: SubscriptPlan) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    paces = steps_of(source.batch_shape.shapes)
    first = source.batch_shape.offsets + (plan.starts * paces).sum(axis=1)
    # Steps may be as large as numbers can be, on axes of which one element is left.
    paces = paces * np.where(plan.counts > 1, plan.steps, 0)
    return move_launch(source, target, first, plan.counts, paces)


subscript.host_from = 1


@subscript.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    uniform = op.samples((4, 5, 3), (4, 5, 3), dtype=op.float32)
    first = op.samples((), (), (), dtype=op.int64, layout="", low=-1, high=0)
    second = op.samples((), (), (), dtype=op.uint8, layout="", low=0, high=3, seed=1)
    a, b = (
        [int(x) for x in first.data[first.batch_shape.offsets]],
        second.data[second.batch_shape.offsets],
    )

    def part(name: str, source: Any, ranges: Any) -> op.Case:
        items, numbers = parse(ranges)
        return op.case(name, source, *numbers, ranges=items).no_oracle()

    def parts(of: Callable[[Any], Any]) -> list[Any]:
        return [of(images.at(i)) for i in range(3)]

    several = [images.at(i)[a[i], b[i] :] for i in range(3)]
    floats = op.samples((), (), (), dtype=op.float32, layout="")
    return [
        part("channel", images, (..., 0)).equals(parts(lambda image: image[..., 0])),
        part("uniform", uniform, (slice(-3, None), 1)).equals([*uniform.as_array()[:, -3:, 1]]),
        part("backwards", images, slice(None, None, -2)).equals(parts(lambda image: image[::-2])),
        part("per sample", images, (first, slice(second, None))).equals(several),
        part("new axes", images, (newaxis("N"), 0, ..., newaxis("M"))).equals(
            parts(lambda image: image[None, 0, ..., None])
        ),
        part("nothing left", images, (slice(9, None),)).equals(parts(lambda image: image[9:])),
        part("empty", op.samples(), (..., 0)).equals([]),
        part("out of range", images, 2).value_error("sample 1"),
        part("too many", images, (0, 0, 0, 0)).type_error("at most 3"),
        part("floats", images, floats).type_error("integers"),
    ]
