"""`contrast`: spread the values of an image about a centre."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.operators.arguments import DTypeLike, FloatArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.pixelwise import pixelwise
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, float64, int16
from gradiva.eager.types.sample_type import SampleType

from .brightness_contrast import brightness_contrast_row, linear_rows, linear_type

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["contrast"]


@operator("contrast", frames=("contrast", "contrast_center"))
def contrast(
    input: SampleType,
    /,
    *,
    contrast: FloatArg = 1.0,
    contrast_center: FloatArg | None = None,
    dtype: DTypeLike | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """Change the contrast of each sample.

    out = center + contrast * (in - center)

    computed as one multiplication and one addition in float32, rounded to the output dtype, half
    away from zero, saturating. The same as `brightness_contrast` with the brightness left as it is.

    input: uint8, int8, uint16, int16, int32 or float32; layouts HWC, CHW, HW, FHWC, FCHW, DHWC,
        CDHW. Without a layout, HW, HWC or FHWC by rank.
    contrast: may differ per sample.
    contrast_center: the intensity that is left as it is; may differ per sample. If not given, the
        middle of the input dtype's range: 128 for uint8, 16384 for int16, 0.5 for floats.
    dtype: of the output; the input's by default.

    Returns samples of the same shapes. Raises OperatorTypeError for other dtypes and layouts.
    """
    return linear_type(input, dtype)


@contrast.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@pixelwise(contrast, brightness_contrast_row)
def _rows(call: Call) -> np.ndarray[Any, np.dtype[np.float32]]:
    one, zero = np.float32(1), np.float32(0)
    return linear_rows(call, one, zero, call["contrast"], call["contrast_center"])


@contrast.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    flat = samples((2, 2, 3), low=200, high=200)
    floats = samples((3, 4, 3), dtype=float32)
    return [
        case("default", images).equals([images.at(i) for i in range(3)]),
        case("about 128", flat, contrast=0.5).equals([np.full((2, 2, 3), 164, np.uint8)]),
        case("about 100", flat, contrast=0.5, contrast_center=100.0).equals(
            [np.full((2, 2, 3), 150, np.uint8)]
        ),
        case("per sample", images, contrast=[0.5, 1.5, -1.0], contrast_center=[10.0, 128.0, 90.0]),
        case("to int16", floats, contrast=900.0, dtype=int16),
        case("empty", samples(), contrast=0.5).equals([]),
        case("bad dtype", samples((2, 2, 3), dtype=float64)).type_error("float64"),
        case("wrong length", images, contrast=[1.0]).value_error("`contrast`"),
    ]
