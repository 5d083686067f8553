"""`color_space_conversion`: between RGB, BGR, YCbCr and gray images."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Float32Array, U8Table, U8Vector
from gradiva.ops.image.enhance.blends import run_gray
from gradiva.ops.image.enhance.compat import check_compat, compat_libraries

from .color_matrix import ASSUMED, LAYOUTS, check_channels

_TAKEN: Final = (op.ImageType.RGB, op.ImageType.BGR, op.ImageType.GRAY, op.ImageType.YCbCr)
# How channels stand: blue first, or only to be swapped.
_BLUE_FIRST: Final = np.float32(1)
_SWAP: Final = np.float32(2)
Rows = tuple[tuple[float, float, float, float], ...]


def _equations() -> dict[
    tuple[op.ImageType, op.ImageType], tuple[Rows, tuple[float, float, float]]
]:
    """Conversions from and to RGB and gray: three weights and a constant per output channel, and
    what is first subtracted from each input channel.

    ITU-R BT.601: luma is 0.299 R + 0.587 G + 0.114 B. YCbCr: Y has the range 16..235, Cb and Cr
    16..240 about 128. Gray of RGB: the weights in units of 2**-15, whose sums are exact in float32.
    """
    red, blue = 0.299, 0.114
    green = 1 - red - blue
    luma, chroma = 219 / 255, 224 / 255
    to_blue, to_red = 2 * (1 - blue) / chroma, 2 * (1 - red) / chroma
    cb, cr = chroma * 0.5 / (1 - blue), chroma * 0.5 / (1 - red)
    rgb, gray, ycc = op.ImageType.RGB, op.ImageType.GRAY, op.ImageType.YCbCr
    none, zero = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    about = (16.0, 128.0, 128.0)
    same = (1.0, *none)
    return {
        (rgb, gray): (((9798 / 2**15, 19235 / 2**15, 3735 / 2**15, 0.0),), zero),
        (rgb, ycc): (
            (
                (luma * red, luma * green, luma * blue, 16.0),
                (-cb * red, -cb * green, cb * (1 - blue), 128.0),
                (cr * (1 - red), -cr * green, -cr * blue, 128.0),
            ),
            zero,
        ),
        (ycc, rgb): (
            (
                (1 / luma, 0.0, to_red, 0.0),
                (1 / luma, -to_blue * blue / green, -to_red * red / green, 0.0),
                (1 / luma, to_blue, 0.0, 0.0),
            ),
            about,
        ),
        (ycc, gray): (((1 / luma, 0.0, 0.0, 0.0),), about),
        (gray, rgb): ((same, same, same), zero),
        (gray, ycc): (((luma, 0.0, 0.0, 16.0), (*none, 128.0), (*none, 128.0)), zero),
    }


def _row(source: op.ImageType, target: op.ImageType) -> Float32Array:
    """What `convert_row` reads: how channels stand, what to subtract from red, green and blue, and
    four numbers per output channel."""
    rgb, bgr = op.ImageType.RGB, op.ImageType.BGR
    if {source, target} == {rgb, bgr}:
        return np.array([_SWAP], np.float32)
    plain = (rgb if source == bgr else source, rgb if target == bgr else target)
    equations, subtracted = _EQUATIONS[plain]
    table = np.array(equations)
    if target == bgr:
        table = table[::-1]
    order = _BLUE_FIRST if source == bgr else 0
    return np.hstack([order, subtracted, table.ravel()]).astype(np.float32)


_EQUATIONS: Final = _equations()


@op.operator("color_space_conversion", schema="ColorSpaceConversion")
def color_space_conversion(
    input: op.SampleType,
    /,
    *,
    image_type: op.ImageTypeLike,
    output_type: op.ImageTypeLike,
    compat: str | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Convert images between color spaces: RGB, BGR, YCbCr and GRAY, by ITU-R BT.601.

    Y of YCbCr has the range 16..235, Cb and Cr 16..240. Values are rounded half away from zero and
    saturate.

    Args:
        input: uint8; layouts HWC, CHW, and these with D or F. Without a layout, HWC or FHWC by
            rank. A GRAY image has one channel, the others have three.
        image_type: the color space of the input.
        output_type: the color space of the output, another one.
        compat: "torchvision" or "pil": the bits of its rgb_to_grayscale (docs/compat.md), from RGB
            to GRAY only; with "torchvision" also of float32 images.

    Returns:
        Samples of the same shapes but for the number of channels.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for equal or other types and numbers of channels.

    Example:
        image = gradiva.imread("cat.jpg")
        gray = gradiva.color_space_conversion(image, image_type=types.RGB, output_type=types.GRAY)
        gray.shape  # (300, 451, 1)
    """
    if compat is None:
        op.require_dtype(input, (op.uint8,))
    layout = op.require_layout(input, LAYOUTS, ASSUMED)
    if compat is not None:
        check_compat(compat, input, layout)
        if image_type != op.ImageType.RGB or output_type != op.ImageType.GRAY:
            pair = f"{op.ImageType(int(image_type)).name} to {op.ImageType(int(output_type)).name}"
            raise op.wrong_value("compat", "None, or RGB to GRAY", pair)
    for argument, given in (("image_type", image_type), ("output_type", output_type)):
        if given not in _TAKEN:
            raise op.wrong_value(argument, "RGB, BGR, YCbCr or GRAY", op.ImageType(int(given)).name)
    if image_type == output_type:
        raise op.OperatorValueError(
            "the input has the output's type already",
            argument="output_type",
            expected=f"another type than {op.ImageType(int(image_type)).name}",
            got=op.ImageType(int(output_type)).name,
        )
    return op.with_layout(input, layout)


def _made(call: op.Call) -> int:
    return 1 if call["output_type"] == op.ImageType.GRAY else 3


color_space_conversion.moves = op.IN_PLACE


@color_space_conversion.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    source = check_channels(call, 1 if call["image_type"] == op.ImageType.GRAY else 3)
    shapes = source.shapes.copy()
    shapes[:, (call.types[0].layout or "").find("C")] = _made(call)
    return op.BatchShape.of(shapes)


@op.jit
def _weigh(
    one: U8Vector, two: U8Vector, three: U8Vector, target: U8Vector, row: F32Vector, first: int
) -> None:
    """One channel of the target, from three channels of the source.

    row: three numbers that are subtracted before, from index 1 on, then from `first` on three
    weights and what is added.
    one, two, three, target: strips of one channel each, of equal length in pixels.
    """
    a, b, c, d = row[first], row[first + 1], row[first + 2], row[first + 3]
    p, q, r = row[1], row[2], row[3]
    for k in range(target.size):
        x, y, z = np.float32(one[k]) - p, np.float32(two[k]) - q, np.float32(three[k]) - r
        target[k] = convert_sat(x * a + y * b + z * c + d, target)


@op.row_kernel("mixing")
def convert_row(source: U8Table, target: U8Table, row: F32Vector) -> None:
    """One strip, one output channel at a time; a gray source counts as three channels, of which
    the second and third have no weight. Sums begin with red, also where blue comes first."""
    if row[0] == _SWAP:
        for channel in range(3):
            target[channel][:] = source[2 - channel]
        return
    one, two, three = source[0], source[0], source[0]
    if source.shape[0] == 3:
        two, three = source[1], source[2]
        if row[0] == _BLUE_FIRST:
            one, three = three, one
    for channel in range(target.shape[0]):
        _weigh(one, two, three, target[channel], row, 4 + 4 * channel)


color_space_conversion.not_serializable("compat")
color_space_conversion.libraries = compat_libraries


@op.pixelwise(color_space_conversion, convert_row, made=_made, unless={"compat": run_gray})
def _rows(call: op.Call) -> Float32Array:
    row = _row(op.ImageType(call["image_type"]), op.ImageType(call["output_type"]))
    return np.tile(row, (call.size, 1, 1))


@color_space_conversion.cases
def _cases() -> list[op.Case]:
    rgb, bgr, gray, ycc = _TAKEN
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (3, 2, 2), layout="CHW")
    grays = op.samples((4, 5, 1), (1, 7, 1))
    white = op.samples((2, 2, 3), low=255, high=255)
    swapped = [images.at(i)[..., ::-1] for i in range(3)]
    tripled = [np.repeat(grays.at(i), 3, 2) for i in range(2)]
    gray_planes = op.samples((1, 4, 5), (1, 2, 2), layout="CHW")
    tripled_planes = [np.repeat(gray_planes.at(i), 3, 0) for i in range(2)]

    def types(source: op.ImageType, target: op.ImageType) -> dict[str, Any]:
        return {"image_type": source, "output_type": target}

    pairs = [
        op.case(
            f"{one.name} to {other.name}", grays if one == gray else images, **types(one, other)
        )
        for one in _TAKEN
        for other in _TAKEN
        if one != other
    ]
    return [
        op.case("swap", images, **types(rgb, bgr)).equals(swapped),
        op.case("from gray", grays, **types(gray, bgr)).equals(tripled),
        op.case("from gray planes", gray_planes, **types(gray, rgb))
        .equals(tripled_planes)
        .no_oracle(),
        op.case("white", white, **types(rgb, ycc)).equals(
            [np.full((2, 2, 3), [235, 128, 128], np.uint8)]
        ),
        op.case("planes", planes, **types(rgb, gray)).no_oracle(),
        *pairs,
        op.case("empty", op.samples(), **types(rgb, gray)).equals([]),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.float32), **types(rgb, gray)).type_error(
            "uint8"
        ),
        op.case("layout", op.samples((2, 2), layout="HW"), **types(gray, rgb)).type_error("layout"),
        op.case("channels", grays, **types(rgb, gray)).value_error("channels"),
        op.case("channels of gray", images, **types(gray, rgb)).value_error("channels"),
        op.case("equal", images, **types(rgb, rgb)).value_error("`output_type`"),
        op.case("any", images, **types(op.ImageType.ANY_DATA, rgb)).value_error("`image_type`"),
    ]
