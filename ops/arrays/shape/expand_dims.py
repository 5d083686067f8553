"""`expand_dims`: new axes of extent 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.arrays.axes import resolve_axis

from .new_shapes import reshaped_view


@op.operator("expand_dims", bfloat16=True)
def expand_dims(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints,
    new_axis_names: op.Layout = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Add axes of extent 1. Nothing is copied: the result lies in the memory of the input.

    input: any dtype, rank and layout. axes: where the new axes stand in the result; negative ones
    count from its end. new_axis_names: a letter for each of `axes`, in their order; without them
    the result of a call that adds axes has no layout.

    Raises OperatorValueError for axes out of range or named twice, and for letters that do not fit:
    too many or too few, there already, or for an input without a layout that has axes.
    """
    chosen: tuple[int, ...] = axes  # type: ignore[assignment]  # converted by the engine
    if new_axis_names and len(new_axis_names) != len(chosen):
        raise op.OperatorValueError(
            argument="new_axis_names",
            expected=f"one letter per axis of `axes`, {len(chosen)} in all",
            got=repr(new_axis_names),
        )
    if input.ndim is None:
        return input.with_(layout=None)
    places = _places(chosen, input.ndim)
    ndim = input.ndim + len(places)
    if not places:
        return input
    if not new_axis_names:
        return input.with_(ndim=ndim, layout="")
    if input.layout is None:
        return input.with_(ndim=ndim)
    if input.ndim and not input.layout:
        raise op.OperatorValueError(
            "new axes have names only among named axes",
            argument="new_axis_names",
            expected="an input with a layout",
            got="one without",
        )
    if set(new_axis_names) & set(input.layout):
        raise op.OperatorValueError(
            argument="new_axis_names",
            expected=f"letters that {input.layout!r} lacks",
            got=repr(new_axis_names),
        )
    named = dict(zip(places, new_axis_names, strict=True))
    old = iter(input.layout)
    layout = "".join(named[axis] if axis in named else next(old) for axis in range(ndim))
    return input.with_(ndim=ndim, layout=layout)


def _places(axes: Sequence[int], ndim: int) -> list[int]:
    """The axes of the result that are new, in the order of `axes`."""
    places = [resolve_axis(axis, ndim + len(axes), "axes") for axis in axes]
    if len(set(places)) < len(places):
        raise op.OperatorValueError(
            argument="axes", expected="each axis once", got=str(tuple(axes))
        )
    return places


@expand_dims.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    shapes = call.inputs[0].geometry.shapes
    places = _places(call["axes"], shapes.shape[1])
    result = np.ones((call.size, shapes.shape[1] + len(places)), np.int64)
    result[:, [axis for axis in range(result.shape[1]) if axis not in places]] = shapes
    return result


expand_dims.view(reshaped_view)


@expand_dims.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    masks = op.samples((4, 5), (4, 5), dtype=op.float32, layout="HW")
    scalars = op.samples((), (), dtype=op.int32, layout="")
    return [
        op.case("first", images, axes=0).equals([images.at(i)[None] for i in range(3)]),
        op.case("named", masks, axes=[2], new_axis_names="C").equals(
            [masks.at(i)[..., None] for i in range(2)]
        ),
        op.case("two", masks, axes=[3, 0], new_axis_names="CF").equals(
            [masks.at(i)[None, ..., None] for i in range(2)]
        ),
        op.case("from the end", masks, axes=[-1])
        .equals([masks.at(i)[..., None] for i in range(2)])
        .no_oracle(),
        op.case("scalars", scalars, axes=[0, 1], new_axis_names="HW").equals(
            [scalars.at(i)[None, None] for i in range(2)]
        ),
        op.case("none", images, axes=[]).equals([images.at(i) for i in range(3)]),
        op.case("empty", op.samples(), axes=[0]).equals([]),
        op.case("out of range", masks, axes=[3]).value_error("`axes`"),
        op.case("twice", masks, axes=[0, 0]).value_error("once"),
        op.case("letters", masks, axes=[0], new_axis_names="AB").value_error("`new_axis_names`"),
        op.case("taken", masks, axes=[0], new_axis_names="W").value_error("`new_axis_names`"),
        op.case("no axes", masks).type_error("`axes`"),
    ]
