"""`normalize_by_numbers`: `normalize` with one mean and one deviation for all values; compiled
graphs hold it."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, Float32Array, U8Vector, Vector


@op.operator("normalize_by_numbers", same_shapes=True)
def normalize_by_numbers(
    input: op.SampleType,
    /,
    *,
    mean: op.FloatArg = 0.0,
    stddev: op.FloatArg = 1.0,
    shift: float = 0.0,
    scale: float = 1.0,
    epsilon: float = 0.0,
    dtype: op.DTypeLike = op.float32,
) -> op.SampleType:
    """Compute scale * (in - mean) / sqrt(stddev ** 2 + epsilon) + shift, as `normalize` does.

    Args:
        input: any dtype, rank and layout.
        mean, stddev: numbers.
        shift, scale: what mean and deviation become.
        epsilon: added to the variance.
        dtype: the element type of the output.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for arguments that are not numbers.
    """
    return input.with_(dtype=dtype)


@op.row_kernel()
def scale_row(source: U8Vector, target: Vector, row: F32Vector) -> None:
    """One strip: subtract, multiply, add, convert."""
    mean, factor, shift = row[0], row[1], row[2]
    for k in range(source.size):
        target[k] = convert_sat((np.float32(source[k]) - mean) * factor + shift, target)


@op.pixelwise(normalize_by_numbers, scale_row)
def _parameters(call: op.Call) -> Float32Array:
    """(N, 1, 3): mean, factor, shift."""
    numbers = np.empty((call.size, 1, 3), np.float32)
    with np.errstate(all="ignore"):
        deviation = call["stddev"].astype(np.float64)
        numbers[:, 0, 0] = call["mean"]
        numbers[:, 0, 1] = call["scale"] / np.sqrt(deviation**2 + call["epsilon"])
        numbers[:, 0, 2] = call["shift"]
    return numbers


@normalize_by_numbers.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    powers = [(images.at(i).astype(np.float32) - 128) / 64 for i in range(2)]
    return [
        op.case("numbers", images, mean=128.0, stddev=64.0).equals(powers).no_oracle(),
        op.case("to uint8", images, mean=9.0, shift=128.0, scale=40.0, dtype=op.uint8).no_oracle(),
        op.case("half", images, mean=9.0, epsilon=2.0, dtype=op.float16).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("text", images, mean="128").type_error("`mean`"),
    ]
