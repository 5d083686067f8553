"""`brightness`, `contrast`, `brightness_contrast`: linear changes of the values of an image."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Float32Array, Vector
from gradiva.ops.image.enhance.blends import run_brightness, run_contrast
from gradiva.ops.image.enhance.compat import check_compat, compat_libraries

_DTYPES = (op.uint8, op.int8, op.uint16, op.int16, op.int32, op.float32)
_BRIGHTNESS, _CONTRAST = ("brightness", "brightness_shift"), ("contrast", "contrast_center")
_LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "DHWC", "CDHW")


def linear_type(
    input: op.SampleType, dtype: op.DTypeLike | None, compat: str | None = None
) -> op.SampleType:
    """The type rule."""
    op.require_dtype(input, _DTYPES)
    layout = op.require_layout(input, _LAYOUTS, {2: "HW", 3: "HWC", 4: "FHWC"})
    if compat is not None:
        check_compat(compat, input, layout, dtype)
    if dtype is None:
        return op.with_layout(input, layout)
    if dtype not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(d.name for d in _DTYPES), dtype)
    return op.with_layout(input, layout).with_(dtype=dtype)


@op.argument_group()
class Linear(TypedDict, total=False):
    """
    This is one multiplication and one addition in float32, rounded to the output dtype, half away
    from zero, saturating.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32; layouts HWC, CHW, HW, FHWC, FCHW, DHWC,
            CDHW. Without a layout, HW, HWC or FHWC by rank.
        dtype: the element type of the output; by default that of the input.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for a wrong number of values per sample.
    """

    dtype: op.DTypeLike | None


@op.argument_group(brightness=1.0, brightness_shift=0.0)
class Brightness(TypedDict, total=False):
    """
    `range` is the largest value of the output dtype, 1 for floats.

    Args:
        brightness: the factor; 1 leaves the brightness as it is. May differ per sample.
        brightness_shift: what is added, as a fraction of `range`; may differ per sample.
    """

    brightness: op.FloatArg
    brightness_shift: op.FloatArg


@op.argument_group(contrast=1.0)
class Contrast(TypedDict, total=False):
    """
    Args:
        contrast: the factor of the distances from `contrast_center`; 0 makes a sample of one value,
            1 leaves it as it is. May differ per sample.
        contrast_center: the intensity that contrast leaves as it is; may differ per sample. If not
            given, the middle of the input dtype's range: 128 for uint8, 16384 for int16, 0.5 for
            floats.
    """

    contrast: op.DoubleArg
    contrast_center: op.FloatArg | None


class BrightnessArguments(Brightness, Linear, op.Common, total=False):
    """What `brightness` takes."""


class ContrastArguments(Contrast, Linear, op.Common, total=False):
    """What `contrast` takes."""


class Arguments(Brightness, ContrastArguments, total=False):
    """What `brightness_contrast` takes."""


@op.operator("brightness", schema="Brightness", frames=_BRIGHTNESS, same_shapes=True)
@op.uses_arguments(Brightness, Linear)
def brightness(
    input: op.SampleType, /, *, compat: str | None = None, **options: op.Unpack[BrightnessArguments]
) -> op.SampleType:
    """Change the brightness of each sample.

    out = brightness_shift * range + brightness * in

    The same as `brightness_contrast` with the contrast left as it is.

    Args:
        compat: "torchvision" or "pil": the bits of its adjust_brightness, which cuts off fractions
            (docs/compat.md); 1 or 3 channels, no brightness_shift, and the dtype stays.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        factors = gradiva.random.uniform(range=(0.8, 1.2), batch_size=2)
        images = gradiva.brightness(images, brightness=factors)
    """
    return linear_type(input, options["dtype"], compat)


@op.operator("contrast", schema="Contrast", frames=_CONTRAST, same_shapes=True)
@op.uses_arguments(Contrast, Linear)
def contrast(
    input: op.SampleType, /, *, compat: str | None = None, **options: op.Unpack[ContrastArguments]
) -> op.SampleType:
    """Change the contrast of each sample.

    out = center + contrast * (in - center)

    The same as `brightness_contrast` with the brightness left as it is.

    Args:
        compat: "torchvision" or "pil": the bits of its adjust_contrast, whose center is the mean of
            the gray image (docs/compat.md); 1 or 3 channels, no contrast_center, and the dtype
            stays.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        images = gradiva.contrast(images, contrast=[0.5, 1.5])
    """
    return linear_type(input, options["dtype"], compat)


@op.operator(
    "brightness_contrast",
    schema="BrightnessContrast",
    frames=(*_BRIGHTNESS, *_CONTRAST),
    same_shapes=True,
)
@op.uses_arguments(Brightness, Contrast, Linear)
def brightness_contrast(input: op.SampleType, /, **options: op.Unpack[Arguments]) -> op.SampleType:
    """Change the brightness and the contrast of each sample.

    out = brightness_shift * range + brightness * (center + contrast * (in - center))

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.brightness_contrast(image, brightness=1.2, contrast=0.8)
    """
    return linear_type(input, options["dtype"])


def default_center(dtype: op.DType) -> float:
    """The middle of the non-negative half of the dtype's range."""
    if dtype.is_float:
        return 0.5
    return float(2 ** (dtype.bits - 1 - int(dtype.is_signed)))


def output_range(dtype: op.DType) -> float:
    """What a `brightness_shift` of 1 adds."""
    return 1.0 if dtype.is_float else float(np.iinfo(dtype.numpy).max)


@op.row_kernel()
def brightness_contrast_row(source: Vector, target: Vector, row: F32Vector) -> None:
    """One strip of pixels: multiply, add, convert."""
    multiplier = row[0]
    addend = row[1]
    for k in range(source.size):
        target[k] = convert_sat(np.float32(source[k]) * multiplier + addend, target)


def linear_rows(
    call: op.Call, brightness: Any, shift: Any, contrast: Any, center: Any
) -> Float32Array:
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


@op.pixelwise(brightness, brightness_contrast_row, unless={"compat": run_brightness})
def _brightness_rows(call: op.Call) -> Float32Array:
    return linear_rows(call, call["brightness"], call["brightness_shift"], np.float32(1), None)


@op.pixelwise(contrast, brightness_contrast_row, unless={"compat": run_contrast})
def _contrast_rows(call: op.Call) -> Float32Array:
    return linear_rows(
        call, np.float32(1), np.float32(0), call.single("contrast"), call["contrast_center"]
    )


@op.pixelwise(brightness_contrast, brightness_contrast_row)
def coefficients(call: op.Call) -> Float32Array:
    """(N, 1, 2): multiplier and addend of each sample."""
    return linear_rows(
        call,
        call["brightness"],
        call["brightness_shift"],
        call.single("contrast"),
        call["contrast_center"],
    )


for _operator in (brightness, contrast):
    _operator.not_serializable("compat")
    _operator.libraries = compat_libraries


_NOISE = ((4, 5, 3), (1, 7, 3), (6, 1, 3))


def _flat(name: str, value: int, result: int, **arguments: float) -> op.Case:
    """A flat image and the flat one that becomes of it."""
    flat = op.samples((2, 2, 3), low=value, high=value)
    return op.case(name, flat, **arguments).equals([np.full((2, 2, 3), result, np.uint8)])


def _cases(name: str, wrong: str, *own: op.Case) -> list[op.Case]:
    """own: cases of one operator; name, wrong: of arguments."""
    images = op.samples(*_NOISE)
    return [
        op.case("default", images).equals(images.arrays()),
        *own,
        op.case("empty", op.samples(), **{name: 0.5}).equals([]),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
        op.case("wrong length", images, **{wrong: [1.0]}).value_error(f"`{wrong}`"),
    ]


@brightness.cases
def _brightness_cases() -> list[op.Case]:
    floats = op.samples((3, 4, 3), dtype=op.float32)
    return _cases(
        "brightness",
        "brightness",
        _flat("half", 100, 50, brightness=0.5),
        _flat("shift", 100, 151, brightness_shift=0.2),
        _flat("saturates", 100, 255, brightness=3.0),
        op.case("per sample", op.samples(*_NOISE), brightness=[0.5, 1.5, -1.0]),
        op.case("to int16", floats, brightness=900.0, dtype=op.int16),
    )


@contrast.cases
def _contrast_cases() -> list[op.Case]:
    each = {"contrast": [0.5, 1.5, -1.0], "contrast_center": [10.0, 128.0, 90.0]}
    floats = op.samples((3, 4, 3), dtype=op.float32)
    return _cases(
        "contrast",
        "contrast",
        _flat("about 128", 200, 164, contrast=0.5),
        _flat("about 100", 200, 150, contrast=0.5, contrast_center=100.0),
        op.case("per sample", op.samples(*_NOISE), **each),
        op.case("to int16", floats, contrast=900.0, dtype=op.int16),
    )


@brightness_contrast.cases
def _both_cases() -> list[op.Case]:
    images, floats = op.samples(*_NOISE), op.samples((3, 4, 3), dtype=op.float32)
    factors = np.array([0.5, 1.5, 1.0], np.float32)
    return _cases(
        "brightness",
        "contrast",
        _flat("contrast about 128", 200, 164, contrast=0.5),
        _flat("explicit center", 200, 100, contrast=0.5, contrast_center=0.5),
        op.case("per sample", images, brightness=factors, brightness_shift=[0.1, 0.0, -0.2]),
        op.case("to float", images, brightness=0.7, contrast=1.3, dtype=op.float32),
        op.case("floats", floats, brightness=1.2, contrast=0.8, brightness_shift=0.1),
        op.case("floats to int16", floats, brightness=900.0, dtype=op.int16),
    )
