"""`full_like`: samples like those of another batch, filled with given values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.convert import convert_array

from .filling import broadcast_into, broadcast_launch


@op.operator("full_like", inputs=2, same_shapes=True)
def full_like(
    like: op.SampleType, fill_value: Any, /, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Samples of the shapes, dtype and layout of `like`, filled with a value or several, broadcast.

    like: any dtype, rank and layout. fill_value: any dtype, converted as by `cast`; its axes align
    with the last ones of `like`, and extents of 1 are repeated.

    Raises OperatorValueError, with the sample, for values that do not broadcast.
    """
    return like


@full_like.cpu
def _cpu(call: op.Call) -> None:
    values = call.inputs[1]
    broadcast_into(call, values, convert_array(values.data, call.outputs[0].data.dtype))


@full_like.gpu
def _gpu(call: op.Call) -> op.Launch:
    return broadcast_launch(call, call.inputs[1])


@full_like.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    plain = op.samples((2, 2), (2, 2), dtype=op.int16, layout="HW")
    sevens = op.samples((), (), dtype=op.float32, layout="", low=7.5, high=7.5)
    colours = op.samples((3,), (3,), dtype=op.int16, layout="")
    bytes_of = [np.clip(colours.at(i), 0, 255).astype(np.uint8) for i in range(2)]
    return [
        op.case("scalars", images, sevens).equals(
            [np.full(images.at(i).shape, 8, np.uint8) for i in range(2)]
        ),
        op.case("colours", images, colours).equals(
            [np.broadcast_to(bytes_of[i], images.at(i).shape) for i in range(2)]
        ),
        op.case("uniform", plain, sevens).equals([np.full((2, 2), 8, np.int16)] * 2),
        op.case("a constant", plain, np.float32(-2.5)).equals([np.full((2, 2), -3, np.int16)] * 2),
        op.case("to scalars", sevens, sevens).equals([sevens.at(i) for i in range(2)]),
        op.case("empty", op.samples(), op.samples(layout="")).equals([]),
        op.case("no broadcast", plain, colours).value_error("sample 0"),
        op.case("one input", plain).type_error("2 inputs"),
    ]
