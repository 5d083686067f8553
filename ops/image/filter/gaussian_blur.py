"""`gaussian_blur`: weighted means of the pixels around each pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.types.arrays import (
    Array,
    F32Table,
    F32Vector,
    F32Volume,
    Float32Array,
    I64Table,
    I64Vector,
    Slabs,
    Vector,
)
from gradiva.ops.image.enhance.compat import ASSUMED, LAYOUTS, check_compat, compat_libraries

from .blur_gpu import Windows, blur_launches
from .blur_rows import blur_row, convert_line, reflect, symmetric
from .blur_windows import blurred_type, extents_of
from .gaussian_windows import windows
from .torch_blur import run_compat_blur


@op.operator("gaussian_blur", schema="GaussianBlur", frames=("sigma", "window_size", "CF"))
def gaussian_blur(
    input: op.SampleType,
    /,
    *,
    sigma: op.FloatsArg | None = None,
    window_size: op.IntsArg | None = None,
    dtype: op.DTypeLike | None = None,
    compat: str | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Blur samples with a Gaussian window, along each of the axes D, H and W.

    Weights are normalized to a sum of 1. Beyond the border pixels are mirrored, the outermost one
    not repeated. The sums are float32, along W, then H, then D; then the value is rounded half away
    from zero.

    Args:
        input: any dtype but bool; layouts HWC, CHW, HW, W and these with D or F; H, W and D may be
            other letters. Without a layout samples have at most 3 axes, and are blurred along all
            of them.
        sigma: standard deviation in pixels, one or one per axis in the order of the layout; may
            differ per sample. 0: computed as 0.3 * ((window_size - 1) / 2 - 1) + 0.8.
        window_size: an odd number of pixels, one or one per axis; may differ per sample. 0:
            computed as 2 * ceil(3 * sigma) + 1. Not both may be 0 or not given.
        dtype: the element type of the output: float32 or that of the input, which is the default.
        compat: "torchvision": the values of its gaussian_blur, `window_size` being its kernel_size,
            in the order height, width. "pil": those of Pillow's `ImageFilter.GaussianBlur`, of
            radius `sigma`, without a window (docs/compat.md). Images only, and the dtype stays.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for negative numbers, even windows and windows of more than 65535
            pixels.

    Example:
        image = gradiva.gaussian_blur(gradiva.imread("cat.jpg"), sigma=3.0)
    """
    if compat is None:
        return blurred_type(input, dtype)
    check_compat(compat, input, None, dtype)
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


gaussian_blur.moves = op.IN_PLACE


@gaussian_blur.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    if call["sigma"] is None and call["window_size"] is None:
        raise op.OperatorValueError("`sigma` or `window_size` must be given")
    if call["compat"] == "torchvision" and call["window_size"] is None:
        raise op.wrong_value("window_size", "torchvision's kernel_size, with `compat`", "nothing")
    if call["compat"] == "pil" and call["sigma"] is None:
        raise op.wrong_value("sigma", "Pillow's radius, with `compat`", "nothing")
    return call.inputs[0].batch_shape


@op.jit
def _slices(
    volume: tuple[Vector, int, int, int, int, int],
    dst: Vector,
    to: int,
    weights: F32Table,
    halves: I64Vector,
    scratch: tuple[F32Vector, F32Vector, I64Vector, I64Vector, I64Vector, F32Vector],
) -> None:
    """Blur the slices of a volume along W and H."""
    src, base, depth, height, pitch, channels = volume
    _, _, tags, _, _, out = scratch
    for z in range(depth):
        tags[:] = -1
        for y in range(height):
            row = z * height + y
            plane = (src, base + z * height * pitch, pitch, channels, height)
            blur_row(plane, y, weights, halves, scratch)
            convert_line(out[:pitch], dst[to + row * pitch : to + (row + 1) * pitch])


@op.jit
def _blur_samples(
    slabs: Slabs, extents: I64Table, weights: F32Volume, halves: I64Table, begin: int, end: int
) -> None:
    """Blur samples along width, height and depth.

    extents: planes, depth, height, width and channels of each; weights: (N, 3, taps), of D, H and
    W; halves: (N, 3), the taps on each side of the middle.
    """
    src, src_offsets, dst, dst_offsets = slabs
    pitch, most, rings, volume = 0, 1, 0, 0
    for i in range(begin, end):
        row = extents[i, 3] * extents[i, 4]
        pitch = max(pitch, row + 2 * halves[i, 2] * extents[i, 4])
        rings = max(rings, (2 * halves[i, 1] + 1) * row)
        for axis in range(3):
            most = max(most, 2 * halves[i, axis] + 1)
        if halves[i, 0]:
            volume = max(volume, extents[i, 1] * extents[i, 2] * row)
    line, out = np.empty(pitch, np.float32), np.empty(pitch, np.float32)
    ring, whole = np.empty(rings, np.float32), np.empty(volume, np.float32)
    tags, at = np.empty(most, np.int64), np.empty(most, np.int64)
    slots = np.empty(most, np.int64)
    scratch = (line, ring, tags, at, slots, out)
    for i in range(begin, end):
        planes, depth, height = extents[i, 0], extents[i, 1], extents[i, 2]
        channels = extents[i, 4]
        row = extents[i, 3] * channels
        size = depth * height * row
        if size == 0:
            continue
        own, half = weights[i], halves[i, 0]
        for p in range(planes):
            base, to = src_offsets[i] + p * size, dst_offsets[i] + p * size
            part = (src, base, depth, height, row, channels)
            if half == 0:
                _slices(part, dst, to, own, halves[i], scratch)
                continue
            _slices(part, whole, 0, own, halves[i], scratch)
            for z in range(depth):
                for y in range(height):
                    for k in range(2 * half + 1):
                        at[k] = (reflect(z + k - half, depth) * height + y) * row
                    symmetric(whole, at, own[0], half, row, out)
                    there = to + (z * height + y) * row
                    convert_line(out[:row], dst[there : there + row])


def _windows(call: op.Call) -> tuple[op.Int64Array, Float32Array, op.Int64Array]:
    """Extents, and what `windows` returns."""
    op.warn_of_mixed_channels(call.operator.name, call.inputs[0])
    extents, axes = extents_of(call.inputs[0].layout, call.inputs[0].batch_shape.shapes)
    return extents, *windows(call["sigma"], call["window_size"], axes, call.size)


gaussian_blur.not_serializable("compat")
gaussian_blur.libraries = compat_libraries


@gaussian_blur.cpu
def _cpu(call: op.Call) -> None:
    if call["compat"] is not None:
        run_compat_blur(call)
    else:
        call.for_slabs(_blur_samples, *_windows(call))


@gaussian_blur.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    if call["compat"] is not None:
        raise NoGpuKernelError(argument="compat", expected="None", got=repr(call["compat"]))
    _, weights, halves = _windows(call)
    return blur_launches(call, [Windows(weights, halves)])


def _expected(image: Array, window: Float32Array, axes: tuple[int, ...]) -> Any:
    """The same in NumPy: sums over padded copies, in float64."""
    half = len(window) // 2
    total = image.astype(np.float64)
    for axis in axes:
        width = [(half, half) if k == axis else (0, 0) for k in range(image.ndim)]
        padded = np.pad(total, width, mode="reflect")
        parts = [
            np.take(padded, np.arange(image.shape[axis]) + k, axis) for k in range(2 * half + 1)
        ]
        total = sum((w * part for w, part in zip(window, parts, strict=True)), np.zeros_like(total))
    return np.floor(total + 0.5).astype(image.dtype)


@gaussian_blur.cases
def _cases() -> list[op.Case]:
    images = op.samples((9, 8, 3), (5, 7, 3), (6, 11, 3))
    planes = op.samples((3, 6, 7), (3, 9, 5), layout="CHW")
    volumes = op.samples((5, 6, 7, 2), layout="DHWC", dtype=op.int16)
    floats = op.samples((7, 7), (3, 5), layout="HW", dtype=op.float32)
    sigma_1 = np.array([0.05448868, 0.24420135, 0.40261996, 0.24420135, 0.05448868])
    five = {"sigma": 1.0, "window_size": 5}
    return [
        op.case("one pixel", images, window_size=1).equals([images.at(i) for i in range(3)]),
        op.case("five", images, **five).each(lambda one: _expected(one, sigma_1, (0, 1))),
        op.case("planes", planes, **five).each(lambda one: _expected(one, sigma_1, (1, 2))),
        op.case("volume", volumes, sigma=[0.5, 1.0, 0.7]),
        op.case("floats", floats, window_size=[3, 7]),
        op.case("to float", images, sigma=0.8, dtype=op.float32),
        op.case("half", op.samples((5, 6), layout="HW", dtype=op.float16), sigma=0.8).no_oracle(),
        op.case("sequence", op.samples((2, 5, 6, 3), layout="FHWC"), sigma=[2.0, 0.5]),
        op.case("other letters", op.samples((2, 5, 6, 4), layout="FXYZ"), sigma=[2.0, 0.5, 1.0]),
        op.case("per sample", images, sigma=np.array([[0.5], [1.0], [3.0]], np.float32)),
        op.case("no layout", op.samples((4, 5, 3), layout=""), sigma=0.9),
        op.case("of torchvision", images, **five, compat="torchvision").no_oracle(),
        op.case("planes of torchvision", planes, **five, compat="torchvision").no_oracle(),
        op.case("floats of torchvision", floats, window_size=3, compat="torchvision").no_oracle(),
        op.case("of Pillow", images, sigma=[1.5, 0.5], compat="pil").no_oracle(),
        op.case("wide", images, window_size=19, compat="torchvision").value_error("`window_size`"),
        op.case("no window", images, sigma=2.0, compat="torchvision").value_error("`window_size`"),
        op.case("a window for Pillow", images, **five, compat="pil").value_error("`window_size`"),
        op.case("unknown library", images, **five, compat="zork").value_error("`compat`"),
        op.case("empty", op.samples(), **five).equals([]),
        op.case("neither", images).value_error("must be given"),
        op.case("both zero", images, sigma=0.0).value_error("`sigma`"),
        op.case("negative", images, sigma=-1.0).value_error("`sigma`"),
        op.case("even", images, window_size=4).value_error("`window_size`"),
        op.case("huge", images, sigma=1e9).value_error("65535"),
        op.case("axes", images, sigma=[1.0, 2.0, 3.0]).value_error("`sigma`"),
        op.case("dtype", images, sigma=1.0, dtype=op.int16).type_error("`dtype`"),
        op.case("bool", op.samples((2, 2), layout="HW", dtype=op.bool_), sigma=1.0).type_error(
            "bool"
        ),
        op.case(
            "layout", op.samples((2, 2, 2), layout="HCW", dtype=op.uint8), sigma=1.0
        ).type_error("layout"),
    ]
