"""`brightness`: multiply and shift the values of an image."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32

from .brightness_contrast import brightness_contrast_row, linear_rows, linear_type


@op.operator(
    "brightness", schema="Brightness", frames=("brightness", "brightness_shift"), same_shapes=True
)
def brightness(
    input: op.SampleType,
    /,
    *,
    brightness: op.FloatArg = 1.0,
    brightness_shift: op.FloatArg = 0.0,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Change the brightness of each sample.

    out = brightness_shift * range + brightness * in

    computed in float32 and rounded to the output dtype, half away from zero, saturating. `range` is
    the largest value of the output dtype, 1 for floats. The same as `brightness_contrast` with the
    contrast left as it is.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32; layouts HWC, CHW, HW, FHWC, FCHW, DHWC,
            CDHW. Without a layout, HW, HWC or FHWC by rank.
        brightness, brightness_shift: may differ per sample.
        dtype: of the output; the input's by default.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
    """
    return linear_type(input, dtype)


@op.pixelwise(brightness, brightness_contrast_row)
def _rows(call: op.Call) -> F32:
    return linear_rows(call, call["brightness"], call["brightness_shift"], np.float32(1), None)


@brightness.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    flat = op.samples((2, 2, 3), low=100, high=100)
    floats = op.samples((3, 4, 3), dtype=op.float32)
    return [
        op.case("default", images).equals([images.at(i) for i in range(3)]),
        op.case("half", flat, brightness=0.5).equals([np.full((2, 2, 3), 50, np.uint8)]),
        op.case("shift", flat, brightness_shift=0.2).equals([np.full((2, 2, 3), 151, np.uint8)]),
        op.case("saturates", flat, brightness=3.0).equals([np.full((2, 2, 3), 255, np.uint8)]),
        op.case("per sample", images, brightness=[0.5, 1.5, -1.0]),
        op.case("to int16", floats, brightness=900.0, dtype=op.int16),
        op.case("empty", op.samples(), brightness=0.5).equals([]),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
        op.case("wrong length", images, brightness=[1.0]).value_error("`brightness`"),
    ]
