"""Conversion of samples to another dtype: `cast` and `cast_like`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import move_launch
from gradiva.eager.operators.cases import samples
from gradiva.eager.operators.pixelwise import run_pixelwise
from gradiva.eager.rows.convert import convert_array, convert_sat
from gradiva.eager.types.arrays import F32Vector, Vector
from gradiva.eager.types.dtypes import bfloat16


@op.operator("cast", schema="Cast", bfloat16=True, same_shapes=True)
def cast(
    input: op.SampleType, /, *, dtype: op.DTypeLike, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Convert each element to `dtype`; shapes and layout stay.

    Args:
        input: any dtype and rank. Floats that become integers are rounded half away from zero and
            saturate, NaN becomes 0; integers saturate. A number is true if it does not round to 0.
            float16 is rounded half away from zero too, bfloat16 half to even.
        dtype: the element type of the output, such as "float32" or `gradiva.float32`.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for a value that is not a dtype.
        OperatorValueError: for a string that names no dtype.

    Example:
        image = gradiva.imread("cat.jpg")
        gradiva.cast(image, dtype="float32").dtype  # float32
    """
    chosen: op.DType = dtype  # type: ignore[assignment]  # converted by the engine
    return input.with_(dtype=chosen)


@op.row_kernel()
def cast_row(source: Vector, target: Vector, parameters: F32Vector) -> None:
    """One strip: convert."""
    for k in range(source.size):
        target[k] = convert_sat(source[k], target)


cast.identity_on_same_type = True


@op.pixelwise(cast, cast_row)
def _parameters(call: op.Call) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.empty((call.size, 1, 0), np.float32)


@cast.cpu
def run_cast(call: op.Call) -> None:
    """Convert the samples of the first input."""
    if bfloat16 in (call.inputs[0].dtype, call.types[0].dtype):
        # Not by way of float32, as kernels would have it: values would be rounded twice.
        target = call.outputs[0]
        samples = zip(target.arrays(), call.inputs[0].arrays(), strict=True)
        for made, sample in samples:
            made[...] = convert_array(sample, target.dtype.numpy)
        return
    run_pixelwise(call, cast.fusion_role)


@cast.cases
def _cast_cases() -> list[op.Case]:
    halves = samples((3,), layout="", dtype=op.float32)
    halves.at(0)[:] = [0.5, 2.5, -0.5]
    extremes = samples((4,), layout="", dtype=op.float32)
    extremes.at(0)[:] = [np.nan, 1e9, -1e9, 254.5]
    images = samples((3, 4, 3), (2, 2, 3))
    wide = samples((5,), (3,), dtype=op.int64, layout="")
    return [
        op.case("halves", halves, dtype=op.int8).equals([np.array([1, 3, -1], np.int8)]),
        op.case("saturate", extremes, dtype=op.uint8).equals(
            [np.array([0, 255, 0, 255], np.uint8)]
        ),
        op.case("to float", images, dtype=op.float32).each(lambda image: image.astype(np.float32)),
        op.case("to half", images, dtype=op.float16).each(lambda image: image.astype(np.float16)),
        op.case("integers saturate", wide, dtype="int8").each(
            lambda one: np.clip(one, -128, 127).astype(np.int8)
        ),
        op.case("to bool", images, dtype=op.bool_).each(lambda image: image != 0),
        op.case("same", images, dtype=op.uint8).equals(images.arrays()),
        op.case("empty", samples(), dtype=op.float32).equals([]),
        op.case("no dtype", images).type_error("`dtype`"),
        op.case("unknown", images, dtype=complex).type_error("`dtype`"),
    ]


@op.operator("cast_like", schema="CastLike", inputs=2, bfloat16=True, same_shapes=True)
def cast_like(input: op.SampleType, like: Any, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """Convert each element to the dtype of `like`; shapes and layout stay.

    Args:
        input: any dtype and rank, converted as by `cast`.
        like: a batch, a tensor or an array, of which only the dtype is used.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorTypeError: for another number of inputs than two.

    Example:
        weights = np.ones(3, np.float32)
        gradiva.cast_like(gradiva.imread("cat.jpg"), weights).dtype  # float32
    """
    return input.with_(dtype=like.dtype)


cast_like.cpu(run_cast)


@cast_like.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    lengths = source.batch_shape.volumes[:, None]
    return move_launch(source, target, source.batch_shape.offsets, lengths, np.ones_like(lengths))


@cast_like.cases
def _cast_like_cases() -> list[op.Case]:
    values = op.samples((5,), (5,), layout="W", dtype=op.float32)
    values.at(0)[:] = [0.5, 2.5, -0.5, 300.0, -300.0]
    bytes_like = op.samples((2, 2), (1, 3), dtype=op.int8, layout="HW")
    images = op.samples((3, 4, 3), (2, 2, 3))
    return [
        op.case("rounds and saturates", values, bytes_like).equals(
            [np.array([1, 3, -1, 127, -128], np.int8), np.floor(values.at(1) + 0.5).astype(np.int8)]
        ),
        op.case("to float", images, values).each(lambda image, *_: image.astype(np.float32)),
        op.case("to half", images, op.samples((), (), dtype=op.float16, layout="")).each(
            lambda image, *_: image.astype(np.float16)
        ),
        op.case("to bool", images, op.samples((), (), dtype=op.bool_, layout="")).each(
            lambda image, *_: image != 0
        ),
        op.case("same", images, images).equals(images.arrays()),
        op.case(
            "scalars", op.samples((), (), dtype=op.float32, layout="", low=3, high=3), images
        ).equals([np.array(3, np.uint8)] * 2),
        op.case("empty", op.samples(), op.samples(dtype=op.uint8)).equals([]),
        op.case("one input", images).type_error("2 inputs"),
    ]
