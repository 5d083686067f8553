"""Samples of several batches as one: `cat` joins along an axis, `stack` along a new one."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .axes import alike, named_axis, resolve_axis, with_axis
from .join import join, join_launches, same_shapes


@op.operator("cat", schema="Cat", inputs=(1, 999), bfloat16=True)
def cat(
    input: op.SampleType,
    /,
    *more: Any,
    axis: int | None = None,
    axis_name: str | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Join the samples of several batches along an axis that they have.

    Sample i of the result is sample i of the first input, then that of the second, and so on. The
    result has the layout of the first input.

    Args:
        input, more: 1 to 999 inputs of one dtype and rank, at least 1-D, any layout. The samples
            agree in their extents along all other axes.
        axis: the axis, 0 by default; negative numbers count from the end.
        axis_name: the axis by its letter in the layout of the first input, in place of `axis`.

    Returns:
        Samples that are longer along the axis.

    Raises:
        OperatorTypeError: for inputs of different dtypes or ranks and for scalars.
        OperatorValueError: for shapes that do not fit, with the sample, and for an axis that is not
            there.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.cat(image, gradiva.flip(image), axis_name="W").shape  # (300, 902, 3)
    """
    type = alike((input, *more))
    if type.ndim == 0:
        raise op.OperatorTypeError(
            "scalars have no axis to be joined along; `stack` gives them one"
        )
    if axis is not None and axis_name is not None:
        raise op.OperatorValueError("give `axis` or `axis_name`, not both", argument="axis_name")
    if type.ndim is not None and (axis_name is None or type.layout is not None):
        joined_axis(type, axis, axis_name)
    return type


def joined_axis(type: op.SampleType, axis: int | None, axis_name: str | None) -> int:
    """The axis from 0 on. Raises OperatorValueError."""
    if axis_name is not None:
        return named_axis(type.layout or "", axis_name, "axis_name")
    return resolve_axis(axis or 0, type.ndim or 0)


def _cat_axis(call: op.Call) -> int:
    return joined_axis(call.inputs[0].type, call["axis"], call["axis_name"])


@cat.shapes
def _cat_shapes(call: op.Call) -> op.Int64Array:
    axis = _cat_axis(call)
    same_shapes(call, axis)
    shapes = call.inputs[0].batch_shape.shapes.copy()
    for batch in call.inputs[1:]:
        shapes[:, axis] += batch.batch_shape.shapes[:, axis]
    return shapes


cat.cpu(lambda call: join(call, _cat_axis(call)))
cat.gpu(lambda call: join_launches(call, _cat_axis(call)))


@cat.cases
def _cat_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    masks = op.samples((4, 5, 1), (1, 7, 1), (6, 2, 1), seed=1)
    lower = op.samples((2, 5, 3), (0, 7, 3), (1, 2, 3), seed=2)
    vectors = op.samples((3,), (2,), dtype=op.float32, layout="")

    def joined(*batches: Any, axis: int = 0) -> list[np.ndarray[Any, Any]]:
        return [
            np.concatenate([batch.at(i) for batch in batches], axis) for i in range(len(batches[0]))
        ]

    return [
        op.case("rows", images, lower).equals(joined(images, lower)),
        op.case("channels", images, masks, images, axis=-1).equals(
            joined(images, masks, images, axis=2)
        ),
        op.case("by name", images, masks, axis_name="C").equals(joined(images, masks, axis=2)),
        op.case("one", images, axis=1).equals(joined(images)),
        op.case("vectors", vectors, vectors).equals(joined(vectors, vectors)),
        op.case("empty", op.samples(), op.samples()).equals([]),
        op.case("shapes", images, lower, axis=1).value_error("sample 0"),
        op.case("no such axis", images, axis=3).value_error("`axis`"),
        op.case("no such name", images, axis_name="D").value_error("`axis_name`"),
        op.case(
            "dtypes", images, op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3), dtype=op.int32)
        ).type_error("dtype"),
        op.case("scalars", op.samples((), layout="")).type_error("scalars"),
    ]


@op.operator("stack", schema="Stack", inputs=(1, 999), bfloat16=True)
def stack(
    input: op.SampleType,
    /,
    *more: Any,
    axis: int = 0,
    axis_name: str | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Join the samples of several batches along a new axis.

    Sample i of the result holds sample i of each input. The result has a layout if the new axis has
    a letter, and the first input a layout or no axes.

    Args:
        input, more: 1 to 999 inputs of one dtype and rank, any layout. The samples have the same
            shape in all of them.
        axis: where the new axis stands in the result; negative numbers count from the end of the
            result.
        axis_name: a letter for the new axis.

    Returns:
        Samples with one axis more.

    Raises:
        OperatorTypeError: for inputs of different dtypes or ranks.
        OperatorValueError: for different shapes, with the sample, for an axis out of range and a
            letter that is there already.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.stack(image, gradiva.flip(image), axis_name="F").shape  # (2, 300, 451, 3)
    """
    type = alike((input, *more))
    if type.ndim is None:
        return type.with_(layout=None)
    place = resolve_axis(axis, type.ndim + 1)
    return type.with_(ndim=type.ndim + 1, layout=with_axis(type, place, axis_name))


def _stack_axis(call: op.Call) -> int:
    return resolve_axis(call["axis"], call.inputs[0].ndim + 1)


@stack.shapes
def _stack_shapes(call: op.Call) -> op.Int64Array:
    same_shapes(call)
    return np.insert(call.inputs[0].batch_shape.shapes, _stack_axis(call), len(call.inputs), axis=1)


stack.cpu(lambda call: join(call, _stack_axis(call)))
stack.gpu(lambda call: join_launches(call, _stack_axis(call)))


@stack.cases
def _stack_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    other = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3), seed=1)
    scalars = op.samples((), (), dtype=op.int32, layout="")
    plain = op.samples((2, 3), (0, 3), dtype=op.float32, layout="")

    def stacked(*batches: Any, axis: int = 0) -> list[np.ndarray[Any, Any]]:
        return [np.stack([batch.at(i) for batch in batches], axis) for i in range(len(batches[0]))]

    return [
        op.case("first", images, other).equals(stacked(images, other)),
        op.case("last", images, other, images, axis=-1).equals(
            stacked(images, other, images, axis=3)
        ),
        op.case("with a name", images, other, axis=1, axis_name="N").equals(
            stacked(images, other, axis=1)
        ),
        op.case("one", plain, axis=2).equals(stacked(plain, axis=2)),
        op.case("scalars", scalars, scalars, axis_name="N").equals(stacked(scalars, scalars)),
        op.case("empty", op.samples(), op.samples()).equals([]),
        op.case("shapes", images, op.samples((4, 5, 3), (2, 7, 3), (6, 2, 3))).value_error(
            "sample 1"
        ),
        op.case("no such axis", images, axis=4).value_error("`axis`"),
        op.case("taken name", images, axis_name="H").value_error("`axis_name`"),
        op.case("ranks", images, op.samples((4,), (1,), (6,), layout="")).type_error("axes"),
    ]
