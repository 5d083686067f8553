"""`slice`: a region of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import View
from gradiva.ops.image.crop import output_dtype, window_view
from gradiva.ops.image.crop_window import WindowPlan, apply_policy
from gradiva.ops.image.window_copy import channel_fill, copy_windows, launch_windows

from .slice_region import Sliced, SliceRegion, check_region, slice_region

ASSUMED = {2: "HW", 3: "HWC", 4: "DHWC"}


@op.operator(
    "slice",
    schema="Slice",
    inputs=(1, 3),
    bfloat16=True,
    old_arguments={"output_dtype": "dtype", "image_type": None},
)
@op.uses_arguments(SliceRegion, ...)
def slice(
    input: op.SampleType,
    anchor: op.SampleType | op.Value | None = None,
    extent: op.SampleType | op.Value | None = None,
    /,
    *,
    out_of_bounds_policy: str = "error",
    fill_values: op.Floats = 0.0,
    dtype: op.DTypeLike | None = None,
    **options: op.Unpack[Sliced],
) -> op.SampleType:
    """Cut a region out of each sample.

    Both ends of the region are rounded, half away from zero. What is marked as numbers may differ
    per sample, but for `fill_values`.

    Args:
        input: any dtype, rank and layout.
        axis_names: none in it: all axes. Without a layout letters are those of HW, HWC or DHWC, by
            rank.
        out_of_bounds_policy: what to do with a region that leaves the sample: "error", "pad" (with
            `fill_values`, one or one per channel) or "trim_to_shape".
        fill_values: with "pad": one value, or one per channel.
        dtype: the element type of the output: that of the input (default), uint8, float32 or
            float16. A float that becomes an integer loses its fraction here and saturates.

    Returns:
        The region of each sample.

    Raises:
        OperatorValueError: naming the sample, for a region that leaves it or ends before it starts,
            and for axes that it does not have.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.slice(image, start=(50, 100), shape=(200, 300), axis_names="HW").shape
        # (200, 300, 3)
        gradiva.slice(image, rel_start=(0.25, 0.25), rel_end=(0.75, 0.75)).shape  # (150, 225, 3)
    """
    check_region(anchor, extent, options)
    return input.with_(dtype=output_dtype(input, dtype))


def _layout(call: op.Call) -> str:
    own = call.inputs[0].type
    return own.layout or ASSUMED.get(own.ndim or 0, "")


@slice.shapes
def _shapes(call: op.Call) -> WindowPlan:
    shapes = call.inputs[0].batch_shape.shapes
    anchors, windows = slice_region(call, shapes, _layout(call))
    anchors, windows = apply_policy(shapes, anchors, windows, call["out_of_bounds_policy"])
    return WindowPlan(windows, anchors)


@slice.coordinate_map
def _map(call: op.Call) -> Any:
    assert isinstance(call.plan, WindowPlan)
    return op.window_map(call.plan.anchors, _layout(call))


def _begins(call: op.Call) -> op.Int64Array | None:
    """Where parts of 1-D samples begin that lie inside of them."""
    assert isinstance(call.plan, WindowPlan)
    anchors, windows = call.plan.anchors, call.batch_shapes[0].shapes
    own = call.inputs[0]
    if anchors.shape[1] != 1 or call.types[0].dtype is not own.dtype:
        return None
    outside = (anchors < 0) | (anchors + windows > own.batch_shape.shapes)
    return None if outside.any() else anchors[:, 0]


slice.fusion_role = View(  # it may cut channels
    window_view, commutes_with_pixelwise=False, begins=_begins
)


@slice.cpu
def _cpu(call: op.Call, plan: WindowPlan) -> None:
    fill, channel = channel_fill(call, _layout(call))
    copy_windows(call, plan.anchors, fill, channel)


@slice.gpu
def _gpu(call: op.Call, plan: WindowPlan) -> op.Launch:
    fill, channel = channel_fill(call, _layout(call))
    return launch_windows(call, plan.anchors, fill, channel)


slice.host_from = 1


@slice.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (5, 5, 3), (9, 4, 3))
    planes = op.samples((3, 7, 6), (3, 4, 5), dtype=op.float32, layout="CHW")
    volume = op.samples((5, 6, 7, 2), layout="DHWC", dtype=op.int16)
    sound = op.samples((9,), (5,), layout="", dtype=op.float32)
    anchors = op.batch([np.array(a, np.int32) for a in ((1, 2), (0, 1), (3, 4))])
    extents = op.batch([np.array(a, np.int32) for a in ((3, 2), (2, 4), (1, 5))])
    parts = [
        op.batch([np.array([x, y], np.float32) for x, y in rows])
        for rows in (((0.1, 0.2), (0.3, 0.4), (0.5, 0.6)), ((0.25, 0.5), (0.5, 0.25), (0.3, 0.4)))
    ]
    whole = [images.at(i) for i in range(3)]
    cut = [whole[0][2:4, 1:4], whole[1][1:5, 0:2], whole[2][4:9, 3:4]]
    padded = [np.full((4, 4, 3), (1, 2, 3), np.uint8) for _ in range(3)]
    for i, image in enumerate(whole):
        part = image[4:8, 3:7]
        padded[i][: part.shape[0], : part.shape[1]] = part
    return [
        op.case("inputs", images, anchors, extents).equals(cut),
        op.case("fractions", images, *parts),
        op.case("start and end", images, start=(1, 2), end=(3, 4)).each(lambda one: one[2:4, 1:3]),
        op.case("relative", planes, rel_start=(0.2, 0.1), rel_shape=(0.5, 0.4)),
        op.case("channels", planes, start=1, axis_names="C").each(lambda plane: plane[1:]),
        op.case("axes per sample", images, end=3, axes=[[0], [1], [-3]]).equals(
            [whole[0][:3], whole[1][:, :3], whole[2][:3]]
        ),
        op.case("volume", volume, start=(1, 2, 3), shape=2, axis_names="DHW").equals(
            [volume.at(0)[1:3, 2:4, 3:5]]
        ),
        op.case("one axis", sound, start=[[2], [1]], end=4, axes=0).equals(
            [sound.at(0)[2:4], sound.at(1)[1:4]]
        ),
        op.case(
            "pad", images, start=(3, 4), shape=4, out_of_bounds_policy="pad", fill_values=(1, 2, 3)
        ).equals(padded),
        op.case("trim", images, start=(3, 4), shape=4, out_of_bounds_policy="trim_to_shape").each(
            lambda one: one[4:8, 3:7]
        ),
        op.case("to float", images, end=(2, 3), dtype=op.float32).each(
            lambda one: np.float32(one[:3, :2])
        ),
        op.case("empty", op.samples(), end=(2, 3)).equals([]),
        op.case("outside", images, start=(0, 3), shape=(4, 3)).value_error("sample 1"),
        op.case("backwards", images, start=(3, 3), end=(4, 2)).value_error("ends before"),
        op.case("no such axis", images, start=0, axis_names="D").value_error("`axis_names`"),
        op.case("anchor alone", images, anchors).type_error("shape"),
        op.case("none", images).value_error("none was given"),
        op.case("bad dtype", images, end=2, dtype="int16").type_error("`dtype`"),
        op.case(
            "three fill values",
            op.samples((3, 3), layout="HW"),
            shape=5,
            out_of_bounds_policy="pad",
            fill_values=(1, 2, 3),
        ).value_error("`fill_values`"),
    ]
