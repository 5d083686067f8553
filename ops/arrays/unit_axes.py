"""Axes of extent 1: `expand_dims` adds them, `squeeze` drops them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager import extension as op

from .axes import named_axis, resolve_axis
from .new_shapes import reshaped_view


@op.operator("expand_dims", schema="ExpandDims", bfloat16=True)
def expand_dims(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints,
    new_axis_names: op.Layout = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Add axes of extent 1.

    Nothing is copied: the result shares the memory of the input.

    Args:
        input: any dtype, rank and layout.
        axes: where the new axes stand in the result; negative ones count from its end.
        new_axis_names: a letter for each of `axes`, in their order; without them the result of a
            call that adds axes has no layout.

    Returns:
        The same elements, with more axes.

    Raises:
        OperatorValueError: for axes out of range or named twice, and for letters that do not fit:
            too many or too few, there already, or for an input without a layout that has axes.

    Example:
        mask = gradiva.as_tensor(np.zeros((48, 64), np.uint8), layout="HW")
        gradiva.expand_dims(mask, axes=2, new_axis_names="C").shape  # (48, 64, 1)
    """
    chosen: tuple[int, ...] = axes  # type: ignore[assignment]  # converted by the engine
    if new_axis_names and len(new_axis_names) != len(chosen):
        raise op.wrong_value(
            "new_axis_names",
            f"one letter per axis of `axes`, {len(chosen)} in all",
            repr(new_axis_names),
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
        raise op.wrong_value(
            "new_axis_names", f"letters that {input.layout!r} lacks", repr(new_axis_names)
        )
    named = dict(zip(places, new_axis_names, strict=True))
    old = iter(input.layout)
    layout = "".join(named[axis] if axis in named else next(old) for axis in range(ndim))
    return input.with_(ndim=ndim, layout=layout)


def _places(axes: Sequence[int], ndim: int) -> list[int]:
    """The axes of the result that are new, in the order of `axes`."""
    places = [resolve_axis(axis, ndim + len(axes), "axes") for axis in axes]
    if len(set(places)) < len(places):
        raise op.wrong_value("axes", "each axis once", tuple(axes))
    return places


@expand_dims.shapes
def _expand_dims_shapes(call: op.Call) -> op.Int64Array:
    shapes = call.inputs[0].batch_shape.shapes
    places = _places(call["axes"], shapes.shape[1])
    result = np.ones((call.size, shapes.shape[1] + len(places)), np.int64)
    result[:, [axis for axis in range(result.shape[1]) if axis not in places]] = shapes
    return result


expand_dims.view(reshaped_view)


@expand_dims.cases
def _expand_dims_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    masks = op.samples((4, 5), (4, 5), dtype=op.float32, layout="HW")
    scalars = op.samples((), (), dtype=op.int32, layout="")
    return [
        op.case("first", images, axes=0).each(lambda image: image[None]),
        op.case("named", masks, axes=[2], new_axis_names="C").each(lambda mask: mask[..., None]),
        op.case("two", masks, axes=[3, 0], new_axis_names="CF").each(lambda m: m[None, ..., None]),
        op.case("from the end", masks, axes=[-1]).each(lambda mask: mask[..., None]).no_oracle(),
        op.case("scalars", scalars, axes=[0, 1], new_axis_names="HW").each(lambda s: s[None, None]),
        op.case("none", images, axes=[]).equals(images.arrays()),
        op.case("empty", op.samples(), axes=[0]).equals([]),
        op.case("out of range", masks, axes=[3]).value_error("`axes`"),
        op.case("twice", masks, axes=[0, 0]).value_error("once"),
        op.case("letters", masks, axes=[0], new_axis_names="AB").value_error("`new_axis_names`"),
        op.case("taken", masks, axes=[0], new_axis_names="W").value_error("`new_axis_names`"),
        op.case("no axes", masks).type_error("`axes`"),
    ]


@op.operator("squeeze", schema="Squeeze", bfloat16=True)
def squeeze(
    input: op.SampleType,
    /,
    *,
    axes: op.IntsArg | None = None,
    axis_names: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Drop axes of extent 1.

    Nothing is copied: the result shares the memory of the input. The layout loses the letters of
    the axes; it is dropped if these differ among the samples.

    Args:
        input: any dtype, rank and layout.
        axes: the axes to drop; negative ones count from the end. May differ per sample.
        axis_names: their letters, in place of `axes`.

    Returns:
        The same elements, with fewer axes.

    Raises:
        OperatorValueError: for an axis that is not there, named twice or of another extent than 1,
            with the sample.
        OperatorTypeError: unless one of `axes` and `axis_names` is given.

    Example:
        gradiva.squeeze(np.int32([[7], [9]]), axes=1)  # [7, 9]
    """
    if (axes is None) == (axis_names is None):
        raise op.OperatorTypeError("one of `axes` and `axis_names` is needed, not both")
    if isinstance(axes, op.SampleType | op.Value) or input.ndim is None:
        return input.with_(ndim=None, layout=None)
    if axes is None:
        if input.layout is None:
            return input.with_(ndim=input.ndim - len(axis_names or ""))
        dropped = _named(input.layout, axis_names or "")
    else:
        dropped = _resolved(axes, input.ndim)  # type: ignore[arg-type]  # as the engine converts
    return input.with_(ndim=input.ndim - len(dropped), layout=_without(input.layout, dropped))


def _named(layout: str, names: str) -> list[int]:
    return [named_axis(layout, name, "axis_names") for name in names]


def _resolved(axes: tuple[int, ...], ndim: int) -> list[int]:
    dropped = [resolve_axis(axis, ndim, "axes") for axis in axes]
    if len(set(dropped)) < len(dropped):
        raise op.wrong_value("axes", "each axis once", tuple(axes))
    return dropped


def _without(layout: str | None, axes: list[int]) -> str | None:
    if not layout:
        return layout
    return "".join(letter for axis, letter in enumerate(layout) if axis not in axes)


def _all_alike(call: op.Call) -> op.BatchShape | None:
    """The shapes without the axes where samples have one shape and lose the same axes; None where
    they do not, or where something is wrong."""
    source, rows = call.inputs[0], call["axes"]
    if not call.size or not source.batch_shape.uniform:
        return None
    if rows is None:
        dropped = _named(source.layout, call["axis_names"])
    elif (rows == rows[0]).all():
        dropped = _resolved(tuple(rows[0].tolist()), source.ndim)
    else:
        return None
    shape = source.batch_shape.shape(0)
    if len(set(dropped)) < len(dropped) or any(shape[axis] != 1 for axis in dropped):
        return None
    left = tuple(extent for axis, extent in enumerate(shape) if axis not in dropped)
    if call.types[0].layout is None:
        layout = _without(source.layout, dropped)
        call.types = (call.types[0].with_(ndim=len(left), layout=layout),)
    return op.BatchShape.equal(call.size, left)


@squeeze.shapes
def _squeeze_shapes(call: op.Call) -> op.Int64Array | op.BatchShape:
    """The shapes without the axes; the layout, where it is not known before."""
    alike = _all_alike(call)
    if alike is not None:
        return alike
    source = call.inputs[0]
    rows = call["axes"]
    if rows is None:
        rows = np.tile(_named(source.layout, call["axis_names"]), (call.size, 1)).astype(np.int64)
    shapes, ndim = source.batch_shape.shapes, source.ndim
    keep = np.ones(shapes.shape, bool)
    different = np.unique(rows, axis=0) if len(rows) else rows[:0]
    for row in different.tolist():
        dropped = _resolved(tuple(row), ndim)
        keep[np.ix_((rows == row).all(axis=1), dropped)] = False
    # Of a sample without elements any axis may go that leaves it without elements.
    full = (np.where(keep, shapes, 1).prod(axis=1) > 0) | (shapes.prod(axis=1) > 0)
    bad = ~keep & (shapes != 1) & full[:, None]
    if bad.any():
        sample, axis = np.argwhere(bad)[0].tolist()
        raise op.wrong_value(
            "axis_names" if call["axes"] is None else "axes",
            "axes of extent 1",
            f"axis {axis} of a sample of shape {source.batch_shape.shape(sample)}",
            sample=sample,
        )
    left = max(ndim - rows.shape[1], 0)  # below 0 in empty batches only
    letters = set(map(tuple, keep.tolist()))
    layout = ""
    if source.layout and len(letters) == 1:
        mask = letters.pop()
        layout = "".join(c for c, kept in zip(source.layout, mask, strict=True) if kept)
    if call.types[0].layout is None:
        call.types = (call.types[0].with_(ndim=left, layout=layout),)
    return shapes[keep].reshape(call.size, left)


squeeze.view(reshaped_view)


@squeeze.cases
def _squeeze_cases() -> list[op.Case]:
    images = op.samples((4, 5, 1), (1, 7, 1), (6, 2, 1))
    frames = op.samples((1, 4, 1, 3), (1, 2, 1, 3), dtype=op.float32, layout="FHWC")
    ones = op.samples((1, 1), (1, 1), dtype=op.int32, layout="HW")
    nothing = op.samples((4, 0, 3), (2, 0, 3))
    return [
        op.case("channel", images, axes=[2]).each(lambda image: image[..., 0]),
        op.case("from the end", images, axes=-1).each(lambda image: image[..., 0]).no_oracle(),
        op.case("two", frames, axes=[2, 0]).each(lambda frame: frame[0, :, 0]),
        op.case("by name", frames, axis_names="WF").each(lambda frame: frame[0, :, 0]),
        op.case("none", frames, axes=[]).equals(frames.arrays()),
        op.case("of no elements", nothing, axes=[0]).equals([np.zeros((0, 3), np.uint8)] * 2),
        op.case("to scalars", ones, axes=[0, 1]).each(lambda one: one[0, 0]),
        op.case("per sample", ones, axes=np.array([[0], [1]], np.int32))
        .each(lambda one: one[0])
        .no_oracle(),
        op.case("empty", op.samples(), axes=[0]).equals([]),
        op.case("extent", images, axes=[0]).value_error("sample 0"),
        op.case("no such axis", images, axes=[3]).value_error("`axes`"),
        op.case("no such name", images, axis_names="D").value_error("`axis_names`"),
        op.case("twice", frames, axes=[0, -4]).value_error("once"),
        op.case("neither", images).type_error("`axes`"),
    ]
