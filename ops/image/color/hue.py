"""`hue`, `saturation`, `hsv`, `color_twist`: colors turned and scaled by one matrix."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float32Array
from gradiva.ops.image.enhance.blends import run_hue, run_saturation
from gradiva.ops.image.enhance.compat import check_compat, compat_libraries

from .color_matrix import check_channels, color_type, hue_saturation, matrix_row, parameters


@op.argument_group()
class Colors(TypedDict, total=False):
    """
    This is one 3x3 matrix on red, green and blue, and an offset where brightness changes, applied
    in float32 and rounded to the output dtype, half away from zero, saturating (see
    ops/image/color/color_matrix.py).

    Args:
        input: RGB images of uint8, int8, uint16, int16, int32, float16 or float32; layouts HWC,
            CHW, and these with D or F. Without a layout, HWC or FHWC by rank.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other numbers of channels.
    """


@op.argument_group(image_type=op.ImageType.RGB)
class RgbOnly(TypedDict, total=False):
    """
    Args:
        image_type: RGB. Images of other types are converted first (`color_space_conversion`).
        dtype: the element type of the output; by default that of the input.

    Raises:
        OperatorValueError: for another `image_type`.
    """

    image_type: op.ImageTypeLike
    dtype: op.DTypeLike | None


class HsvArguments(Colors, op.Common, total=False):
    """What `hsv` takes."""


class Arguments(RgbOnly, HsvArguments, total=False):
    """What the others take."""


@op.operator("hue", schema="Hue", frames=("hue",))
@op.uses_arguments(Colors, ..., RgbOnly)
def hue(
    input: op.SampleType,
    /,
    *,
    hue: op.DoubleArg = 0.0,
    compat: str | None = None,
    **options: op.Unpack[Arguments],
) -> op.SampleType:
    """Rotate the hues of each image.

    The colors, as seen in the YIQ space, turn about the axis of luma.

    Args:
        hue: the angle in degrees; may differ per sample.
        compat: "torchvision" or "pil": the bits of its adjust_hue, which turns hues of HSV by
            `hue / 360` (docs/compat.md); from -180 to 180 degrees, and the dtype stays.

    Example:
        image = gradiva.hue(gradiva.imread("cat.jpg"), hue=30.0)
    """
    if compat is not None:
        check_compat(compat, input, None, options["dtype"])
    return color_type(input, options["dtype"], int(options["image_type"]))


@op.operator("saturation", schema="Saturation", frames=("saturation",))
@op.uses_arguments(Colors, ..., RgbOnly)
def saturation(
    input: op.SampleType,
    /,
    *,
    saturation: op.DoubleArg = 1.0,
    compat: str | None = None,
    **options: op.Unpack[Arguments],
) -> op.SampleType:
    """Change the saturation of each image.

    The colors, as seen in the YIQ space, move to or from the axis of luma.

    Args:
        saturation: the factor: 0 makes images gray, 1 leaves them as they are; may differ per
            sample.
        compat: "torchvision" or "pil": the bits of its adjust_saturation, which blends with the
            gray image (docs/compat.md); the dtype stays.

    Example:
        gray = gradiva.saturation(gradiva.imread("cat.jpg"), saturation=0.0)
    """
    if compat is not None:
        check_compat(compat, input, None, options["dtype"])
    return color_type(input, options["dtype"], int(options["image_type"]))


@op.operator("hsv", schema="Hsv", frames=("hue", "saturation", "value"))
@op.uses_arguments(Colors, ...)
def hsv(
    input: op.SampleType,
    /,
    *,
    hue: op.FloatArg = 0.0,
    saturation: op.FloatArg = 1.0,
    value: op.FloatArg = 1.0,
    dtype: op.DTypeLike = op.uint8,
    **options: op.Unpack[HsvArguments],
) -> op.SampleType:
    """Change hue, saturation and value (brightness) of each image.

    The hues, as seen in the YIQ space, turn about the axis of luma and are scaled; then all is
    multiplied by `value`.

    Args:
        hue: the angle in degrees; may differ per sample.
        saturation: the factor of the saturation, 0 for gray images; may differ per sample.
        value: the factor of the brightness; may differ per sample.
        dtype: the element type of the output; uint8 by default, whatever that of the input.

    Example:
        image = gradiva.hsv(gradiva.imread("cat.jpg"), hue=30.0, saturation=1.2, value=0.9)
    """
    return color_type(input, dtype)


@op.operator(
    "color_twist", schema="ColorTwist", frames=("brightness", "contrast", "hue", "saturation")
)
@op.uses_arguments(Colors, ..., RgbOnly)
def color_twist(
    input: op.SampleType,
    /,
    *,
    brightness: op.FloatArg = 1.0,
    contrast: op.FloatArg = 1.0,
    hue: op.FloatArg = 0.0,
    saturation: op.FloatArg = 1.0,
    **options: op.Unpack[Arguments],
) -> op.SampleType:
    """Change hue, saturation, contrast and brightness of each image at once.

    The hues, as seen in the YIQ space, turn about the axis of luma and are scaled; then

    out = brightness * (center + contrast * (in - center))

    where `center` is 128 for integer inputs and 0.5 for floats.

    Args:
        brightness, contrast, saturation: factors, 1 for no change; may differ per sample.
        hue: the angle in degrees by which hues turn; may differ per sample.

    Example:
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
        degrees = gradiva.random.uniform(range=(-20.0, 20.0), batch_size=2)
        images = gradiva.color_twist(images, hue=degrees, brightness=1.1)
    """
    return color_type(input, options["dtype"], int(options["image_type"]))


hue.shapes(check_channels)
saturation.shapes(check_channels)
hsv.shapes(check_channels)
color_twist.shapes(check_channels)
for _operator in (hue, saturation):
    _operator.not_serializable("compat")
    _operator.libraries = compat_libraries


@op.pixelwise(hue, matrix_row, unless={"compat": run_hue})
def _hue_rows(call: op.Call) -> Float32Array:
    return parameters(hue_saturation(call.single("hue"), np.float32(1), call.size))


@op.pixelwise(saturation, matrix_row, unless={"compat": run_saturation})
def _saturation_rows(call: op.Call) -> Float32Array:
    return parameters(hue_saturation(np.float32(0), call.single("saturation"), call.size))


@op.pixelwise(hsv, matrix_row)
def _hsv_rows(call: op.Call) -> Float32Array:
    matrix = hue_saturation(call["hue"], call["saturation"], call.size, value=call["value"])
    return parameters(matrix)


@op.pixelwise(color_twist, matrix_row)
def _twist_rows(call: op.Call) -> Float32Array:
    dtype = call.inputs[0].dtype
    center = np.float32(0.5 if dtype.is_float else 128.0)
    brightness, contrast = call["brightness"], call["contrast"]
    with np.errstate(all="ignore"):
        gain = brightness * contrast
        offset = brightness * (center - contrast * center)
    matrix = hue_saturation(call["hue"], call["saturation"], call.size, gain=gain)
    return parameters(matrix, offset)


def _cases(name: str, gray: op.Case, each: Any, more: Any, rgb_only: bool = True) -> list[op.Case]:
    """gray: a case of its own; name: of an argument; each: arguments per sample; more: besides
    that argument, for floats."""
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW")
    floats = op.samples((3, 4, 3), dtype=op.float32)
    some: Any = {name: 45.0 if name == "hue" else 0.5}
    other = op.case("BGR", images, image_type=op.ImageType.BGR).value_error("`image_type`")
    return [
        op.case("default", images).equals(images.arrays()),
        gray,
        op.case("per sample", images, **each),
        op.case("planes", planes, **some).no_oracle(),
        op.case("to float", images, **some, dtype=op.float32),
        op.case("floats", floats, **some, **more),
        *([other] if rgb_only else []),
        op.case("empty", op.samples(), **some).equals([]),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
        op.case("bad layout", op.samples((2, 2), layout="HW")).type_error("layout"),
        op.case("channels", op.samples((2, 2, 4))).value_error("channels"),
        op.case("wrong length", images, **{name: [1.0]}).value_error(f"`{name}`"),
    ]


def _gray(name: str, result: int, **arguments: float) -> op.Case:
    """A gray image, all 90, whose values all become `result`."""
    flat = op.samples((2, 2, 3), low=90, high=90)
    return op.case(name, flat, **arguments).equals([np.full((2, 2, 3), result, np.uint8)])


_EACH = {"hue": [30.0, -90.0, 180.0], "saturation": [0.0, 2.5, 0.3]}


@hue.cases
def _hue_cases() -> list[op.Case]:
    gray = _gray("gray stays", 90, hue=77.0)
    return _cases("hue", gray, {"hue": _EACH["hue"]}, {})


@saturation.cases
def _saturation_cases() -> list[op.Case]:
    gray = _gray("gray stays", 90, saturation=1.7)
    return _cases("saturation", gray, {"saturation": _EACH["saturation"]}, {})


@hsv.cases
def _hsv_cases() -> list[op.Case]:
    gray = _gray("gray is scaled", 45, hue=77.0, saturation=1.3, value=0.5)
    return _cases("hue", gray, {**_EACH, "value": [1.0, 0.7, 1.4]}, {"value": 300.0}, False)


@color_twist.cases
def _twist_cases() -> list[op.Case]:
    gray = _gray("gray", 64, hue=77.0, saturation=1.3, brightness=0.5, contrast=0.0)
    each = {**_EACH, "contrast": [1.0, 0.7, 1.4], "brightness": [0.9, 1, 1.1]}
    return _cases("hue", gray, each, {"contrast": 2.0})
