"""`crop`: a window of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.decomposition import CompositeCall, DecompositionPart
from gradiva.eager.operators.fusion_roles import SourceWindow, View
from gradiva.eager.types.coordinate_maps import Gather, gathers

from .crop_window import LAYOUTS, CropArguments, CropWindow, OutOfBounds, WindowPlan, window_in
from .window_copy import channel_fill, copy_windows, launch_windows


@op.operator(
    "crop",
    schema="Crop",
    bfloat16=True,
    old_arguments={"output_dtype": "dtype", "image_type": None},
)
@op.uses_arguments(CropWindow, OutOfBounds, ...)
def crop(
    input: op.SampleType,
    /,
    *,
    dtype: op.DTypeLike | None = None,
    **options: op.Unpack[CropArguments],
) -> op.SampleType:
    """Cut a window out of each sample.

    Args:
        input: any dtype; layouts HWC, CHW, volumes with D, sequences with F (all frames are cut
            alike). Without a layout HWC, DHWC or FDHWC by rank, and the output has that layout.
        dtype: the element type of the output: that of the input (default), uint8, float32 or
            float16. A float that becomes an integer loses its fraction here and saturates.

    Returns:
        Samples of the size of the window.

    Raises:
        OperatorValueError: naming the sample, for a window that leaves it and for positions outside
            0..1.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.crop(image, crop=(224, 224), crop_pos_x=0.0).shape  # (224, 224, 3)
    """
    layout = op.require_layout(input, LAYOUTS[:7], {3: "HWC", 4: "DHWC"})
    return op.with_layout(input, layout).with_(dtype=output_dtype(input, dtype))


def output_dtype(input: op.SampleType, dtype: Any) -> op.DType | None:
    """The dtype asked for, if a crop can make it."""
    if dtype is None or dtype is input.dtype:
        return input.dtype
    if dtype not in (op.uint8, op.float32, op.float16):
        expected = "the input's dtype, uint8, float32 or float16"
        raise op.wrong_type("dtype", expected, dtype)
    chosen: op.DType = dtype
    return chosen


@crop.decomposes
def _parts(call: CompositeCall) -> list[DecompositionPart] | None:
    """crop and cast, where nothing is filled in, and no float loses its fraction."""
    dtype, policy = call.fixed.get("dtype"), call.fixed.get("out_of_bounds_policy")
    if dtype not in (op.float32, op.float16) or policy == "pad":
        return None
    window = call.part("crop", *CropWindow.__annotations__, "out_of_bounds_policy")
    return [window, call.fixed_part("cast", dtype=dtype)]


@crop.shapes
def _shapes(call: op.Call) -> WindowPlan:
    anchors, windows = window_in(call, call.types[0].layout or "")
    return WindowPlan(windows, anchors)


@crop.coordinate_map
def place_in_window(call: op.Call) -> Any:
    """Where places are in a window, for calls with a `WindowPlan`."""
    assert isinstance(call.plan, WindowPlan)
    return op.window_map(call.plan.anchors, call.types[0].layout or "")


def window_view(call: op.Call) -> SourceWindow | None:
    """The window as a view on the input, if it lies inside of it and nothing is converted.

    For calls with a `WindowPlan`. None for samples without H and W, too.
    """
    layout = call.types[0].layout or ""
    shapes, windows = call.inputs[0].batch_shape.shapes, call.batch_shapes[0].shapes
    assert isinstance(call.plan, WindowPlan)
    anchors = call.plan.anchors
    height, width = layout.find("H"), layout.find("W")
    if height < 0 or width < 0:
        return None
    others = [axis for axis in range(len(layout)) if axis not in (height, width)]
    outside = (anchors < 0) | (anchors + windows > shapes)
    moved = (windows[:, others] != shapes[:, others]).any()
    if outside.any() or moved or call.types[0].dtype is not call.inputs[0].dtype:
        return None
    nothing = np.zeros(call.size, np.int64)
    return SourceWindow(anchors[:, height], anchors[:, width], nothing, nothing)


def _fills_or_converts(given: dict[str, Any]) -> bool:
    """What is filled in, or converted, must not pass another operator."""
    return given.get("out_of_bounds_policy") == "pad" or given.get("dtype") is not None


crop.fusion_role = View(window_view, pinned=_fills_or_converts)
gathers["crop"] = lambda fixed: None if _fills_or_converts(dict(fixed)) else Gather(resamples=False)


@crop.cpu
def _cpu(call: op.Call, plan: WindowPlan) -> None:
    fill, channel = channel_fill(call, call.types[0].layout or "")
    copy_windows(call, plan.anchors, fill, channel)


@crop.gpu
def _gpu(call: op.Call, plan: WindowPlan) -> op.Launch:
    fill, channel = channel_fill(call, call.types[0].layout or "")
    return launch_windows(call, plan.anchors, fill, channel)


@crop.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (5, 5, 3), (9, 4, 3))
    planes = op.samples((3, 7, 6), (3, 4, 5), dtype=op.float32, layout="CHW")
    frames = op.samples((2, 6, 6, 3), layout="FHWC")
    big = [np.pad(images.at(i), ((2, 2), (2, 2), (0, 0)), constant_values=7) for i in range(3)]
    return [
        op.case("center", images, crop=(3, 4)).equals(
            [images.at(0)[2:5, 2:6], images.at(1)[1:4, 1:5], images.at(2)[3:6, 0:4]]
        ),
        op.case(
            "corner, per sample", images, crop_h=2, crop_w=[2, 3, 4], crop_pos_x=0, crop_pos_y=1
        ).equals([images.at(0)[4:, :2], images.at(1)[3:, :3], images.at(2)[7:, :4]]),
        op.case("fractions of pixels", images, crop=(3.9, 1.0)).equals(
            [images.at(0)[2:5, 4:5], images.at(1)[1:4, 2:3], images.at(2)[3:6, 2:3]]
        ),
        op.case("parts of the extent", images, crop=(0.5, 0.5)).value_error("pixels; `slice`"),
        op.case("nothing given", images).equals([images.at(i) for i in range(3)]),
        op.case(
            "rounded down",
            op.samples((4, 5, 3)),
            crop=(7, 2),
            rounding="floor",
            out_of_bounds_policy="pad",
        )
        .equals([np.pad(op.samples((4, 5, 3)).at(0)[:, 1:3], ((2, 1), (0, 0), (0, 0)))])
        .no_oracle(),
        op.case("half to even", images, crop=(3, 3), rounding="torchvision")
        .equals([images.at(0)[2:5, 2:5], images.at(1)[1:4, 1:4], images.at(2)[3:6, 0:3]])
        .no_oracle(),
        op.case(
            "equal parts",
            images,
            crop=(4, 4),
            rounding="equal",
            crop_pos_y=[0, 0.4, 0.99],
            crop_pos_x=[0.3, 0.5, 1.0],
        )
        .equals([images.at(0)[0:4, 1:5], images.at(1)[0:4, 1:5], images.at(2)[5:9, 0:4]])
        .no_oracle(),
        op.case("CHW", planes, crop=(2, 2)).equals(
            [planes.at(0)[:, 3:5, 2:4], planes.at(1)[:, 1:3, 2:4]]
        ),
        op.case("sequence", frames, crop=(4, 4)).equals([frames.at(0)[:, 1:5, 1:5]]),
        op.case(
            "pad",
            images,
            crop_h=[10, 9, 13],
            crop_w=[12, 9, 8],
            out_of_bounds_policy="pad",
            fill_values=7,
        ).equals(big),
        op.case("trim", images, crop=(7, 7), out_of_bounds_policy="trim_to_shape").equals(
            [images.at(0)[:, 1:8], images.at(1), images.at(2)[1:8]]
        ),
        op.case("to float", images, crop=(2, 2), dtype=op.float32),
        op.case("empty", op.samples(), crop=(2, 2)).equals([]),
        op.case("too large", images, crop=(6, 4)).value_error("sample 1"),
        op.case("bad position", images, crop=(2, 2), crop_pos_x=[0.5, 2, 0]).value_error(
            "`crop_pos_x`"
        ),
        op.case("one size", images, crop_w=2).value_error("crop_h"),
        op.case("rank", op.samples((4,), layout="")).type_error("axes"),
    ]
