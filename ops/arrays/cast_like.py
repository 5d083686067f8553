"""`cast_like`: convert samples to the dtype of another batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import move_launch

from .cast import run_cast


@op.operator("cast_like", inputs=2, bfloat16=True, same_shapes=True)
def cast_like(input: op.SampleType, like: Any, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """Convert each element to the dtype of `like`; shapes and layout stay.

    input: any dtype and rank, converted as by `cast`. like: only its dtype counts.
    """
    return input.with_(dtype=like.dtype)


@cast_like.cpu
def _cpu(call: op.Call) -> None:
    run_cast(call)


@cast_like.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    lengths = source.geometry.volumes[:, None]
    return move_launch(source, target, source.geometry.offsets, lengths, np.ones_like(lengths))


@cast_like.cases
def _cases() -> list[op.Case]:
    values = op.samples((5,), (5,), layout="W", dtype=op.float32)
    values.at(0)[:] = [0.5, 2.5, -0.5, 300.0, -300.0]
    bytes_like = op.samples((2, 2), (1, 3), dtype=op.int8, layout="HW")
    images = op.samples((3, 4, 3), (2, 2, 3))
    return [
        op.case("rounds and saturates", values, bytes_like).equals(
            [np.array([1, 3, -1, 127, -128], np.int8), np.floor(values.at(1) + 0.5).astype(np.int8)]
        ),
        op.case("to float", images, values).equals(
            [images.at(i).astype(np.float32) for i in range(2)]
        ),
        op.case("to half", images, op.samples((), (), dtype=op.float16, layout="")).equals(
            [images.at(i).astype(np.float16) for i in range(2)]
        ),
        op.case("to bool", images, op.samples((), (), dtype=op.bool_, layout="")).equals(
            [images.at(i) != 0 for i in range(2)]
        ),
        op.case("same", images, images).equals([images.at(i) for i in range(2)]),
        op.case(
            "scalars", op.samples((), (), dtype=op.float32, layout="", low=3, high=3), images
        ).equals([np.array(3, np.uint8)] * 2),
        op.case("empty", op.samples(), op.samples(dtype=op.uint8)).equals([]),
        op.case("one input", images).type_error("2 inputs"),
    ]
