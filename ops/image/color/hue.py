"""`hue`: turn the hues of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.arguments import DTypeLike, FloatArg, ImageType
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.pixelwise import pixelwise
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, float64
from gradiva.eager.types.sample_type import SampleType

from .color_matrix import colour_type, hue_saturation, matrix_row, parameters, require_channels

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["hue"]


@operator("hue", frames=("hue",))
def hue(
    input: SampleType,
    /,
    *,
    hue: FloatArg = 0.0,
    image_type: ImageType = ImageType.RGB,
    dtype: DTypeLike | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """Turn the hues of each sample.

    The colours, as seen in the YIQ space, turn about the axis of luma. This is one 3x3 matrix on
    red, green and blue, applied in float32 and rounded to the output dtype, half away from zero,
    saturating (see ops/image/color/color_matrix.py).

    input: RGB images of uint8, int8, uint16, int16, int32, float16 or float32; layouts HWC, CHW,
        and these with D or F. Without a layout, HWC or FHWC by rank.
    hue: degrees; may differ per sample.
    image_type: RGB, the default. For BGR and others an OperatorValueError: convert them first.
    dtype: of the output; the input's by default.

    Returns samples of the same shapes. Raises OperatorTypeError for other dtypes and layouts,
    OperatorValueError for other numbers of channels, and
    for another `image_type`.
    """
    return colour_type(input, dtype, image_type)


@hue.shapes
def _shapes(call: Call) -> Geometry:
    return require_channels(call)


@pixelwise(hue, matrix_row)
def _rows(call: Call) -> np.ndarray[Any, np.dtype[np.float32]]:
    return parameters(hue_saturation(call["hue"], np.float32(1), call.size))


@hue.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = samples((3, 4, 5), (3, 2, 2), layout="CHW")
    floats = samples((3, 4, 3), dtype=float32)
    gray = np.full((2, 2, 3), 90, np.uint8)
    gray_batch = samples((2, 2, 3), low=90, high=90)
    return [
        case("default", images).equals([images.at(i) for i in range(3)]),
        case("gray stays", gray_batch, hue=77.0).equals([gray]),
        case("per sample", images, hue=[30.0, -90.0, 180.0]),
        case("planes", planes, hue=45.0).no_oracle(),
        case("to float", images, hue=45.0, dtype=float32),
        case("floats", floats, hue=45.0),
        case("BGR", images, image_type=ImageType.BGR).value_error("`image_type`"),
        case("empty", samples(), hue=45.0).equals([]),
        case("bad dtype", samples((2, 2, 3), dtype=float64)).type_error("float64"),
        case("bad layout", samples((2, 2), layout="HW")).type_error("layout"),
        case("channels", samples((2, 2, 4))).value_error("channels"),
        case("wrong length", images, hue=[1.0]).value_error("`hue`"),
    ]
