"""`experimental.erode`: the lowest of the pixels around each pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import IntsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, int32, uint16
from gradiva.eager.types.sample_type import SampleType

from .morphology import grow, grown_type
from .morphology_gpu import grow_launches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["erode"]


@operator("experimental.erode")
def erode(
    input: SampleType,
    /,
    *,
    mask_size: IntsArg = 3,
    anchor: IntsArg = -1,
    border_mode: str = "constant",
    iterations: int = 1,
    **common: Unpack[Common],
) -> SampleType:
    """Replace each pixel by the lowest of a rectangle around it, channel by channel.

    input: uint8, uint16, int16 or float32; layouts HW, HWC, CHW and sequences of these. HW, HWC or
        FHWC by rank without a layout, and the output has that layout.
    mask_size: (width, height) of the rectangle, or one number for both; may differ per sample.
    anchor: (x, y) of the pixel in the rectangle, or one number for both; -1: the middle, size // 2;
        may differ per sample.
    border_mode: what stands beyond the border: "constant": nothing. "replicate" or "clamp": the
        outermost pixel. "reflect" or "reflect_1001": the image mirrored, with the outermost pixel;
        "reflect_101": without it. "wrap": the other end of the image.
    iterations: how often it is done, 0 or more.

    As OpenCV's `erode`, by which it is computed.

    Returns samples of the same shapes. Raises OperatorTypeError for other dtypes and layouts,
    OperatorValueError for empty masks, anchors outside of the mask, and other border modes.
    """
    return grown_type(input, border_mode, iterations)


@erode.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@erode.cpu
def _cpu(call: Call) -> None:
    grow(call, "erode")


@erode.gpu
def _gpu(call: Call) -> list[Launch]:
    return grow_launches(call, highest=False)


def _expected(image: Any, width: int, height: int, x: int, y: int) -> Any:
    """Pixel by pixel, from the pixels of the rectangle that lie in the image."""
    rows, columns = image.shape[:2]
    result = np.empty_like(image)
    for i, j in np.ndindex(rows, columns):
        top, left = max(0, i - y), max(0, j - x)
        window = image[top : max(0, i - y + height), left : max(0, j - x + width)]
        result[i, j] = window.min(axis=(0, 1))
    return result


@erode.cases
def _cases() -> list[Case]:
    images = samples((9, 8, 3), (1, 7, 3), (6, 11, 3))
    planes = samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=uint16)

    def expected(*arguments: int) -> list[Any]:
        return [_expected(images.at(i), *arguments) for i in range(3)]

    upright = [
        _expected(planes.at(i).transpose(1, 2, 0), 2, 4, 1, 2).transpose(2, 0, 1) for i in (0, 1)
    ]
    return [
        case("default", images).equals(expected(3, 3, 1, 1)).no_oracle(),
        case("wide", images, mask_size=[5, 2], anchor=[0, 1])
        .equals(expected(5, 2, 0, 1))
        .no_oracle(),
        case("planes", planes, mask_size=[2, 4]).equals(upright).no_oracle(),
        case("twice", images, iterations=2, border_mode="replicate")
        .equals(expected(5, 5, 2, 2))
        .no_oracle(),
        case("not at all", images, iterations=0)
        .equals([images.at(i) for i in range(3)])
        .no_oracle(),
        case(
            "per sample",
            images,
            mask_size=np.array([[1, 1], [3, 1], [4, 7]]),
            anchor=np.array([[0, 0], [-1, 0], [3, -1]]),
        ).no_oracle(),
        case("wrap", samples((5, 6), layout="HW", dtype=float32), border_mode="wrap").no_oracle(),
        case("frames", samples((2, 5, 6, 1), layout="FHWC"), border_mode="reflect_101").no_oracle(),
        case("empty", samples()).equals([]).no_oracle(),
        case("no mask", images, mask_size=[3, 0]).value_error("`mask_size`"),
        case("outside", images, anchor=3).value_error("`anchor`"),
        case("three", images, mask_size=[3, 3, 3]).value_error("`mask_size`"),
        case("border", images, border_mode="mirror").value_error("`border_mode`"),
        case("never", images, iterations=-1).value_error("`iterations`"),
        case("dtype", samples((4, 4, 3), dtype=int32)).type_error("int32"),
        case("layout", samples((4, 4, 3), layout="WHC")).type_error("layout"),
    ]
