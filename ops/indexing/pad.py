"""`pad`: samples made larger, to a common or given shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import FloatArg, IntsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Int64Array
from gradiva.eager.types.dtypes import float32, int32
from gradiva.eager.types.sample_type import SampleType
from gradiva.ops.image.crop.crop_window import fill_array
from gradiva.ops.image.crop.window_copy import HALVES, copy_windows, launch_windows

from .slice_region import named_axes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["pad"]


@operator("pad", bfloat16=True)
def pad(
    input: SampleType,
    /,
    *,
    axes: IntsArg | None = None,
    axis_names: str | None = None,
    shape: IntsArg | None = None,
    align: IntsArg | None = None,
    fill_value: FloatArg = 0.0,
    **common: Unpack[Common],
) -> SampleType:
    """Make samples larger by fill values at the high ends of their axes.

    input: any dtype, rank and layout.
    axes: which axes to pad, negative ones counted from the end; axis_names: their letters in its
        place. All axes if neither is given.
    shape: the least extent of each of these axes; one number stands for all. Where it is 0,
        negative or not given: the largest extent in the batch. Larger samples keep theirs.
    align: the extents are then rounded up to multiples of these numbers; one stands for all.
    fill_value: cast to the input's dtype as in C: its fraction is dropped, and it wraps.

    All but `axis_names` may differ per sample. Raises OperatorValueError for axes that are not
    there and for an `align` below 1.
    """
    if axes is not None and axis_names is not None:
        raise OperatorValueError("`axes` and `axis_names` exclude each other")
    return input


@pad.shapes
def _shapes(call: Call) -> Int64Array:
    shapes = call.inputs[0].geometry.shapes
    axes = named_axes(call, shapes.shape[1], call.inputs[0].type.layout or "", "")
    own = np.take_along_axis(shapes, axes, axis=1)
    largest = shapes.max(axis=0, initial=0)[axes]
    extents = largest
    asked = _numbers(call, "shape", axes)
    if asked is not None:
        extents = np.where(asked > 0, np.maximum(asked, own), largest)
    multiples = _numbers(call, "align", axes)
    if multiples is not None:
        bad = (multiples < 1).any(axis=1)
        if bad.any():
            sample = int(np.argmax(bad))
            raise OperatorValueError(
                argument="align",
                expected="positive numbers",
                got=str(multiples[sample].tolist()),
                sample=sample,
            )
        # A multiple too large for memory is refused with the shape that comes of it.
        extents = np.where(extents > 0, (extents - 1) // multiples + 1, 0) * multiples
    result = shapes.copy()
    np.put_along_axis(result, axes, extents, axis=1)
    return result


def _numbers(call: Call, name: str, axes: Int64Array) -> Int64Array | None:
    """One number for each of the axes, (N, k)."""
    rows = call[name]
    if rows is None or not rows.shape[1]:
        return None
    if rows.shape[1] not in (1, axes.shape[1]):
        raise OperatorValueError(
            argument=name, expected=f"1 or {axes.shape[1]} numbers", got=str(rows.shape[1])
        )
    wide: Int64Array = np.broadcast_to(rows, axes.shape)
    return wide


def _window(call: Call) -> tuple[Any, Int64Array, Any, None]:
    """What `copy_windows` takes."""
    dtype = call.outputs[0].dtype
    single = np.dtype(np.float32)
    fill = fill_array(call["fill_value"], single if dtype in HALVES else dtype.numpy)
    anchors = np.zeros_like(call.geometries[0].shapes)
    return call, anchors, fill.reshape(-1, 1), None


@pad.cpu
def _cpu(call: Call) -> None:
    copy_windows(*_window(call))


@pad.gpu
def _gpu(call: Call) -> Launch:
    return launch_windows(*_window(call))


@pad.cases
def _cases() -> list[Case]:
    images = samples((2, 5, 3), (4, 3, 3), (3, 3, 1))
    sounds = samples((5,), (2,), dtype=float32, layout="")
    wide = samples((2, 3), (4, 1), dtype=int32, layout="HW")

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
        case("default", images).equals(larger(images, *[(4, 5, 3)] * 3)),
        case("one axis", sounds, fill_value=-1.5).equals(larger(sounds, (5,), (5,), fill=-1.5)),
        case("names", images, axis_names="W").equals(
            larger(images, (2, 5, 3), (4, 5, 3), (3, 5, 1))
        ),
        case("shape", images, shape=(3, 0), axes=(0, 1), fill_value=7.9).equals(
            larger(images, (3, 5, 3), (4, 5, 3), (3, 5, 1), fill=7)
        ),
        case("align", wide, align=(4, 3), fill_value=-2).equals(
            larger(wide, (4, 3), (4, 3), fill=-2)
        ),
        case("shape and align", wide, shape=5, align=4).equals(larger(wide, (8, 8), (8, 8))),
        case("per sample", wide, shape=[[6, 4], [5, 5]], fill_value=[1, 2]).equals(
            [larger(wide, (6, 4), (5, 5), fill=f)[f - 1] for f in (1, 2)]
        ),
        case("empty", samples()).equals([]),
        case("no such axis", images, axes=(0, 3)).value_error("`axes`"),
        case("no layout", sounds, axis_names="T").value_error("no layout"),
        case("align 0", images, align=0).value_error("`align`"),
        case("four extents", images, shape=(1, 2, 3, 4)).value_error("`shape`"),
        case("both", images, axes=0, axis_names="H").value_error("exclude"),
        case("too large", images, shape=1 << 40).value_error("too large"),
    ]
