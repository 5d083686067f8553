"""`full_like`: samples like those of another batch, filled with given values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.jit.convert import convert_array
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, int16
from gradiva.eager.types.sample_type import SampleType

from .filling import broadcast_into, broadcast_launch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["full_like"]


@operator("full_like", inputs=2)
def full_like(like: SampleType, fill_value: Any, /, **common: Unpack[Common]) -> SampleType:
    """Samples of the shapes, dtype and layout of `like`, filled with a value or several, broadcast.

    like: any dtype, rank and layout. fill_value: any dtype, converted as by `cast`; its axes align
    with the last ones of `like`, and extents of 1 are repeated.

    Raises OperatorValueError, with the sample, for values that do not broadcast.
    """
    return like


@full_like.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@full_like.cpu
def _cpu(call: Call) -> None:
    values = call.inputs[1]
    broadcast_into(call, values, convert_array(values.data, call.outputs[0].data.dtype))


@full_like.gpu
def _gpu(call: Call) -> Launch:
    return broadcast_launch(call, call.inputs[1])


@full_like.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3))
    plain = samples((2, 2), (2, 2), dtype=int16, layout="HW")
    sevens = samples((), (), dtype=float32, layout="", low=7.5, high=7.5)
    colours = samples((3,), (3,), dtype=int16, layout="")
    bytes_of = [np.clip(colours.at(i), 0, 255).astype(np.uint8) for i in range(2)]
    return [
        case("scalars", images, sevens).equals(
            [np.full(images.at(i).shape, 8, np.uint8) for i in range(2)]
        ),
        case("colours", images, colours).equals(
            [np.broadcast_to(bytes_of[i], images.at(i).shape) for i in range(2)]
        ),
        case("uniform", plain, sevens).equals([np.full((2, 2), 8, np.int16)] * 2),
        case("a constant", plain, np.float32(-2.5)).equals([np.full((2, 2), -3, np.int16)] * 2),
        case("to scalars", sevens, sevens).equals([sevens.at(i) for i in range(2)]),
        case("empty", samples(), samples(layout="")).equals([]),
        case("no broadcast", plain, colours).value_error("sample 0"),
        case("one input", plain).type_error("2 inputs"),
    ]
