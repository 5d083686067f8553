"""`rescale_normalize`: the last step of image processors for models, with their bits."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.pixelwise import axes_of
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Float32Array, U8Vector, Vector
from gradiva.ops.image.crop_window import DEFAULT_LAYOUTS, LAYOUTS

from .crop_mirror_normalize_plan import channel_rows

_INPUTS = (op.uint8, op.uint16, op.int8, op.int16, op.int32, op.float16, op.float32)
_OUTPUTS = (op.float32, op.float16)
_RULES = ("pil", "torchvision")


@op.operator("rescale_normalize", same_shapes=True)
def rescale_normalize(
    input: op.SampleType,
    /,
    *,
    mean: op.FloatsArg = 0.0,
    std: op.FloatsArg = 1.0,
    rescale: float = 1 / 255,
    compat: str = "pil",
    dtype: op.DTypeLike = op.float32,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Compute (in * rescale - mean) / std with the bits of the image processors of `transformers`.

    "pil" is the order of the processors that use Pillow: in * rescale in float64, rounded to
    float32, then the difference and the quotient in float32. For uint8 these are the bits of
    torchvision's ToTensor and Normalize, too. "torchvision" is that of the others,
    which are called fast: (in - mean / rescale) / (std / rescale), all in float32. Results of both
    differ in the last bits. `crop_mirror_normalize` multiplies by 1 / std, which gives others yet.

    Args:
        input: uint8, uint16, int8, int16, int32, float16 or float32; layouts HWC, CHW, volumes with
            D, sequences with F. Without a layout HWC, DHWC or FDHWC by rank.
        mean, std: one value or one per channel, in units of the rescaled values; may differ per
            sample.
        rescale: the factor that comes first; 1 for none.
        compat: "pil" or "torchvision": in which order the values are rounded.
        dtype: float32 (default) or float16, to which the result is rounded.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorValueError: for the wrong number of means or deviations, a deviation or factor of 0.
        OperatorTypeError: for other dtypes and layouts.

    Example:
        image = gradiva.imread("cat.jpg")
        image = gradiva.rescale_normalize(image, mean=[0.5, 0.5, 0.5], std=[0.5, 0.5, 0.5])
        image.dtype  # float32
    """
    op.require_dtype(input, _INPUTS)
    layout = op.require_layout(input, LAYOUTS, DEFAULT_LAYOUTS)
    if compat not in _RULES:
        raise op.wrong_value("compat", "'pil' or 'torchvision'", op.describe(compat))
    if dtype not in _OUTPUTS:
        raise op.wrong_type("dtype", "float32 or float16", dtype)
    if rescale == 0:
        raise op.wrong_value("rescale", "a number other than 0", rescale)
    return op.with_layout(input, layout).with_(dtype=dtype)


@op.row_kernel()
def rescale_row(source: U8Vector, target: Vector, row: F32Vector) -> None:
    """One strip of one channel. The factor is the sum of three numbers, for it has float64's
    precision: as of these, the order of the sum is of no matter, since it is exact."""
    mean, std = row[0], row[1]
    factor = np.float64(row[2]) + np.float64(row[3]) + np.float64(row[4])
    for k in range(source.size):
        value = np.float32(np.float64(source[k]) * factor)
        target[k] = convert_sat((value - mean) / std, target)


@op.pixelwise(rescale_normalize, rescale_row)
def _parameters(call: op.Call) -> Float32Array:
    """(N, channels, 5): mean, deviation, and the three parts of the factor."""
    source = call.inputs[0]
    layout = source.layout or call.types[0].layout or ""
    _, channels, _ = axes_of(layout, source.batch_shape.shapes)
    mean, std = (
        np.asarray(channel_rows(name, call[name], channels), np.float32) for name in ("mean", "std")
    )
    op.refuse_samples((std == 0).any(axis=1), "std", "no deviation of 0", lambda _: "0")
    factor = np.float64(call["rescale"])
    if call["compat"] == "torchvision":
        inverse = np.float32(1.0 / factor)
        mean, std, factor = mean * inverse, std * inverse, np.float64(1.0)
    high = np.float32(factor)
    middle = np.float32(factor - np.float64(high))
    low = np.float32(factor - np.float64(high) - np.float64(middle))
    return np.stack(np.broadcast_arrays(mean, std, high, middle, low), axis=-1)


@rescale_normalize.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    planes = op.samples((3, 4, 5), dtype=op.float32, layout="CHW")
    mean, std = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
    m, s = np.array(mean, np.float32), np.array(std, np.float32)
    slow, fast = [], []
    for i in range(2):
        scaled = (images.at(i).astype(np.float64) * (1 / 255)).astype(np.float32)
        slow.append((scaled - m) / s)
        fast.append((images.at(i).astype(np.float32) - m * np.float32(255)) / (s * np.float32(255)))
    given = {"mean": mean, "std": std}
    return [
        op.case("slow", images, **given).equals(slow).no_oracle(),
        op.case("fast", images, **given, compat="torchvision").equals(fast).no_oracle(),
        op.case("planes", planes, **given, rescale=1.0).no_oracle(),
        op.case("half", images, **given, dtype=op.float16).no_oracle(),
        op.case("gray", op.samples((4, 4, 1), dtype=op.int16), mean=0.5, std=0.5).no_oracle(),
        op.case("per sample", images, mean=np.array([mean, std]), std=[0.5]).no_oracle(),
        op.case("empty", op.samples(), **given).equals([]).no_oracle(),
        op.case("too many means", images, mean=[0.5, 0.5]).value_error("`mean`"),
        op.case("no deviation", images, std=[0.5, 0.0, 0.5]).value_error("`std`"),
        op.case("no factor", images, rescale=0.0).value_error("`rescale`"),
        op.case("unknown order", images, compat="opencv").value_error("`compat`"),
        op.case("bad output", images, dtype=op.uint8).type_error("`dtype`"),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
    ]
