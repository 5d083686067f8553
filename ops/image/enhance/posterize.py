"""`posterize` and `solarize`: fewer levels of each value, and bright values turned around."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array, Vector

from .compat import largest

_DTYPES = (op.uint8, op.float32)


@op.operator("posterize", same_shapes=True)
def posterize(
    input: op.SampleType, /, *, bits: op.IntArg, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Keep the high bits of each value.

    For uint8 the other bits become 0. A float x becomes floor(x * 2**bits) / 2**bits, at least 0
    and at most 1 - 2**-bits. These are the values of torchvision's posterize, and for uint8 of
    Pillow's `ImageOps.posterize`.

    Args:
        input: uint8 or float32, of any rank and layout.
        bits: how many bits are kept, from 0 to 8; may differ per sample.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for other numbers of bits.

    Example:
        gradiva.posterize(np.uint8([7, 100, 255]), bits=2)  # [0, 64, 192]
    """
    op.require_dtype(input, _DTYPES)
    return input


@op.row_kernel()
def posterize_row(source: Vector, target: Vector, row: F32Vector) -> None:
    """One strip; row: the step from level to level, the largest value, and what goes before and
    after the step: all exact, since they are powers of 2."""
    scale, step, most = row[0], row[1], row[2]
    for k in range(source.size):
        value = np.floor(np.float32(source[k]) * scale)
        if value < np.float32(0.0):
            value = np.float32(0.0)
        if value > most:
            value = most
        target[k] = value * step


@op.pixelwise(posterize, posterize_row)
def _levels(call: op.Call) -> Float32Array:
    """(N, 1, 3): by what to multiply, by what afterwards, and the largest number between."""
    bits = call["bits"]
    op.refuse_samples((bits < 0) | (bits > 8), "bits", "from 0 to 8", bits)
    levels = 2.0**bits
    white = 1.0 if call.inputs[0].dtype.is_float else 256.0
    return np.stack([levels / white, white / levels, levels - 1], axis=1)[:, None].astype(
        np.float32
    )


@posterize.cases
def _posterize_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    arrays = images.arrays()
    floats = op.samples((3, 4, 3), dtype=op.float32)
    levels = np.clip(np.floor(floats.at(0) * np.float32(8)), 0, 7) * np.float32(0.125)
    return [
        op.case("two", images, bits=2).equals([one & np.uint8(192) for one in arrays]).no_oracle(),
        op.case("all", images, bits=8).equals(arrays).no_oracle(),
        op.case("per sample", images, bits=[0, 8, 5])
        .equals([arrays[0] * np.uint8(0), arrays[1], arrays[2] & np.uint8(248)])
        .no_oracle(),
        op.case("floats", floats, bits=3).equals([levels]).no_oracle(),
        op.case("empty", op.samples(), bits=3).equals([]).no_oracle(),
        op.case("nine", images, bits=9).value_error("`bits`"),
        op.case("negative", images, bits=[1, 2, -1]).value_error("`bits`"),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.int16), bits=3).type_error("int16"),
        op.case("none", images).type_error("`bits`"),
    ]


@op.operator("solarize", same_shapes=True)
def solarize(
    input: op.SampleType, /, *, threshold: op.FloatArg | None = None, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Turn values from a threshold on into their negatives.

    They become 255 - x, and 1 - x for floats, as torchvision's solarize and, for uint8, Pillow's
    `ImageOps.solarize` make them.

    Args:
        input: uint8 or float32, of any rank and layout.
        threshold: the least value that is turned around; may differ per sample. By default 128, and
            0.5 for floats. 0 turns all of them: the negative of the image.

    Returns:
        Samples of the same shapes, dtype and layout.

    Raises:
        OperatorTypeError: for other dtypes.

    Example:
        gradiva.solarize(np.uint8([7, 100, 255]), threshold=100)  # [7, 155, 0]
    """
    op.require_dtype(input, _DTYPES)
    return input


@op.row_kernel()
def solarize_row(source: Vector, target: Vector, row: F32Vector) -> None:
    """One strip; row: the threshold, and white."""
    threshold, white = row[0], row[1]
    for k in range(source.size):
        value = np.float32(source[k])
        if value >= threshold:
            value = white - value
        target[k] = value


@op.pixelwise(solarize, solarize_row)
def _thresholds(call: op.Call) -> Float32Array:
    """(N, 1, 2): the threshold and white."""
    rows = np.empty((call.size, 1, 2), np.float32)
    rows[:, 0, 1] = white = largest(call)
    given = call["threshold"]
    rows[:, 0, 0] = (0.5 if white == 1.0 else 128.0) if given is None else given
    return rows


@solarize.cases
def _solarize_cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    arrays = images.arrays()
    floats = op.samples((3, 4, 3), dtype=op.float32)
    plane = floats.at(0)

    def turned(image: Array, threshold: float) -> Array:
        return np.where(image >= threshold, 255 - image, image)

    return [
        op.case("default", images).equals([turned(one, 128) for one in arrays]).no_oracle(),
        op.case("all", images, threshold=0).equals([255 - one for one in arrays]).no_oracle(),
        op.case("per sample", images, threshold=[0.0, 256.0, 9.5])
        .equals([turned(one, t) for one, t in zip(arrays, (0, 256, 9.5), strict=True)])
        .no_oracle(),
        op.case("floats", floats)
        .equals([np.where(plane >= 0.5, np.float32(1) - plane, plane)])
        .no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("dtype", op.samples((2, 2, 3), dtype=op.int16)).type_error("int16"),
        op.case("length", images, threshold=[1.0]).value_error("`threshold`"),
    ]
