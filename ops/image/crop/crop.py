"""`crop`: a window of each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import DTypeLike, FloatArg, Floats, FloatsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.fusion_roles import Reindex, View
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_layout, with_layout
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.types.dtypes import DType, float16, float32, uint8
from gradiva.eager.types.sample_type import SampleType

from .crop_window import LAYOUTS, apply_policy, crop_window
from .window_copy import channel_fill, copy_windows, launch_windows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["crop", "output_dtype", "window_of", "window_view"]

Int64s = NDArray[np.int64]


@operator("crop", bfloat16=True)
def crop(
    input: SampleType,
    /,
    *,
    crop: FloatsArg | None = None,
    crop_h: FloatArg | None = None,
    crop_w: FloatArg | None = None,
    crop_d: FloatArg | None = None,
    crop_pos_x: FloatArg = 0.5,
    crop_pos_y: FloatArg = 0.5,
    crop_pos_z: FloatArg = 0.5,
    rounding: str = "round",
    out_of_bounds_policy: str = "error",
    fill_values: Floats = 0.0,
    dtype: DTypeLike | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """Cut a window out of each sample.

    input: any dtype; layouts HWC, CHW, volumes with D, sequences with F (all frames are cut alike).
        Without a layout HWC, DHWC or FDHWC by rank, and the output has that layout.
    crop: (h, w) or (d, h, w) in pixels; or crop_h and crop_w, with crop_d, one by one. Fractions
        are dropped; a size that is 0 or not given is the full extent. d counts frames in sequences.
    crop_pos_x, crop_pos_y, crop_pos_z: where the window lies, from 0 (low end) to 1 (high end). It
        starts at position * (extent - size), `rounding` "round" (half away from zero) or
        "truncate".
    out_of_bounds_policy: what to do with a window that leaves the sample: "error", "pad" (with
        `fill_values`, one or one per channel) or "trim_to_shape".
    dtype: of the output: the input's (default), uint8, float32 or float16. A float that becomes an
        integer loses its fraction here and saturates.

    All arguments that are numbers may differ per sample. Raises OperatorValueError, naming the
    sample, for a window that leaves it and for positions outside 0..1.
    """
    layout = require_layout(input, LAYOUTS[:7], {3: "HWC", 4: "DHWC"})
    return with_layout(input, layout).with_(dtype=output_dtype(input, dtype))


def output_dtype(input: SampleType, dtype: Any) -> DType | None:
    """The dtype asked for, if a crop can make it."""
    if dtype is None or dtype is input.dtype:
        return input.dtype
    if dtype not in (uint8, float32, float16):
        expected = "the input's dtype, uint8, float32 or float16"
        raise OperatorTypeError(argument="dtype", expected=expected, got=str(dtype))
    chosen: DType = dtype
    return chosen


def window_of(call: Call, layout: str) -> tuple[Int64s, Int64s]:
    """Anchors and shapes of the windows that the crop arguments of a call describe."""
    shapes = call.inputs[0].geometry.shapes
    anchors, windows = crop_window(
        shapes,
        layout,
        crop=call["crop"],
        crop_h=call["crop_h"],
        crop_w=call["crop_w"],
        crop_d=call["crop_d"],
        crop_pos_x=call["crop_pos_x"],
        crop_pos_y=call["crop_pos_y"],
        crop_pos_z=call["crop_pos_z"],
        rounding=call["rounding"],
    )
    return apply_policy(shapes, anchors, windows, call["out_of_bounds_policy"])


@crop.shapes
def _shapes(call: Call) -> Int64s:
    anchors, windows = window_of(call, call.types[0].layout or "")
    call.notes["anchors"] = anchors
    return windows


def window_view(call: Call) -> View | None:
    """The window as a view on the input, if it lies inside of it and nothing is converted.

    Reads `call.notes["anchors"]`. None for samples without H and W, too.
    """
    layout = call.types[0].layout or ""
    shapes, windows = call.inputs[0].geometry.shapes, call.geometries[0].shapes
    anchors = call.notes["anchors"]
    height, width = layout.find("H"), layout.find("W")
    if height < 0 or width < 0:
        return None
    others = [axis for axis in range(len(layout)) if axis not in (height, width)]
    outside = (anchors < 0) | (anchors + windows > shapes)
    moved = (windows[:, others] != shapes[:, others]).any()
    if outside.any() or moved or call.types[0].dtype is not call.inputs[0].dtype:
        return None
    nothing = np.zeros(call.size, np.int64)
    return View(anchors[:, height], anchors[:, width], nothing, nothing)


crop.stage = Reindex(window_view)


@crop.cpu
def _cpu(call: Call) -> None:
    fill, channel = channel_fill(call, call.types[0].layout or "")
    copy_windows(call, call.notes["anchors"], fill, channel)


@crop.gpu
def _gpu(call: Call) -> Launch:
    fill, channel = channel_fill(call, call.types[0].layout or "")
    return launch_windows(call, call.notes["anchors"], fill, channel)


@crop.cases
def _cases() -> list[Case]:
    images = samples((6, 8, 3), (5, 5, 3), (9, 4, 3))
    planes = samples((3, 7, 6), (3, 4, 5), dtype=float32, layout="CHW")
    frames = samples((2, 6, 6, 3), layout="FHWC")
    big = [np.pad(images.at(i), ((2, 2), (2, 2), (0, 0)), constant_values=7) for i in range(3)]
    return [
        case("centre", images, crop=(3, 4)).equals(
            [images.at(0)[2:5, 2:6], images.at(1)[1:4, 1:5], images.at(2)[3:6, 0:4]]
        ),
        case(
            "corner, per sample", images, crop_h=2, crop_w=[2, 3, 4], crop_pos_x=0, crop_pos_y=1
        ).equals([images.at(0)[4:, :2], images.at(1)[3:, :3], images.at(2)[7:, :4]]),
        case("nothing given", images).equals([images.at(i) for i in range(3)]),
        case("CHW", planes, crop=(2, 2)).equals(
            [planes.at(0)[:, 3:5, 2:4], planes.at(1)[:, 1:3, 2:4]]
        ),
        case("sequence", frames, crop=(4, 4)).equals([frames.at(0)[:, 1:5, 1:5]]),
        case(
            "pad",
            images,
            crop_h=[10, 9, 13],
            crop_w=[12, 9, 8],
            out_of_bounds_policy="pad",
            fill_values=7,
        ).equals(big),
        case("trim", images, crop=(7, 7), out_of_bounds_policy="trim_to_shape").equals(
            [images.at(0)[:, 1:8], images.at(1), images.at(2)[1:8]]
        ),
        case("to float", images, crop=(2, 2), dtype=float32),
        case("empty", samples(), crop=(2, 2)).equals([]),
        case("too large", images, crop=(6, 4)).value_error("sample 1"),
        case("bad position", images, crop=(2, 2), crop_pos_x=[0.5, 2, 0]).value_error(
            "`crop_pos_x`"
        ),
        case("one size", images, crop_w=2).value_error("crop_h"),
        case("rank", samples((4,), layout="")).type_error("axes"),
    ]
