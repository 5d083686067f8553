"""`experimental.median_blur`: the median of the pixels around each pixel."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array, Int64Array

from .borders import pad
from .morphology import ASSUMED, LAYOUTS, pairs, planes_of

_MOST: Final = 1 << 16
"""Pixels of a window: all windows of a row are in memory at once."""


@op.operator("experimental.median_blur", schema="experimental__MedianBlur", same_shapes=True)
def median_blur(
    input: op.SampleType, /, *, window_size: op.IntsArg = 3, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Replace each pixel by the median of a rectangle around it, channel by channel.

    Beyond the border stands the outermost pixel, as in OpenCV's `medianBlur`.

    Args:
        input: uint8, uint16, int16 or float32; layouts HW, HWC, CHW and sequences of these. HW, HWC
            or FHWC by rank without a layout, and the output has that layout.
        window_size: odd (width, height) of the rectangle, or one number for both; may differ per
            sample.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for even windows.

    Example:
        image = gradiva.experimental.median_blur(gradiva.imread("cat.jpg"), window_size=5)
    """
    op.require_dtype(input, (op.uint8, op.uint16, op.int16, op.float32))
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


def _sizes(call: op.Call) -> Int64Array:
    """(N, 2): the width and height of the windows. Raises OperatorValueError."""
    sizes = pairs(call, "window_size")
    odd, most = "odd numbers from 1 on", f"windows of at most {_MOST} pixels"
    even = ((sizes < 1) | (sizes % 2 == 0)).any(axis=1)
    large = sizes.astype(np.float64).prod(axis=1) > _MOST
    for bad, expected in ((even, odd), (large, most)):
        op.refuse_samples(bad, "window_size", expected, sizes)
    return sizes


median_blur.libraries = ("opencv-python-headless",)


@median_blur.cpu
def _cpu(call: op.Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    sizes = _sizes(call)

    def run(sample: int) -> None:
        image, result = source.array(sample), target.array(sample)
        if image.size == 0:
            return
        width, height = sizes[sample].tolist()
        planes = planes_of(target.layout, image), planes_of(target.layout, result)
        for plane, out in zip(*planes, strict=True):
            _median(plane, width, height, out)

    call.each_sample(run, source.batch_shape.volumes.tolist())


_KERNEL = op.CudaKernel("median_blur", (None, Path(__file__).with_name("median_blur.cuh")))
_SIDES: Final = (3, 5)
"""Windows whose pixels fit into registers."""


@median_blur.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    sizes = _sizes(call)
    op.refuse_large(source.batch_shape.volumes)
    first = target.layout.index("H")
    shapes = source.batch_shape.shapes
    offsets = [source.batch_shape.offsets, target.batch_shape.offsets]
    extents = [*shapes[:, first : first + 2].T, shapes[:, first + 2 :].prod(axis=1)]
    table = op.struct_rows(offsets, [*extents, *sizes[:, ::-1].T, target.batch_shape.volumes])
    side = next((side for side in _SIDES if (sizes == side).all()), 0)
    unit = _KERNEL.unit(
        {"Source": op.type_name(source.data.dtype)}, f"constexpr int SIDE = {side};\n"
    )
    blocks = op.blocks_of(target.batch_shape.volumes)
    return op.Launch(
        unit, blocks.total, (source.data, op.OutputArg(target.data), table, blocks.table)
    )


def _median(image: Array, width: int, height: int, out: Array) -> None:
    """The median of one image, (H, W) or (H, W, C)."""
    if width == height == 1:
        out[...] = image
    elif image.ndim == 3 and image.shape[2] not in (1, 3, 4):
        for channel in range(image.shape[2]):
            _median(np.ascontiguousarray(image[..., channel]), width, height, out[..., channel])
    elif width == height and (width <= 5 or (image.dtype == np.uint8 and width < 256)):
        out[...] = cv2.medianBlur(image, width).reshape(image.shape)
    else:
        # What OpenCV has not: row by row, so that the windows need little memory.
        before = [height // 2, width // 2]
        padded = pad(image, before, before, "clamp", 0)
        middle = width * height // 2
        for y in range(len(image)):
            windows = np.lib.stride_tricks.sliding_window_view(
                padded[y : y + height], (height, width), axis=(0, 1)
            )[0]
            flat = windows.reshape((*image.shape[1:], -1))
            out[y] = np.partition(flat, middle, axis=-1)[..., middle]


def _expected(image: Array, width: int, height: int) -> Array:
    """By NumPy's median, of whole windows at once."""
    half = [(height // 2, height // 2), (width // 2, width // 2)]
    padded = np.pad(image, half + [(0, 0)] * (image.ndim - 2), "edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(0, 1))
    result: Array = np.median(windows, axis=(-2, -1)).astype(image.dtype)
    return result


@median_blur.cases
def _cases() -> list[op.Case]:
    images = op.samples((9, 8, 3), (1, 7, 3), (6, 11, 3))
    planes = op.samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=op.uint16)

    def expected(width: int, height: int) -> list[Array]:
        return [_expected(images.at(i), width, height) for i in range(3)]

    across = [_expected(planes.at(i).transpose(1, 2, 0), 5, 5).transpose(2, 0, 1) for i in range(2)]
    return [
        op.case("default", images).equals(expected(3, 3)).no_oracle(),
        op.case("large", images, window_size=11).equals(expected(11, 11)).no_oracle(),
        op.case("wide", images, window_size=[5, 1]).equals(expected(5, 1)).no_oracle(),
        op.case("planes", planes, window_size=[5, 5]).equals(across).no_oracle(),
        op.case("one pixel", images, window_size=1)
        .equals([images.at(i) for i in range(3)])
        .no_oracle(),
        op.case("per sample", images, window_size=np.array([[1], [3], [7]])).no_oracle(),
        op.case(
            "floats", op.samples((7, 8), layout="HW", dtype=op.float32), window_size=[7, 7]
        ).no_oracle(),
        op.case("frames", op.samples((2, 5, 6, 2), layout="FHWC")).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("even", images, window_size=4).value_error("`window_size`"),
        op.case("three", images, window_size=[3, 3, 3]).value_error("`window_size`"),
        op.case("dtype", op.samples((4, 4, 3), dtype=op.int32)).type_error("int32"),
        op.case("layout", op.samples((4, 4, 3), layout="WHC")).type_error("layout"),
        op.case("wrong length", images, window_size=np.array([[3], [3]])).value_error(
            "`window_size`"
        ),
    ]
