"""`contrast`: spread the values of an image about a centre."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32

from .brightness_contrast import brightness_contrast_row, linear_rows, linear_type


@op.operator(
    "contrast", schema="Contrast", frames=("contrast", "contrast_center"), same_shapes=True
)
def contrast(
    input: op.SampleType,
    /,
    *,
    contrast: op.FloatArg = 1.0,
    contrast_center: op.FloatArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Change the contrast of each sample.

    out = center + contrast * (in - center)

    computed as one multiplication and one addition in float32, rounded to the output dtype, half
    away from zero, saturating. The same as `brightness_contrast` with the brightness left as it is.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32; layouts HWC, CHW, HW, FHWC, FCHW, DHWC,
            CDHW. Without a layout, HW, HWC or FHWC by rank.
        contrast: may differ per sample.
        contrast_center: the intensity that is left as it is; may differ per sample. If not given,
            the middle of the input dtype's range: 128 for uint8, 16384 for int16, 0.5 for floats.
        dtype: of the output; the input's by default.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
    """
    return linear_type(input, dtype)


@op.pixelwise(contrast, brightness_contrast_row)
def _rows(call: op.Call) -> F32:
    one, zero = np.float32(1), np.float32(0)
    return linear_rows(call, one, zero, call["contrast"], call["contrast_center"])


@contrast.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    flat = op.samples((2, 2, 3), low=200, high=200)
    floats = op.samples((3, 4, 3), dtype=op.float32)
    return [
        op.case("default", images).equals([images.at(i) for i in range(3)]),
        op.case("about 128", flat, contrast=0.5).equals([np.full((2, 2, 3), 164, np.uint8)]),
        op.case("about 100", flat, contrast=0.5, contrast_center=100.0).equals(
            [np.full((2, 2, 3), 150, np.uint8)]
        ),
        op.case(
            "per sample", images, contrast=[0.5, 1.5, -1.0], contrast_center=[10.0, 128.0, 90.0]
        ),
        op.case("to int16", floats, contrast=900.0, dtype=op.int16),
        op.case("empty", op.samples(), contrast=0.5).equals([]),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
        op.case("wrong length", images, contrast=[1.0]).value_error("`contrast`"),
    ]
