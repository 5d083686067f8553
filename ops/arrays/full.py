"""Samples filled with given values, broadcast: `full` and `full_like`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import move_launch, steps_of
from gradiva.eager.rows.convert import convert_array

from .filling import filled_shapes, filled_type


@op.operator("full", schema="Full")
def full(
    fill_value: op.SampleType,
    /,
    *,
    shape: op.IntsArg | None = None,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Make samples of a given shape, filled with one value or with several that are broadcast.

    Args:
        fill_value: any dtype, which the result has; its axes align with the last ones of `shape`,
            and extents of 1 are repeated.
        shape: the shape of a sample; a scalar by default. May differ per sample.
        layout: the layout of the result; none by default.

    Returns:
        Samples of the given shape, of the dtype of `fill_value`.

    Raises:
        OperatorValueError: for values that do not broadcast, with the sample, for negative extents
            and for a layout with another number of letters.

    Example:
        gradiva.full(np.float32([0.5, 0.25]), shape=(2, 2))  # [[0.5, 0.25], [0.5, 0.25]]
    """
    return filled_type(fill_value.dtype, shape, layout)


full.shapes(filled_shapes)
full.cpu(lambda call: _broadcast(call, call.inputs[0], call.inputs[0].data))
full.gpu(lambda call: _launch(call, call.inputs[0]))


@full.cases
def _full_cases() -> list[op.Case]:
    numbers = op.samples((), (), dtype=op.int32, layout="")
    colors = op.samples((3,), (3,), layout="C")
    rows = op.samples((2, 1), (3, 1), dtype=op.float16, layout="")
    shapes = np.array([[2, 3], [3, 1]], np.int32)
    return [
        op.case("scalars", numbers, shape=[2, 3]).each(lambda number: np.full((2, 3), number)),
        op.case("a color", colors, shape=[4, 5, 3]).each(
            lambda color: np.broadcast_to(color, (4, 5, 3))
        ),
        op.case("with layout", colors, shape=[4, 5, 3], layout="HWC").no_oracle(),
        op.case("per sample", rows, shape=shapes).equals(
            [np.broadcast_to(rows.at(i), tuple(shapes[i])) for i in range(2)]
        ),
        op.case("no shape", numbers).equals(numbers.arrays()),
        op.case("no extent", numbers, shape=[0, 2]).equals([np.empty((0, 2), np.int32)] * 2),
        op.case("empty", op.samples(layout=""), shape=[2]).equals([]),
        op.case("no broadcast", colors, shape=[3, 4]).value_error("sample 0"),
        op.case("negative", numbers, shape=[-1]).value_error("`shape`"),
        op.case("letters", numbers, shape=[2], layout="HW").value_error("`layout`"),
    ]


@op.operator("full_like", schema="FullLike", inputs=2, same_shapes=True)
def full_like(
    like: op.SampleType, fill_value: Any, /, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Make samples with the shapes, dtype and layout of `like`, filled with one value or several.

    Args:
        like: any dtype, rank and layout.
        fill_value: any dtype, converted as by `cast`; its axes align with the last ones of `like`,
            and extents of 1 are repeated.

    Returns:
        Samples of the shapes of `like`.

    Raises:
        OperatorValueError: with the sample, for values that do not broadcast.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.full_like(image, np.uint8([124, 116, 104])).shape  # (300, 451, 3)
    """
    return like


@full_like.cpu
def _like_cpu(call: op.Call) -> None:
    values = call.inputs[1]
    _broadcast(call, values, convert_array(values.data, call.outputs[0].data.dtype))


full_like.gpu(lambda call: _launch(call, call.inputs[1]))


@full_like.cases
def _like_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    plain = op.samples((2, 2), (2, 2), dtype=op.int16, layout="HW")
    sevens = op.samples((), (), dtype=op.float32, layout="", low=7.5, high=7.5)
    colors = op.samples((3,), (3,), dtype=op.int16, layout="")
    bytes_of = [np.clip(colors.at(i), 0, 255).astype(np.uint8) for i in range(2)]
    return [
        op.case("scalars", images, sevens).each(lambda one, *_: np.full(one.shape, 8, np.uint8)),
        op.case("colors", images, colors).equals(
            [np.broadcast_to(bytes_of[i], images.at(i).shape) for i in range(2)]
        ),
        op.case("uniform", plain, sevens).equals([np.full((2, 2), 8, np.int16)] * 2),
        op.case("a constant", plain, np.float32(-2.5)).equals([np.full((2, 2), -3, np.int16)] * 2),
        op.case("to scalars", sevens, sevens).equals(sevens.arrays()),
        op.case("empty", op.samples(), op.samples(layout="")).equals([]),
        op.case("no broadcast", plain, colors).value_error("sample 0"),
        op.case("one input", plain).type_error("2 inputs"),
    ]


def _broadcast(call: op.Call, values: op.Batch, data: NDArray[Any]) -> None:
    """Fill each sample of the output with a sample of `values`, broadcast. data: what stands for
    the slab of `values`, converted. Raises OperatorValueError, with the sample."""
    target = call.outputs[0]
    _check(values.batch_shape, target.batch_shape)
    missing = max(0, values.ndim - target.ndim)
    if values.batch_shape.dense and target.batch_shape.dense and call.size:
        inner = values.batch_shape.shape(0)[missing:]
        spread = (call.size, *(1,) * (target.ndim - len(inner)), *inner)
        whole = data[: values.batch_shape.size].reshape(spread)
    else:
        whole = None
    source = op.Batch.over(data, values.batch_shape, values.type)

    def fill(begin: int, end: int) -> None:
        if whole is not None:
            target.as_array()[begin:end] = whole[begin:end]
            return
        for sample in range(begin, end):
            part = source.array(sample)
            target.array(sample)[...] = part.reshape(part.shape[missing:])

    call.for_samples(fill)


def _launch(call: op.Call, values: op.Batch) -> op.Launch:
    """The launch that does what `_broadcast` does, and converts the values."""
    target = call.outputs[0]
    given, goal = _check(values.batch_shape, target.batch_shape)
    paces = np.where(given == 1, 0, steps_of(given))
    return move_launch(values, target, values.batch_shape.offsets, goal, paces)


def _check(values: op.BatchShape, wanted: op.BatchShape) -> tuple[op.Int64Array, op.Int64Array]:
    """Refuse shapes that do not broadcast; leading axes of extent 1 may be dropped. Returns both
    with equally many axes."""
    ndim = max(values.ndim, wanted.ndim)
    given, goal = (
        np.pad(batch_shape.shapes, ((0, 0), (ndim - batch_shape.ndim, 0)), constant_values=1)
        for batch_shape in (values, wanted)
    )
    bad = ((given != goal) & (given != 1)).any(axis=1)
    op.refuse_samples(
        bad,
        "",
        lambda sample: f"a shape that fits {wanted.shape(sample)}, or a scalar",
        values.shape,
        "the values do not broadcast to the shape",
    )
    return given, goal
