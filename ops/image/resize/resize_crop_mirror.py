"""`resize_crop_mirror`: resample, cut a window and mirror it, in one pass over the pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import (
    DTypeLike,
    FloatArg,
    Floats,
    FloatsArg,
    IntArg,
    InterpArg,
)
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype, require_layout, with_layout
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Int64Array
from gradiva.eager.types.dtypes import InterpType, float32, float64
from gradiva.eager.types.sample_type import SampleType
from gradiva.ops.image.crop.crop_window import crop_window
from gradiva.ops.image.resample.gpu import resample_call
from gradiva.ops.image.resample.run import Tables, resample_samples

from .resize import ASSUMED, DTYPES, LAYOUTS, check_dtype, filters_of, resample_tables, sizes_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["resize_crop_mirror"]

_REACH = 65536


@operator("resize_crop_mirror")
def resize_crop_mirror(
    input: SampleType,
    /,
    *,
    size: FloatsArg | None = None,
    resize_x: FloatArg | None = None,
    resize_y: FloatArg | None = None,
    resize_z: FloatArg | None = None,
    resize_shorter: FloatArg | None = None,
    resize_longer: FloatArg | None = None,
    mode: str | None = None,
    max_size: Floats | None = None,
    subpixel_scale: bool = True,
    roi_start: FloatsArg | None = None,
    roi_end: FloatsArg | None = None,
    roi_relative: bool = False,
    crop: FloatsArg | None = None,
    crop_h: FloatArg | None = None,
    crop_w: FloatArg | None = None,
    crop_d: FloatArg | None = None,
    crop_pos_x: FloatArg = 0.5,
    crop_pos_y: FloatArg = 0.5,
    crop_pos_z: FloatArg = 0.5,
    rounding: str = "round",
    mirror: IntArg = 0,
    interp_type: InterpArg | None = None,
    min_filter: InterpArg | None = None,
    mag_filter: InterpArg | None = None,
    antialias: bool = True,
    dtype: DTypeLike | None = None,
    minibatch_size: int = 32,
    temp_buffer_hint: int = 0,
    **common: Unpack[Common],
) -> SampleType:
    """Resample each sample as `resize` does, cut a window out of it, mirror that.

    input, size, resize_*, mode, max_size, subpixel_scale, roi_*, interp_type, min_filter,
        mag_filter, antialias, dtype, minibatch_size, temp_buffer_hint: as in `resize`.
    crop, crop_h, crop_w, crop_d, crop_pos_*, rounding: the window, as in `crop`; depth is that of
        volumes. Where it leaves the resampled sample, the border is repeated.
    mirror: what is mirrored in the end: 1 for W, 2 for H, 4 for D, or a sum of these; may differ
        per sample.

    Only the window is computed; its bits are those of `resize` and `crop` one after the other.
    Raises OperatorValueError for arguments that contradict each other and for positions outside
    0..1.
    """
    require_dtype(input, DTYPES)
    layout = require_layout(input, LAYOUTS, ASSUMED)
    check_dtype(input, dtype)
    result = with_layout(input, layout)
    return result if dtype is None else result.with_(dtype=dtype)


@resize_crop_mirror.shapes
def _shapes(call: Call) -> Int64Array:
    source = call.inputs[0].geometry
    layout = call.types[0].layout or ""
    axes = [axis for axis, letter in enumerate(layout) if letter in "DHW"]
    count = len(axes)
    inputs = source.shapes[:, axes]
    sizes, low, high = sizes_of(call, inputs)
    filters = filters_of(call, sizes, low, high)
    names = ("crop", "crop_h", "crop_w", "crop_d", "crop_pos_x", "crop_pos_y", "crop_pos_z")
    anchors, windows = crop_window(
        np.hstack([sizes, np.ones((call.size, 1), np.int64)]),
        "DHWC"[-count - 1 :],
        **{name: call[name] for name in names},
        rounding=call["rounding"],
    )
    anchors, windows = anchors[:, :count], windows[:, :count]
    outside = ((anchors < 0) | (anchors + windows > sizes)) & (sizes > 0)
    if outside.any():
        # There the window is a resampling of its own, of a region that goes beyond the sample.
        scale = (high - low) / np.maximum(sizes, 1)
        high = np.where(outside, low + (anchors + windows) * scale, high)
        low = np.where(outside, low + anchors * scale, low)
        far = (np.abs(low) > _REACH + inputs) | (np.abs(high) > _REACH + inputs)
        if (far & outside).any():
            raise OperatorValueError(
                argument="crop",
                expected=f"a window within {_REACH} pixels of the sample",
                got=str(windows[(far & outside).any(axis=1)][0].tolist()),
                sample=int(np.argmax((far & outside).any(axis=1))),
            )
        sizes, anchors = np.where(outside, windows, sizes), np.where(outside, 0, anchors)
    lost = (inputs == 0).any(axis=1) & (windows > 0).all(axis=1)
    if lost.any():
        raise OperatorValueError(
            argument="crop",
            expected="a window without pixels, as the sample has none",
            got=str(windows[lost][0].tolist()),
            sample=int(np.argmax(lost)),
        )
    call.notes["plan"] = (inputs, sizes, low, high, filters)
    call.notes["window"] = (anchors, windows)
    shapes = source.shapes.copy()
    shapes[:, axes] = windows
    return shapes


def _tables(call: Call) -> Tables:
    tables = resample_tables(call, call.inputs[0].geometry, call.outputs[0].layout)
    anchors, windows = call.notes["window"]
    first = 6 - 2 * anchors.shape[1]
    tables.window[:, first::2] = anchors
    tables.window[:, first + 1 :: 2] = anchors + windows
    return tables


@resize_crop_mirror.cpu
def _cpu(call: Call) -> None:
    mirror = call["mirror"]
    resample_samples(call, _tables(call), (mirror & 1) != 0, (mirror & 2) != 0)
    target = call.outputs[0]
    depth = target.layout.find("D")
    if depth >= 0:
        for sample in np.flatnonzero(mirror & 4).tolist():
            volume = target.array(sample)
            volume[:] = np.flip(volume, depth).copy()


@resize_crop_mirror.gpu
def _gpu(call: Call) -> list[Launch]:
    flips = np.stack([(call["mirror"] & bit) != 0 for bit in (4, 2, 1)], axis=1)
    return resample_call(call, _tables(call), flips.astype(np.int64))


@resize_crop_mirror.cases
def _cases() -> list[Case]:
    images = samples((12, 16, 3), (9, 7, 3), (8, 30, 3))
    planes = samples((3, 8, 6), (3, 5, 5), dtype=float32, layout="CHW")
    volume = samples((5, 6, 7, 2), layout="DHWC")
    nearest: dict[str, Any] = {"interp_type": InterpType.INTERP_NN}

    def window(image: Any, size: int, mirror: int) -> Any:
        top, left = (image.shape[0] - size + 1) // 2, (image.shape[1] - size + 1) // 2
        part = image[top : top + size, left : left + size]
        return part[:: -1 if mirror & 2 else 1, :: -1 if mirror & 1 else 1]

    return [
        case("nearest, mirrored", images, size=0, crop=(4, 4), mirror=[0, 1, 3], **nearest).equals(
            [window(images.at(i), 4, m) for i, m in enumerate((0, 1, 3))]
        ),
        case("shorter side", images, resize_shorter=10, crop=(8, 8), mirror=1),
        case("planes", planes, size=(6, 6), crop_h=4, crop_w=[3, 5]),
        case("planes, mirrored", planes, size=(0, 0), mirror=1, **nearest)
        .equals([planes.at(i)[:, :, ::-1] for i in range(2)])
        .no_oracle(),
        case("volume", volume, size=(4, 4, 5), crop=(3, 2, 2), mirror=5),
        case("beyond the sample", images, size=(6, 6), crop=(8, 9), dtype=float32),
        case("no window", images, resize_x=10, resize_y=4, interp_type=2),
        case("empty", samples(), size=(4, 4), crop=(2, 2)).equals([]),
        case("no pixels", samples((4, 4, 3), (0, 4, 3)), size=4, crop=(2, 2)).value_error(
            "sample 1"
        ),
        case("no size", images, crop=(2, 2)).value_error("exactly one"),
        case("one extent", images, size=4, crop_w=2).value_error("crop_h"),
        case("bad position", images, size=4, crop=(2, 2), crop_pos_x=[0, 2, 0]).value_error(
            "sample 1"
        ),
        case("bad dtype", samples((4, 4, 3), dtype=float64), size=4).type_error("float64"),
    ]
