"""`stack`: join samples along a new axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .axes import alike, resolve_axis, with_axis
from .join import join, join_launches, same_shapes


@op.operator("stack", inputs=(1, 999), bfloat16=True)
def stack(
    input: op.SampleType,
    /,
    *more: Any,
    axis: int = 0,
    axis_name: str | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Join the samples of several batches, number by number, along a new axis.

    inputs: 1 to 999 of one dtype, rank and shape per sample, any layout. axis: where the new axis
    stands in the result; negative numbers count from the end of the result. axis_name: a letter for
    the new axis.

    The result has a layout if the new axis has a letter, and the first input a layout or no axes.
    Raises OperatorTypeError for inputs of different dtypes or ranks, OperatorValueError for
    different shapes, with the sample, for an axis out of range and a letter that is there already.
    """
    type = alike((input, *more))
    if type.ndim is None:
        return type.with_(layout=None)
    place = resolve_axis(axis, type.ndim + 1)
    return type.with_(ndim=type.ndim + 1, layout=with_axis(type, place, axis_name))


def _axis(call: op.Call) -> int:
    return resolve_axis(call["axis"], call.inputs[0].ndim + 1)


@stack.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    same_shapes(call)
    return np.insert(call.inputs[0].geometry.shapes, _axis(call), len(call.inputs), axis=1)


@stack.cpu
def _cpu(call: op.Call) -> None:
    join(call, _axis(call))


@stack.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    return join_launches(call, _axis(call))


@stack.cases
def _cases() -> list[op.Case]:
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
