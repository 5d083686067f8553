"""`normalize_pixels`: what `crop_mirror_normalize` does to values; compiled graphs hold it."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.pixelwise import axes_of
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Float32Array, U8Vector, Vector

from .crop_mirror_normalize_plan import channel_rows, fold


@op.operator("normalize_pixels", same_shapes=True)
def normalize_pixels(
    input: op.SampleType,
    /,
    *,
    mean: op.FloatsArg = 0.0,
    std: op.FloatsArg = 1.0,
    scale: float = 1.0,
    shift: float = 0.0,
    dtype: op.DTypeLike = op.float32,
) -> op.SampleType:
    """Compute scale * (in - mean) / std + shift, as `crop_mirror_normalize` does.

    Args:
        input: uint8, uint16, int8, int16, int32, float16 or float32, with a layout.
        mean, std: one value or one per channel; may differ per sample.
        scale: applied last: the factor.
        shift: applied last: what is added.
        dtype: float32 (default), float16, uint8, int8.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for the wrong number of means or deviations.
    """
    op.require_dtype(
        input, (op.uint8, op.uint16, op.int8, op.int16, op.int32, op.float16, op.float32)
    )
    if dtype not in (op.float32, op.float16, op.uint8, op.int8):
        expected = "float32, float16, uint8 or int8"
        raise op.wrong_type("dtype", expected, dtype)
    return input.with_(dtype=dtype)


@op.row_kernel()
def normalize_row(source: U8Vector, target: Vector, row: F32Vector) -> None:
    """One strip of one channel: subtract, multiply, convert."""
    mean, factor = row[0], row[1]
    for k in range(source.size):
        target[k] = convert_sat((np.float32(source[k]) - mean) * factor, target)


@op.pixelwise(normalize_pixels, normalize_row)
def _parameters(call: op.Call) -> Float32Array:
    """(N, channels, 2): mean and factor."""
    source = call.inputs[0]
    _, channels, _ = axes_of(source.layout, source.batch_shape.shapes)
    mean, std = (channel_rows(name, call[name], channels) for name in ("mean", "std"))
    mean, factor = fold(mean, std, call["scale"], call["shift"])
    return np.stack(np.broadcast_arrays(mean, factor), axis=-1)


@normalize_pixels.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    mean, std = [100.0, 110.0, 120.0], [50.0, 60.0, 70.0]
    factor = np.float32(1) / np.array(std, np.float32)
    expected = [
        (images.at(i).astype(np.float32) - np.array(mean, np.float32)) * factor for i in range(2)
    ]
    return [
        op.case("channels", images, mean=mean, std=std).equals(expected).no_oracle(),
        op.case("one", images, mean=3.0, std=2.0, dtype=op.int8).no_oracle(),
        op.case("shift", images, scale=2.0, shift=9.0, dtype=op.uint8).no_oracle(),
        op.case("half", images, mean=mean, dtype=op.float16).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("bad dtype", op.samples((2, 2, 3), dtype=op.float64)).type_error("float64"),
        op.case("means", images, mean=[1.0, 2.0]).value_error("`mean`"),
    ]
