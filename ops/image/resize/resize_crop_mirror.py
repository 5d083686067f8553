"""`resize_crop_mirror`: resample, cut a window and mirror it, in one pass over the pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import SourceWindow
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.ops.image.crop_window import CropWindow, window_of

from .arguments import (
    ResizeBuffers,
    ResizeFilters,
    ResizeRegion,
    ResizeSize,
    WindowedResize,
    filters_of,
    sizes_of,
)
from .gpu import resample_call
from .plan import ResizePlan
from .resize import ASSUMED, DTYPES, LAYOUTS, region_map, resample_tables, resize
from .run import Tables, resample_samples

_REACH = 65536


@op.operator("resize_crop_mirror", schema="ResizeCropMirror")
@op.uses_arguments(
    ResizeSize, ResizeRegion, CropWindow, "mirror", ResizeFilters, ..., ResizeBuffers
)
def resize_crop_mirror(
    input: op.SampleType,
    /,
    *,
    mirror: op.IntArg = 0,
    dtype: op.DTypeLike | None = None,
    **options: op.Unpack[WindowedResize],
) -> op.SampleType:
    """Resize each sample as `resize` does, cut a window out of it, and mirror the window.

    Only the window is computed; its bits are those of `resize` and `crop` one after the other.

    Args:
        input: as in `resize`. Where the window leaves the resampled sample, the border is repeated;
            crop_d is its depth in volumes.
        mirror: what is mirrored in the end: 1 for W, 2 for H, 4 for D, or a sum of these; may
            differ per sample.
        dtype: the element type of the output: that of the input (default) or float32.

    Returns:
        Samples of the size of the window.

    Raises:
        OperatorValueError: for arguments that contradict each other and for positions outside 0..1.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.resize_crop_mirror(image, resize_shorter=256, crop=(224, 224), mirror=1).shape
        # (224, 224, 3)
    """
    op.require_dtype(input, DTYPES)
    layout = op.require_layout(input, LAYOUTS, ASSUMED)
    return own_or_float32(op.with_layout(input, layout), dtype)


@dataclass(frozen=True)
class _ResizeCropMirrorPlan(ResizePlan):
    """anchors, windows: what is cut out of the resampled samples, (N, axes)."""

    anchors: op.Int64Array
    windows: op.Int64Array


@resize_crop_mirror.shapes
def _shapes(call: op.Call) -> _ResizeCropMirrorPlan:
    source = call.inputs[0].batch_shape
    layout = call.types[0].layout or ""
    axes = [axis for axis, letter in enumerate(layout) if letter in "DHW"]
    count = len(axes)
    inputs = source.shapes[:, axes]
    sizes, low, high = sizes_of(call, inputs)
    filters = filters_of(call, sizes, low, high)
    whole = np.hstack([sizes, np.ones((call.size, 1), np.int64)])
    anchors, windows = window_of(call, whole, "DHWC"[-count - 1 :])
    anchors, windows = anchors[:, :count], windows[:, :count]
    outside = ((anchors < 0) | (anchors + windows > sizes)) & (sizes > 0)
    if outside.any():
        # There the window is a resampling of its own, of a region that goes beyond the sample.
        scale = (high - low) / np.maximum(sizes, 1)
        high = np.where(outside, low + (anchors + windows) * scale, high)
        low = np.where(outside, low + anchors * scale, low)
        far = (np.abs(low) > _REACH + inputs) | (np.abs(high) > _REACH + inputs)
        far, near = (far & outside).any(axis=1), f"a window within {_REACH} pixels of the sample"
        op.refuse_samples(far, "crop", near, windows)
        sizes, anchors = np.where(outside, windows, sizes), np.where(outside, 0, anchors)
    lost = (inputs == 0).any(axis=1) & (windows > 0).all(axis=1)
    op.refuse_samples(lost, "crop", "a window without pixels, as the sample has none", windows)
    shapes = source.shapes.copy()
    shapes[:, axes] = windows
    return _ResizeCropMirrorPlan(shapes, inputs, sizes, low, high, filters, anchors, windows)


@resize_crop_mirror.coordinate_map
def _map(call: op.Call, plan: _ResizeCropMirrorPlan) -> Any:
    made = region_map(call, plan)
    axes = made.shape[1]
    made[:, :, axes] -= plan.anchors[:, ::-1]
    bits = np.left_shift(1, np.arange(axes))
    flipped = (call["mirror"][:, None] & bits) != 0
    made[:, :, axes] = np.where(flipped, plan.windows[:, ::-1] - made[:, :, axes], made[:, :, axes])
    made[:, np.arange(axes), np.arange(axes)] *= np.where(flipped, -1, 1)
    return made


def _window(call: op.Call) -> SourceWindow:
    """What is kept of the resampled images."""
    plan, mirror = call.plan, call["mirror"]
    assert isinstance(plan, _ResizeCropMirrorPlan)
    top, left = plan.anchors[:, -2:].T
    return SourceWindow(top, left, mirror & 1, mirror >> 1 & 1)


resize_crop_mirror.fusion_role = resize.fusion_role._replace(window=_window)


def _tables(call: op.Call, plan: _ResizeCropMirrorPlan) -> Tables:
    tables = resample_tables(call, call.inputs[0].batch_shape, call.outputs[0].layout)
    first = 6 - 2 * plan.anchors.shape[1]
    tables.window[:, first::2] = plan.anchors
    tables.window[:, first + 1 :: 2] = plan.anchors + plan.windows
    return tables


@resize_crop_mirror.cpu
def _cpu(call: op.Call, plan: _ResizeCropMirrorPlan) -> None:
    mirror = call["mirror"]
    resample_samples(call, _tables(call, plan), (mirror & 1) != 0, (mirror & 2) != 0)
    target = call.outputs[0]
    depth = target.layout.find("D")
    if depth >= 0:
        for sample in np.flatnonzero(mirror & 4).tolist():
            volume = target.array(sample)
            volume[:] = np.flip(volume, depth).copy()


@resize_crop_mirror.gpu
def _gpu(call: op.Call, plan: _ResizeCropMirrorPlan) -> list[op.Launch]:
    flips = np.stack([(call["mirror"] & bit) != 0 for bit in (4, 2, 1)], axis=1)
    return resample_call(call, _tables(call, plan), flips.astype(np.int64))


@resize_crop_mirror.cases
def _cases() -> list[op.Case]:
    images = op.samples((12, 16, 3), (9, 7, 3), (8, 30, 3))
    planes = op.samples((3, 8, 6), (3, 5, 5), dtype=op.float32, layout="CHW")
    volume = op.samples((5, 6, 7, 2), layout="DHWC")
    nearest: dict[str, Any] = {"interp_type": op.InterpType.INTERP_NN}

    def window(image: Any, size: int, mirror: int) -> Any:
        top, left = (image.shape[0] - size + 1) // 2, (image.shape[1] - size + 1) // 2
        part = image[top : top + size, left : left + size]
        return part[:: -1 if mirror & 2 else 1, :: -1 if mirror & 1 else 1]

    return [
        op.case(
            "nearest, mirrored", images, size=0, crop=(4, 4), mirror=[0, 1, 3], **nearest
        ).equals([window(images.at(i), 4, m) for i, m in enumerate((0, 1, 3))]),
        op.case("shorter side", images, resize_shorter=10, crop=(8, 8), mirror=1),
        op.case("planes", planes, size=(6, 6), crop_h=4, crop_w=[3, 5]),
        op.case("planes, mirrored", planes, size=(0, 0), mirror=1, **nearest)
        .equals([planes.at(i)[:, :, ::-1] for i in range(2)])
        .no_oracle(),
        op.case("volume", volume, size=(4, 4, 5), crop=(3, 2, 2), mirror=5),
        op.case("beyond the sample", images, size=(6, 6), crop=(8, 9), dtype=op.float32),
        op.case("no window", images, resize_x=10, resize_y=4, interp_type=2),
        op.case("empty", op.samples(), size=(4, 4), crop=(2, 2)).equals([]),
        op.case("no pixels", op.samples((4, 4, 3), (0, 4, 3)), size=4, crop=(2, 2)).value_error(
            "sample 1"
        ),
        op.case("no size", images, crop=(2, 2)).value_error("exactly one"),
        op.case("one extent", images, size=4, crop_w=2).value_error("crop_h"),
        op.case("bad position", images, size=4, crop=(2, 2), crop_pos_x=[0, 2, 0]).value_error(
            "sample 1"
        ),
        op.case("bad dtype", op.samples((4, 4, 3), dtype=op.float64), size=4).type_error("float64"),
    ]
