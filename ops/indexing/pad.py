"""`pad`: samples made larger, to a common or given shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import RaggedIntsArg
from gradiva.ops.image.crop_window import fill_array
from gradiva.ops.image.window_copy import HALVES, copy_windows, launch_windows

from .slice_region import inside, named_axes


@op.operator("pad", schema="Pad", bfloat16=True)
def pad(
    input: op.SampleType,
    /,
    *,
    axes: RaggedIntsArg | None = None,
    axis_names: str | None = None,
    shape: RaggedIntsArg | None = None,
    align: RaggedIntsArg | None = None,
    fill_value: op.FloatArg = 0.0,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Pad samples at the ends of their axes, by default to the largest extent in the batch.

    All but `axis_names` may differ per sample, also in their number.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to pad, negative ones counted from the end.
        axis_names: the letters of the axes in the layout, in place of `axes`; all axes if neither
            is given.
        shape: the least extent of each of these axes; one number stands for all. Where it is 0,
            negative or not given: the largest extent in the batch. Larger samples keep theirs.
        align: the extents are then rounded up to multiples of these numbers; one stands for all.
        fill_value: cast to the input's dtype as in C: its fraction is dropped, and it wraps.

    Returns:
        Samples of the same dtype and layout, at least as large.

    Raises:
        OperatorValueError: for axes that are not there and for an `align` below 1.

    Example:
        texts = gradiva.batch([np.int32([5, 3]), np.int32([7])])
        gradiva.pad(texts, fill_value=-1)  # [[5, 3], [7, -1]]
    """
    if axes is not None and axis_names is not None:
        raise op.OperatorValueError("`axes` and `axis_names` exclude each other")
    return input


@pad.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    shapes = call.inputs[0].batch_shape.shapes
    axes = _axes(call, shapes.shape[1])
    counts = [len(own) for own in axes]
    samples = np.repeat(np.arange(call.size), counts)
    padded = np.concatenate([*axes, np.empty(0, np.int64)])
    extents = shapes.max(axis=0, initial=0)[padded]
    asked = _numbers(call, "shape", counts, 0)
    if asked is not None:
        extents = np.where(asked > 0, np.maximum(asked, shapes[samples, padded]), extents)
    multiples = _numbers(call, "align", counts, 1)
    if multiples is not None:
        if (multiples < 1).any():
            sample = int(samples[np.argmax(multiples < 1)])
            got = call["align"][sample].tolist()
            raise op.wrong_value("align", "positive numbers", got, sample=sample)
        # A multiple too large for memory is refused with the shape that comes of it.
        extents = np.where(extents > 0, (extents - 1) // multiples + 1, 0) * multiples
    result = shapes.copy()
    result[samples, padded] = extents
    return result


def _axes(call: op.Call, ndim: int) -> list[op.Int64Array]:
    """The axes to pad of each sample, from 0; all where none are named."""
    rows: list[op.Int64Array] | None = call["axes"]
    if rows is None:
        return list(named_axes(call, (call.size, ndim), call.inputs[0].type.layout or "", ""))
    known: dict[tuple[int, ...], op.Int64Array] = {}
    for sample, row in enumerate(rows):
        if tuple(row) not in known:
            known[tuple(row)] = inside(row[None], ndim, sample)[0] if row.size else np.arange(ndim)
    return [known[tuple(row)] for row in rows]


def _numbers(call: op.Call, name: str, counts: list[int], default: int) -> op.Int64Array | None:
    """One number for each of the padded axes of all samples, one after another."""
    rows: list[op.Int64Array] | None = call[name]
    if rows is None:
        return None
    for sample, (row, count) in enumerate(zip(rows, counts, strict=True)):
        if row.size not in (0, 1, count):
            raise op.wrong_value(name, f"1 or {count} numbers", row.size, sample=sample)
    wide = [
        np.broadcast_to(row if row.size else np.int64(default), count)
        for row, count in zip(rows, counts, strict=True)
    ]
    return np.concatenate([*wide, np.empty(0, np.int64)])


@pad.coordinate_map
def _map(call: op.Call) -> Any:
    return op.axis_map(np.ones((call.size, len(op.spatial_axes(call.inputs[0].layout)))), 0.0)


def _window(call: op.Call) -> tuple[Any, op.Int64Array, Any, None]:
    """What `copy_windows` takes."""
    dtype = call.outputs[0].dtype
    single = np.dtype(np.float32)
    fill = fill_array(call["fill_value"], single if dtype in HALVES else dtype.numpy)
    anchors = np.zeros_like(call.batch_shapes[0].shapes)
    return call, anchors, fill.reshape(-1, 1), None


def _reads_own_shape(arguments: Mapping[str, Any]) -> bool:
    """Whether a sample is filled up to given extents, and not to the largest ones of its batch."""
    shape = arguments.get("shape")
    return shape is not None and len(shape) > 0 and min(shape) > 0


pad.samplewise = _reads_own_shape
pad.cpu(lambda call: copy_windows(*_window(call)))
pad.gpu(lambda call: launch_windows(*_window(call)))


@pad.cases
def _cases() -> list[op.Case]:
    images = op.samples((2, 5, 3), (4, 3, 3), (3, 3, 1))
    audio = op.samples((5,), (2,), dtype=op.float32, layout="")
    wide = op.samples((2, 3), (4, 1), dtype=op.int32, layout="HW")
    several = op.batch([np.array(row, np.int32) for row in ([-1], [1, 0])])
    asked = [np.array(row, np.int32) for row in ([5], [0, 6])]

    def larger(batch: Any, *shapes: tuple[int, ...], fill: Any = 0) -> list[np.ndarray[Any, Any]]:
        return [
            np.pad(
                batch.at(i),
                [(0, to - n) for n, to in zip(batch.at(i).shape, shape, strict=True)],
                constant_values=fill,
            )
            for i, shape in enumerate(shapes)
        ]

    return [
        op.case("default", images).equals(larger(images, *[(4, 5, 3)] * 3)),
        op.case("one axis", audio, fill_value=-1.5).equals(larger(audio, (5,), (5,), fill=-1.5)),
        op.case("names", images, axis_names="W").equals(
            larger(images, (2, 5, 3), (4, 5, 3), (3, 5, 1))
        ),
        op.case("shape", images, shape=(3, 0), axes=(0, 1), fill_value=7.9).equals(
            larger(images, (3, 5, 3), (4, 5, 3), (3, 5, 1), fill=7)
        ),
        op.case("align", wide, align=(4, 3), fill_value=-2).equals(
            larger(wide, (4, 3), (4, 3), fill=-2)
        ),
        op.case("shape and align", wide, shape=5, align=4).equals(larger(wide, (8, 8), (8, 8))),
        op.case("per sample", wide, shape=[[6, 4], [5, 5]], fill_value=[1, 2]).equals(
            [larger(wide, (6, 4), (5, 5), fill=f)[f - 1] for f in (1, 2)]
        ),
        op.case("other axes", wide, axes=several, shape=op.batch(asked)).equals(
            larger(wide, (2, 5), (6, 3))
        ),
        op.case("empty", op.samples()).equals([]),
        op.case("no such axis", images, axes=(0, 3)).value_error("`axes`"),
        op.case("no layout", audio, axis_names="T").value_error("no layout"),
        op.case("align 0", images, align=0).value_error("`align`"),
        op.case("four extents", images, shape=(1, 2, 3, 4)).value_error("`shape`"),
        op.case("both", images, axes=0, axis_names="H").value_error("exclude"),
        op.case("too large", images, shape=1 << 40).value_error("too large"),
    ]
