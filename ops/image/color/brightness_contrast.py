"""`brightness_contrast`: linear changes of brightness and contrast."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.convert import convert_sat
from gradiva.eager.types.arrays import F32

_DTYPES = (op.uint8, op.int8, op.uint16, op.int16, op.int32, op.float32)
_LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "DHWC", "CDHW")


def linear_type(input: op.SampleType, dtype: op.DTypeLike | None) -> op.SampleType:
    """The type rule that `brightness`, `contrast` and `brightness_contrast` share."""
    op.require_dtype(input, _DTYPES)
    layout = op.require_layout(input, _LAYOUTS, {2: "HW", 3: "HWC", 4: "FHWC"})
    if dtype is None:
        return op.with_layout(input, layout)
    if dtype not in _DTYPES:
        raise op.OperatorTypeError(
            argument="dtype", expected=", ".join(d.name for d in _DTYPES), got=str(dtype)
        )
    return op.with_layout(input, layout).with_(dtype=dtype)


@op.operator(
    "brightness_contrast",
    schema="BrightnessContrast",
    frames=("brightness", "brightness_shift", "contrast", "contrast_center"),
    same_shapes=True,
)
def brightness_contrast(
    input: op.SampleType,
    /,
    *,
    brightness: op.FloatArg = 1.0,
    brightness_shift: op.FloatArg = 0.0,
    contrast: op.FloatArg = 1.0,
    contrast_center: op.FloatArg | None = None,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Change brightness and contrast of each sample.

    out = brightness_shift * range + brightness * (center + contrast * (in - center))

    computed as one multiplication and one addition in float32, rounded to the output dtype. `range`
    is the largest value of the output dtype, 1 for floats.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32, of any image layout.
        brightness, brightness_shift, contrast: may differ per sample.
        contrast_center: the intensity that contrast leaves as it is; if not given, the middle of
            the input dtype's range: 128 for uint8, 16384 for int16, 0.5 for floats.
        dtype: of the output; the input's by default.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for a wrong number of values per sample.
    """
    return linear_type(input, dtype)


def default_center(dtype: op.DType) -> float:
    """The middle of the non-negative half of the dtype's range."""
    if dtype.is_float:
        return 0.5
    return float(2 ** (dtype.bits - 1 - int(dtype.is_signed)))


def output_range(dtype: op.DType) -> float:
    """What a `brightness_shift` of 1 adds."""
    return 1.0 if dtype.is_float else float(np.iinfo(dtype.numpy).max)


@op.row_kernel()
def brightness_contrast_row(source: Any, target: Any, row: Any) -> None:
    """One strip of pixels: multiply, add, convert."""
    multiplier = row[0]
    addend = row[1]
    for k in range(source.size):
        target[k] = convert_sat(np.float32(source[k]) * multiplier + addend, target)


def linear_rows(call: op.Call, brightness: Any, shift: Any, contrast: Any, center: Any) -> F32:
    """(N, 1, 2): multiplier and addend of each sample. The order of operations fixes the bits.

    Each value is float32 (N,), or a float32 scalar for all samples; center: None if not given.
    """
    if center is None:
        center = np.float32(default_center(call.inputs[0].dtype))
    scale = np.float32(output_range(call.types[0].dtype or call.inputs[0].dtype))
    rows = np.empty((call.size, 1, 2), np.float32)
    with np.errstate(all="ignore"):
        rows[:, 0, 0] = brightness * contrast
        rows[:, 0, 1] = shift * scale + brightness * (center - contrast * center)
    return rows


@op.pixelwise(brightness_contrast, brightness_contrast_row)
def coefficients(call: op.Call) -> F32:
    """(N, 1, 2): multiplier and addend of each sample."""
    names = ("brightness", "brightness_shift", "contrast", "contrast_center")
    return linear_rows(call, *(call[name] for name in names))


@brightness_contrast.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    floats = op.samples((3, 4, 3), dtype=op.float32)
    flat = op.samples((2, 2, 3), low=200, high=200)
    return [
        op.case("default", images).equals([images.at(i) for i in range(3)]),
        op.case("contrast about 128", flat, contrast=0.5).equals(
            [np.full((2, 2, 3), 164, np.uint8)]
        ),
        op.case("explicit center", flat, contrast=0.5, contrast_center=0.5).equals(
            [np.full((2, 2, 3), 100, np.uint8)]
        ),
        op.case(
            "per sample",
            images,
            brightness=np.array([0.5, 1.5, 1.0], np.float32),
            brightness_shift=[0.1, 0.0, -0.2],
        ),
        op.case("to float", images, brightness=0.7, contrast=1.3, dtype=op.float32),
        op.case("floats", floats, brightness=1.2, contrast=0.8, brightness_shift=0.1),
        op.case("floats to int16", floats, brightness=900.0, dtype=op.int16),
        op.case("empty", op.samples(), brightness=0.5).equals([]),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("dtype"),
        op.case("wrong length", images, contrast=[1.0]).value_error("`contrast`"),
    ]
