"""`hue`: turn the hues of an image."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32

from .color_matrix import colour_type, hue_saturation, matrix_row, parameters, require_channels


@op.operator("hue", schema="Hue", frames=("hue",))
def hue(
    input: op.SampleType,
    /,
    *,
    hue: op.FloatArg = 0.0,
    image_type: op.ImageType = op.ImageType.RGB,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Turn the hues of each sample.

    The colours, as seen in the YIQ space, turn about the axis of luma. This is one 3x3 matrix on
    red, green and blue, applied in float32 and rounded to the output dtype, half away from zero,
    saturating (see ops/image/color/color_matrix.py).

    Args:
        input: RGB images of uint8, int8, uint16, int16, int32, float16 or float32; layouts HWC,
            CHW, and these with D or F. Without a layout, HWC or FHWC by rank.
        hue: degrees; may differ per sample.
        image_type: RGB, the default. For BGR and others an OperatorValueError: convert them first.
        dtype: of the output; the input's by default.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels, and for another `image_type`.
    """
    return colour_type(input, dtype, image_type)


@hue.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    return require_channels(call)


@op.pixelwise(hue, matrix_row)
def _rows(call: op.Call) -> F32:
    return parameters(hue_saturation(call["hue"], np.float32(1), call.size))


@hue.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW")
    floats = op.samples((3, 4, 3), dtype=op.float32)
    gray = np.full((2, 2, 3), 90, np.uint8)
    gray_batch = op.samples((2, 2, 3), low=90, high=90)
    return [
        op.case("default", images).equals([images.at(i) for i in range(3)]),
        op.case("gray stays", gray_batch, hue=77.0).equals([gray]),
        op.case("per sample", images, hue=[30.0, -90.0, 180.0]),
        op.case("planes", planes, hue=45.0).no_oracle(),
        op.case("to float", images, hue=45.0, dtype=op.float32),
        op.case("floats", floats, hue=45.0),
        op.case("BGR", images, image_type=op.ImageType.BGR).value_error("`image_type`"),
        op.case("empty", op.samples(), hue=45.0).equals([]),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
        op.case("bad layout", op.samples((2, 2), layout="HW")).type_error("layout"),
        op.case("channels", op.samples((2, 2, 4))).value_error("channels"),
        op.case("wrong length", images, hue=[1.0]).value_error("`hue`"),
    ]
