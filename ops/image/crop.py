"""`crop`: a window of each sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from gradiva.eager.arguments import DTypeLike, FloatArg, Floats, FloatsArg
from gradiva.eager.case import Case, samples
from gradiva.eager.convert import convert_array, convert_sat, truncate
from gradiva.eager.dtypes import DType, float16, float32, uint8
from gradiva.eager.errors import OperatorTypeError, OperatorValueError
from gradiva.eager.jit import jit
from gradiva.eager.operator import operator
from gradiva.eager.rules import require_layout, with_layout
from gradiva.eager.run import Call
from gradiva.eager.stages import Reindex, View
from gradiva.eager.value import SampleType

from .crop_window import LAYOUTS, apply_policy, crop_window, fill_array

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.arguments import Common

__all__ = ["crop", "output_dtype", "window_of"]

Array = NDArray[Any]
Int64s = NDArray[np.int64]


@operator("crop")
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


def _view(call: Call) -> View | None:
    """The window as a view on the input, if it lies inside of it and nothing is converted."""
    layout = call.types[0].layout or ""
    shapes, windows = call.inputs[0].geometry.shapes, call.geometries[0].shapes
    anchors = call.notes["anchors"]
    height, width = layout.find("H"), layout.find("W")
    others = [axis for axis in range(len(layout)) if axis not in (height, width)]
    outside = (anchors < 0) | (anchors + windows > shapes)
    moved = (windows[:, others] != shapes[:, others]).any()
    if outside.any() or moved or call.types[0].dtype is not call.inputs[0].dtype:
        return None
    nothing = np.zeros(call.size, np.int64)
    return View(anchors[:, height], anchors[:, width], nothing, nothing)


crop.stage = Reindex(_view)

AXES: Final = 5


def canonical(layout: str, *tables: Int64s) -> tuple[tuple[Int64s, ...], int]:
    """Tables of (N, ndim) as (N, 5), a trailing channel axis merged into the one before it.

    Each of `tables` but the first is in elements along its axis: shapes first, then anchors and
    windows. Returns them with the axis that holds the channels (4 when it was merged).
    """
    merged: list[Int64s] = []
    channels_last = layout[-1] == "C"
    for table in tables:
        rows = table
        if channels_last:
            rows = table[:, :-1].copy()
            rows[:, -1] *= tables[0][:, -1]
        wide = np.zeros((len(rows), AXES), np.int64)
        if table is not tables[1]:
            wide[:] = 1  # absent axes have extent 1; anchors (tables[1]) start at 0
        wide[:, AXES - rows.shape[1] :] = rows
        merged.append(wide)
    axis = AXES - 1 if channels_last else AXES - len(layout) + layout.index("C")
    return tuple(merged), axis


@jit
def crop_kernel(
    src: Array, src_offsets: Int64s, dst: Array, dst_offsets: Int64s, shapes: Int64s,
    anchors: Int64s, windows: Int64s, fill: Array, channel_axis: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Copy windows; tables come from `canonical`, `fill` has one value or one per channel.

    Source and target may differ in dtype: floats are truncated (not rounded) and saturated then,
    as the reference does in this operator. float16 is copied as uint16.
    """
    many = len(fill) > 1
    for i in range(begin, end):
        d = dst_offsets[i]
        width = windows[i, 4]
        low = min(max(-anchors[i, 4], 0), width)
        high = max(min(shapes[i, 4] - anchors[i, 4], width), low)
        for a in range(windows[i, 0]):
            ya = a + anchors[i, 0]
            for b in range(windows[i, 1]):
                yb = b + anchors[i, 1]
                for c in range(windows[i, 2]):
                    yc = c + anchors[i, 2]
                    for e in range(windows[i, 3]):
                        ye = e + anchors[i, 3]
                        inside = 0 <= ya < shapes[i, 0] and 0 <= yb < shapes[i, 1]
                        inside = inside and 0 <= yc < shapes[i, 2] and 0 <= ye < shapes[i, 3]
                        lo = low if inside else width
                        hi = high if inside else width
                        if many and channel_axis == 4:
                            for k in range(lo):
                                dst[d + k] = fill[k % len(fill)]
                            for k in range(hi, width):
                                dst[d + k] = fill[k % len(fill)]
                        elif lo > 0 or hi < width:
                            value = fill[0]
                            if many:
                                at = (a, b, c, e)
                                value = fill[at[channel_axis]]
                            for k in range(lo):
                                dst[d + k] = value
                            for k in range(hi, width):
                                dst[d + k] = value
                        if inside:
                            row = (ya * shapes[i, 1] + yb) * shapes[i, 2] + yc
                            row = (row * shapes[i, 3] + ye) * shapes[i, 4] + anchors[i, 4]
                            s = src_offsets[i] + row
                            for k in range(lo, hi):
                                dst[d + k] = convert_sat(truncate(src[s + k], dst), dst)
                        d += width


@crop.cpu
def _cpu(call: Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    layout = target.layout
    anchors = call.notes["anchors"]
    tables, axis = canonical(layout, source.geometry.shapes, anchors, target.geometry.shapes)
    fill = fill_array(call["fill_values"], target.dtype.numpy)
    counts = target.geometry.shapes[:, layout.index("C")]
    channels = int(counts[0])
    unequal = len(fill) != 1 and bool((counts != len(fill)).any())
    if call["out_of_bounds_policy"] != "pad":
        fill = fill[:1]
    elif unequal:
        channels = int(counts[counts != len(fill)][0])
        raise OperatorValueError(
            argument="fill_values",
            expected=f"1 value, or one for each of {channels} channels",
            got=str(len(fill)),
        )
    data, result = source.data, target.data
    if source.dtype is target.dtype:
        # Bytes move whatever they mean: one compiled kernel per element size.
        unsigned = f"u{source.dtype.itemsize}"
        data, result, fill = data.view(unsigned), result.view(unsigned), fill.view(unsigned)
    elif float16 in (source.dtype, target.dtype):
        _through_float32(call, tables, axis)
        return
    arguments = (data, source.geometry.offsets, result, target.geometry.offsets)
    call.for_samples(crop_kernel, *arguments, *tables, fill, axis)


def _through_float32(call: Call, tables: tuple[Int64s, ...], axis: int) -> None:
    """float16 to or from another dtype: Numba has no float16 on the CPU."""
    source, target = call.inputs[0], call.outputs[0]
    fill = fill_array(call["fill_values"], np.dtype(np.float32))
    wide = target.data.dtype if target.dtype is not float16 else np.dtype(np.float32)
    result = np.zeros(target.data.shape, wide)
    data = convert_array(source.data, np.dtype(np.float32))
    arguments = (data, source.geometry.offsets, result, target.geometry.offsets)
    call.for_samples(crop_kernel, *arguments, *tables, fill.astype(wide), axis)
    target.data[:] = convert_array(result, target.data.dtype)


@crop.cases
def _cases() -> list[Case]:
    images = samples((6, 8, 3), (5, 5, 3), (9, 4, 3))
    planes = samples((3, 7, 6), (3, 4, 5), dtype=float32, layout="CHW")
    frames = samples((2, 6, 6, 3), layout="FHWC")
    big = [np.pad(images.at(i), ((2, 2), (2, 2), (0, 0)), constant_values=7) for i in range(3)]
    return [
        Case(
            "centre",
            (images,),
            {"crop": (3, 4)},
            [images.at(0)[2:5, 2:6], images.at(1)[1:4, 1:5], images.at(2)[3:6, 0:4]],
        ),
        Case(
            "corner, per sample",
            (images,),
            {"crop_h": 2, "crop_w": [2, 3, 4], "crop_pos_x": 0, "crop_pos_y": 1},
            [images.at(0)[4:, :2], images.at(1)[3:, :3], images.at(2)[7:, :4]],
        ),
        Case("nothing given", (images,), expect=[images.at(i) for i in range(3)]),
        Case(
            "CHW",
            (planes,),
            {"crop": (2, 2)},
            [planes.at(0)[:, 3:5, 2:4], planes.at(1)[:, 1:3, 2:4]],
        ),
        Case("sequence", (frames,), {"crop": (4, 4)}, [frames.at(0)[:, 1:5, 1:5]]),
        Case(
            "pad",
            (images,),
            {
                "crop_h": [10, 9, 13],
                "crop_w": [12, 9, 8],
                "out_of_bounds_policy": "pad",
                "fill_values": 7,
            },
            big,
        ),
        Case(
            "trim",
            (images,),
            {"crop": (7, 7), "out_of_bounds_policy": "trim_to_shape"},
            [images.at(0)[:, 1:8], images.at(1), images.at(2)[1:8]],
        ),
        Case("to float", (images,), {"crop": (2, 2), "dtype": float32}),
        Case("empty", (samples(),), {"crop": (2, 2)}, []),
        Case("too large", (images,), {"crop": (6, 4)}, raises=OperatorValueError, match="sample 1"),
        Case(
            "bad position",
            (images,),
            {"crop": (2, 2), "crop_pos_x": [0.5, 2, 0]},
            raises=OperatorValueError,
            match="`crop_pos_x`",
        ),
        Case("one size", (images,), {"crop_w": 2}, raises=OperatorValueError, match="crop_h"),
        Case("rank", (samples((4,), layout=""),), raises=OperatorTypeError, match="axes"),
    ]
