"""`experimental.median_blur`: the median of the pixels around each pixel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from gradiva.eager.cuda.launch import CudaKernel, Launch, Out, blocks_of, refuse_large, type_name
from gradiva.eager.operators.arguments import IntsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype, require_layout, with_layout
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, int16, int32, uint8, uint16
from gradiva.eager.types.sample_type import SampleType

from .borders import pad
from .morphology import ASSUMED, LAYOUTS, pairs, planes_of

if TYPE_CHECKING:
    import cv2
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common
else:
    cv2 = lazy_module("cv2", "opencv-python-headless")

__all__ = ["median_blur"]

Array = npt.NDArray[Any]

_MOST: Final = 1 << 16
"""Pixels of a window: all windows of a row are in memory at once."""


@operator("experimental.median_blur")
def median_blur(
    input: SampleType, /, *, window_size: IntsArg = 3, **common: Unpack[Common]
) -> SampleType:
    """Replace each pixel by the median of a rectangle around it, channel by channel.

    input: uint8, uint16, int16 or float32; layouts HW, HWC, CHW and sequences of these. HW, HWC or
        FHWC by rank without a layout, and the output has that layout.
    window_size: odd (width, height) of the rectangle, or one number for both; may differ per
        sample.

    Beyond the border stands the outermost pixel, as in OpenCV's `medianBlur`.

    Returns samples of the same shapes. Raises OperatorTypeError for other dtypes and layouts,
    OperatorValueError for even windows.
    """
    require_dtype(input, (uint8, uint16, int16, float32))
    return with_layout(input, require_layout(input, LAYOUTS, ASSUMED))


@median_blur.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


def _sizes(call: Call) -> npt.NDArray[np.int64]:
    """(N, 2): the width and height of the windows. Raises OperatorValueError."""
    sizes = pairs(call, "window_size")
    bad = ((sizes < 1) | (sizes % 2 == 0)).any(axis=1)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise OperatorValueError(
            argument="window_size",
            expected="odd numbers from 1 on",
            got=str(sizes[sample].tolist()),
            sample=sample,
        )

    bad = sizes.astype(np.float64).prod(axis=1) > _MOST
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise OperatorValueError(
            argument="window_size",
            expected=f"windows of at most {_MOST} pixels",
            got=str(sizes[sample].tolist()),
            sample=sample,
        )
    return sizes


@median_blur.cpu
def _cpu(call: Call) -> None:
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

    call.each_sample(run, source.geometry.volumes.tolist())


_KERNEL = CudaKernel("median_blur", (None, Path(__file__).with_name("median_blur.cuh")))
_SIDES: Final = (3, 5)
"""Windows whose pixels fit into registers."""


@median_blur.gpu
def _gpu(call: Call) -> Launch:
    source, target = call.inputs[0], call.outputs[0]
    sizes = _sizes(call)
    refuse_large(source.geometry.volumes)
    first = target.layout.index("H")
    shapes = source.geometry.shapes
    wide = np.stack([source.geometry.offsets, target.geometry.offsets], axis=1)
    narrow = np.empty((call.size, 6), np.int64)
    narrow[:, :2] = shapes[:, first : first + 2]
    narrow[:, 2] = shapes[:, first + 2 :].prod(axis=1)
    narrow[:, 3:5], narrow[:, 5] = sizes[:, ::-1], target.geometry.volumes
    table = np.concatenate([wide.view(np.int32), narrow.astype(np.int32)], axis=1)
    side = next((side for side in _SIDES if (sizes == side).all()), 0)
    unit = _KERNEL.unit({"Source": type_name(source.data.dtype)}, f"constexpr int SIDE = {side};\n")
    blocks = blocks_of(target.geometry.volumes)
    return Launch(unit, len(blocks), (source.data, Out(target.data), table, blocks))


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
def _cases() -> list[Case]:
    images = samples((9, 8, 3), (1, 7, 3), (6, 11, 3))
    planes = samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=uint16)

    def expected(width: int, height: int) -> list[Array]:
        return [_expected(images.at(i), width, height) for i in range(3)]

    across = [_expected(planes.at(i).transpose(1, 2, 0), 5, 5).transpose(2, 0, 1) for i in range(2)]
    return [
        case("default", images).equals(expected(3, 3)).no_oracle(),
        case("large", images, window_size=11).equals(expected(11, 11)).no_oracle(),
        case("wide", images, window_size=[5, 1]).equals(expected(5, 1)).no_oracle(),
        case("planes", planes, window_size=[5, 5]).equals(across).no_oracle(),
        case("one pixel", images, window_size=1)
        .equals([images.at(i) for i in range(3)])
        .no_oracle(),
        case("per sample", images, window_size=np.array([[1], [3], [7]])).no_oracle(),
        case("floats", samples((7, 8), layout="HW", dtype=float32), window_size=[7, 7]).no_oracle(),
        case("frames", samples((2, 5, 6, 2), layout="FHWC")).no_oracle(),
        case("empty", samples()).equals([]).no_oracle(),
        case("even", images, window_size=4).value_error("`window_size`"),
        case("three", images, window_size=[3, 3, 3]).value_error("`window_size`"),
        case("dtype", samples((4, 4, 3), dtype=int32)).type_error("int32"),
        case("layout", samples((4, 4, 3), layout="WHC")).type_error("layout"),
        case("wrong length", images, window_size=np.array([[3], [3]])).value_error("`window_size`"),
    ]
