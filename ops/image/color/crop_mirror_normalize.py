"""`crop_mirror_normalize`: window, mirror, normalize, permute axes, pad channels; in one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import gather_table
from gradiva.eager.operators.decomposition import CompositeCall, DecompositionPart
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.types.arrays import Float32Array
from gradiva.ops.image.crop_window import (
    DEFAULT_LAYOUTS,
    LAYOUTS,
    CropArguments,
    CropWindow,
    OutOfBounds,
    fill_array,
    window_in,
)

from .crop_mirror_normalize_cpu import normalize_interleaved, normalize_rows
from .crop_mirror_normalize_plan import NormalizePlan, channel_rows, fold, plan
from .normalize_pixels import normalize_pixels
from .pad_channels import pad_channels

_INPUTS = (op.uint8, op.uint16, op.int8, op.int16, op.int32, op.float16, op.float32)
_OUTPUTS = (op.float32, op.float16, op.uint8, op.int8)


@op.operator(
    "crop_mirror_normalize",
    schema="CropMirrorNormalize",
    old_arguments={"output_dtype": "dtype", "image_type": None},
)
@op.uses_arguments(CropWindow, OutOfBounds, ...)
def crop_mirror_normalize(
    input: op.SampleType,
    /,
    *,
    mirror: op.IntArg = 0,
    mean: op.FloatsArg = 0.0,
    std: op.FloatsArg = 1.0,
    scale: float = 1.0,
    shift: float = 0.0,
    pad_output: bool = False,
    dtype: op.DTypeLike = op.float32,
    output_layout: op.Layout = "CHW",
    **options: op.Unpack[CropArguments],
) -> op.SampleType:
    """Cut a window, mirror it, normalize it and change its layout, in one pass over the pixels.

    out = scale * (in - mean) / std + shift, computed in float32 as (in - mean') * f with
    f = scale / std and mean' = mean - shift * std / scale, then rounded to `dtype`.

    Args:
        input: uint8, uint16, int8, int16, int32, float16 or float32; layouts HWC, CHW, volumes with
            D, sequences with F. Without a layout HWC, DHWC or FDHWC by rank.
        fill_values: written as they are, not normalized; 0 where none are given, as for channels
            that `pad_output` adds to as many as there are values.
        mirror: nonzero to flip along W; may differ per sample.
        mean, std: one value or one per channel; may differ per sample.
        scale, shift: a factor and a summand that are applied last, to use more of the range of an
            integer `dtype`.
        pad_output: pad the channels to the next power of two.
        dtype: float32 (default), float16, uint8 or int8.
        output_layout: any order of the input's axes; the empty string keeps it.

    Returns:
        Samples of the size of the window, in `output_layout`.

    Raises:
        OperatorValueError: for a window that leaves its sample and for the wrong number of means.
        OperatorTypeError: for dtypes and layouts it does not take.

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.crop_mirror_normalize(
            image, crop=(224, 224), mean=[124, 116, 104], std=[58, 57, 57], output_layout="CHW"
        )
        image.shape, image.dtype  # ((3, 224, 224), float32)
    """
    op.require_dtype(input, _INPUTS)
    layout = op.require_layout(input, LAYOUTS, DEFAULT_LAYOUTS)
    if dtype not in _OUTPUTS:
        expected = "float32, float16, uint8 or int8"
        raise op.wrong_type("dtype", expected, dtype)
    if layout and output_layout and sorted(layout) != sorted(output_layout):
        raise op.wrong_value(
            "output_layout", f"the axes of {layout!r} in some order", repr(output_layout)
        )
    return input.with_(dtype=dtype, layout=output_layout or layout)


_WINDOW = ("crop", "crop_h", "crop_w", "crop_d")
_PLACE = (
    *("crop_pos_x", "crop_pos_y", "crop_pos_z"),
    *("rounding", "out_of_bounds_policy", "fill_values"),
)


@crop_mirror_normalize.decomposes
def _parts(call: CompositeCall) -> list[DecompositionPart] | None:
    """crop, flip, normalize_pixels, pad_channels and transpose."""
    if call.layout not in LAYOUTS[:7]:
        return None  # not known yet, or more axes than the parts take
    if call.fixed.get("out_of_bounds_policy") == "pad":
        return None  # what is filled in is not normalized
    padded = call.fixed.get("pad_output")
    if padded and call.layout[-1] != "C":
        return None  # there channels are planes
    parts = []
    if any(name in call.given for name in _WINDOW):
        parts.append(call.part("crop", *_WINDOW, *_PLACE))
    if "mirror" in call.given and call.fixed.get("mirror", 1):
        parts.append(call.part("flip", horizontal="mirror"))
    parts.append(call.part(normalize_pixels.name, "mean", "std", "scale", "shift", "dtype"))
    if padded:
        parts.append(call.fixed_part(pad_channels.name))
    wanted = call.fixed.get("output_layout", "CHW") or call.layout
    if wanted != call.layout:
        order = tuple(call.layout.index(letter) for letter in wanted)
        parts.append(call.fixed_part("transpose", perm=order))
    return parts


def _layout(call: op.Call) -> str:
    own = call.inputs[0].type
    return own.layout or DEFAULT_LAYOUTS[own.ndim or 3]


@crop_mirror_normalize.shapes
def _shapes(call: op.Call) -> NormalizePlan:
    layout = _layout(call)
    anchors, windows = window_in(call, layout)
    return plan(
        call.inputs[0].batch_shape.shapes,
        anchors,
        windows,
        call["mirror"],
        layout,
        call["output_layout"],
        call["pad_output"],
    )


@crop_mirror_normalize.coordinate_map
def _map(call: op.Call) -> Any:
    layout = _layout(call)
    anchors, windows = window_in(call, layout)
    axes = op.spatial_axes(layout)
    flipped = np.zeros((call.size, len(axes)), np.bool_)
    flipped[:, 0] = call["mirror"] != 0
    begins, ends = anchors[:, axes], (anchors + windows)[:, axes]
    return op.axis_map(np.where(flipped, -1.0, 1.0), np.where(flipped, ends, -begins))


def _mean_factor(call: op.Call) -> tuple[Float32Array, Float32Array]:
    """(N, channels) each, see `fold`."""
    channels = call.inputs[0].batch_shape.shapes[:, _layout(call).index("C")]
    most = int(channels.max())
    given, made = call.arguments, np.empty((2, call.size, most), np.float32)
    mean, std = (channel_rows(name, given[name], channels) for name in ("mean", "std"))
    made[0], made[1] = fold(mean, std, given["scale"], given["shift"])
    return made[0], made[1]


@crop_mirror_normalize.cpu
def _cpu(call: op.Call, p: NormalizePlan) -> None:
    tables = (p.extents, p.steps, p.starts, p.lows, p.highs)
    numbers = *_mean_factor(call), _fill(call)
    if p.channel_axis == 4:
        call.for_slabs(normalize_interleaved, tables, *numbers)
    else:
        call.for_slabs(normalize_rows, tables, *numbers, p.channel_axis)


_KERNEL = op.CudaKernel(
    "crop_mirror_normalize", ("gather.cuh", Path(__file__).with_name("crop_mirror_normalize.cuh"))
)


@crop_mirror_normalize.gpu
def _gpu(call: op.Call, p: NormalizePlan) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    mean, factor = _mean_factor(call)
    fill = convert_array(_fill(call), target.data.dtype)
    first = source.batch_shape.offsets + p.starts
    table = gather_table(first, target.batch_shape.offsets, p.extents, p.steps, p.lows, p.highs)
    blocks = op.blocks_of(target.batch_shape.volumes)
    types = {"Source": op.type_name(source.data.dtype), "Target": op.type_name(target.data.dtype)}
    numbers = mean, factor, fill, np.int64(mean.shape[1]), np.int64(p.channel_axis)
    arguments = source.data, op.OutputArg(target.data), table, blocks.table, *numbers
    return op.Launch(_KERNEL.unit(types), blocks.total, arguments)


def _fill(call: op.Call) -> Any:
    """One value per output channel, in float32 for float16; 0 unless the policy is to pad."""
    target = call.outputs[0]
    dtype = np.dtype(np.float32) if target.dtype is op.float16 else target.data.dtype
    channels = target.batch_shape.shapes[:, target.layout.index("C")]
    most = int(channels.max())
    if call["out_of_bounds_policy"] != "pad":
        return np.zeros(most, dtype)
    fill = fill_array(call["fill_values"], dtype)
    if len(fill) == 1:
        return np.repeat(fill, most)
    source = call.inputs[0]
    axis = source.layout.index("C") if source.layout else -1
    if len(fill) not in (0, most, int(source.batch_shape.shapes[:, axis].max())):
        raise op.wrong_value(
            "fill_values", f"1 value, or one for each of {most} output channels", len(fill)
        )
    # Channels that `pad_output` adds need no value of their own.
    return np.concatenate([fill, np.zeros(most - len(fill), dtype)])


@crop_mirror_normalize.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (5, 7, 3), (9, 6, 3))
    gray = op.samples((4, 4, 1), (3, 5, 1), dtype=op.int16)
    planes = op.samples((3, 5, 4), (3, 4, 6), dtype=op.float32, layout="CHW")
    mean, std = [120.0, 110.0, 100.0], [60.0, 59.0, 58.0]

    def normal(window: Any, mirrored: bool = False) -> Any:
        window = window[:, ::-1] if mirrored else window
        factor = np.float32(1) / np.array(std, np.float32)
        return ((window.astype(np.float32) - np.array(mean, np.float32)) * factor).transpose(
            2, 0, 1
        )

    center = [images.at(0)[1:5, 2:6], images.at(1)[1:5, 2:6], images.at(2)[3:7, 1:5]]
    plain = [images.at(i).transpose(2, 0, 1).astype(np.float32) for i in range(3)]
    given = {"crop": (4, 4), "mean": mean, "std": std}
    bytes_: Any = {"output_layout": "HWC", "dtype": op.uint8, "scale": 50.0, "shift": 128.0}
    padded: Any = {"out_of_bounds_policy": "pad", "fill_values": [1, 2, 3]}
    framed = np.full((8, 10, 4), (1, 2, 3, 0), np.float32)
    framed[1:7, 1:9] = 0
    framed[1:7, 1:9, :3] = images.at(0)
    return [
        op.case("default", images).equals(plain),
        op.case("normalize, mirror some", images, **given, mirror=[0, 1, 0]).equals(
            [normal(center[0]), normal(center[1], True), normal(center[2])]
        ),
        op.case("HWC to uint8", images, **given, **bytes_),
        op.case("pad channels", images, **given, pad_output=True, mirror=1),
        op.case("float16", images, **given, dtype=op.float16),
        op.case("gray int16 to int8", gray, mean=100, std=250.0, dtype=op.int8),
        op.case("planes", planes, crop=(3, 3), mirror=1, mean=[0.1, 0.2, 0.3]),
        op.case("pad window", images, crop=(10, 10), mean=mean, std=std, **padded),
        op.case(
            "pad window and channels",
            op.batch([images.at(0)], layout="HWC"),
            crop=(8, 10),
            pad_output=True,
            output_layout="HWC",
            **padded,
        )
        .equals([framed])
        .no_oracle(),
        op.case("per sample mean", images, mean=np.array([mean, std, mean]), std=[50.0]),
        op.case("empty", op.samples(), **given).equals([]),
        op.case("too many means", images, mean=[1.0, 2.0]).value_error("`mean`"),
        op.case("bad layout", images, output_layout="FHW").value_error("`output_layout`"),
        op.case("bad dtype", images, dtype=op.int32).type_error("`dtype`"),
    ]
