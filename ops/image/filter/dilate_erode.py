"""`experimental.dilate`, `experimental.erode`: extremes of the pixels around each pixel."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op

from .morphology import dilate_erode, dilate_erode_type
from .morphology_gpu import dilate_erode_launches


@op.argument_group(mask_size=3, anchor=-1, border_mode="constant", iterations=1)
class Masks(TypedDict, total=False):
    """
    Args:
        input: uint8, uint16, int16 or float32; layouts HW, HWC, CHW and sequences of these; HW, HWC
            or FHWC by rank without a layout, and the output has that layout.
        mask_size: (width, height) of the rectangle, or one number for both; may differ per sample.
        anchor: (x, y) of the pixel in the rectangle, or one number for both; -1: the middle,
            size // 2; may differ per sample.
        border_mode: what stands beyond the border: "constant": nothing. "replicate" or "clamp": the
            outermost pixel. "reflect" or "reflect_1001": the image mirrored, with the outermost
            pixel; "reflect_101": without it. "wrap": the other end of the image.
        iterations: how often the operation is repeated, 0 or more.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for empty masks, anchors outside of the mask, and other border modes.
    """

    mask_size: op.IntsArg
    anchor: op.IntsArg
    border_mode: str
    iterations: int


class Arguments(Masks, op.Common, total=False):
    """What both take."""


@op.operator("experimental.dilate", schema="experimental__Dilate", same_shapes=True)
@op.uses_arguments(Masks)
def dilate(input: op.SampleType, /, **options: op.Unpack[Arguments]) -> op.SampleType:
    """Replace each pixel by the highest of a rectangle around it, channel by channel.

    As OpenCV's `dilate`, by which it is computed.

    Example:
        mask = np.uint8([[0, 0, 0, 0], [0, 9, 0, 0], [0, 0, 0, 0]])
        gradiva.experimental.dilate(mask, mask_size=(3, 1))
        # [[0, 0, 0, 0], [9, 9, 9, 0], [0, 0, 0, 0]]
    """
    return dilate_erode_type(input, options["border_mode"], options["iterations"])


@op.operator("experimental.erode", schema="experimental__Erode", same_shapes=True)
@op.uses_arguments(Masks)
def erode(input: op.SampleType, /, **options: op.Unpack[Arguments]) -> op.SampleType:
    """Replace each pixel by the lowest of a rectangle around it, channel by channel.

    As OpenCV's `erode`, by which it is computed.

    Example:
        mask = np.uint8([[9, 9, 0], [9, 9, 9], [9, 9, 9]])
        gradiva.experimental.erode(mask)  # [[9, 0, 0], [9, 0, 0], [9, 9, 9]]
    """
    return dilate_erode_type(input, options["border_mode"], options["iterations"])


dilate.libraries = erode.libraries = ("opencv-python-headless",)
dilate.cpu(lambda call: dilate_erode(call, "dilate"))
erode.cpu(lambda call: dilate_erode(call, "erode"))
dilate.gpu(lambda call: dilate_erode_launches(call, highest=True))
erode.gpu(lambda call: dilate_erode_launches(call, highest=False))


def _expected(image: Any, best: Any, width: int, height: int, x: int, y: int) -> Any:
    """Pixel by pixel, from the pixels of the rectangle that lie in the image."""
    rows, columns = image.shape[:2]
    result = np.empty_like(image)
    for i, j in np.ndindex(rows, columns):
        top, left = max(0, i - y), max(0, j - x)
        window = image[top : max(0, i - y + height), left : max(0, j - x + width)]
        result[i, j] = best(window, axis=(0, 1))
    return result


def _cases(best: Any) -> list[op.Case]:
    """best: np.max or np.min."""
    images = op.samples((9, 8, 3), (1, 7, 3), (6, 11, 3))
    planes = op.samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=op.uint16)

    def expected(*arguments: int) -> list[Any]:
        return [_expected(images.at(i), best, *arguments) for i in range(3)]

    across = [planes.at(i).transpose(1, 2, 0) for i in (0, 1)]
    upright = [_expected(image, best, 2, 4, 1, 2).transpose(2, 0, 1) for image in across]
    return [
        op.case("default", images).equals(expected(3, 3, 1, 1)).no_oracle(),
        op.case("wide", images, mask_size=[5, 2], anchor=[0, 1])
        .equals(expected(5, 2, 0, 1))
        .no_oracle(),
        op.case("planes", planes, mask_size=[2, 4]).equals(upright).no_oracle(),
        op.case("twice", images, iterations=2, border_mode="replicate")
        .equals(expected(5, 5, 2, 2))
        .no_oracle(),
        op.case("not at all", images, iterations=0)
        .equals([images.at(i) for i in range(3)])
        .no_oracle(),
        op.case(
            "per sample",
            images,
            mask_size=np.array([[1, 1], [3, 1], [4, 7]]),
            anchor=np.array([[0, 0], [-1, 0], [3, -1]]),
        ).no_oracle(),
        op.case(
            "wrap", op.samples((5, 6), layout="HW", dtype=op.float32), border_mode="wrap"
        ).no_oracle(),
        op.case(
            "frames", op.samples((2, 5, 6, 1), layout="FHWC"), border_mode="reflect_101"
        ).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("no mask", images, mask_size=[3, 0]).value_error("`mask_size`"),
        op.case("outside", images, anchor=3).value_error("`anchor`"),
        op.case("three", images, mask_size=[3, 3, 3]).value_error("`mask_size`"),
        op.case("border", images, border_mode="mirror").value_error("`border_mode`"),
        op.case("never", images, iterations=-1).value_error("`iterations`"),
        op.case("dtype", op.samples((4, 4, 3), dtype=op.int32)).type_error("int32"),
        op.case("layout", op.samples((4, 4, 3), layout="WHC")).type_error("layout"),
    ]


dilate.cases(lambda: _cases(np.max))
erode.cases(lambda: _cases(np.min))
