"""`cast_like`: convert samples to the dtype of another batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.gpu.moves import move_launch
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import bool_, float16, float32, int8, uint8
from gradiva.eager.types.sample_type import SampleType

from .cast import run_cast

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["cast_like"]


@operator("cast_like", inputs=2, bfloat16=True)
def cast_like(input: SampleType, like: Any, /, **common: Unpack[Common]) -> SampleType:
    """Convert each element to the dtype of `like`; shapes and layout stay.

    input: any dtype and rank, converted as by `cast`. like: only its dtype counts.
    """
    return input.with_(dtype=like.dtype)


@cast_like.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@cast_like.cpu
def _cpu(call: Call) -> None:
    run_cast(call)


@cast_like.gpu
def _gpu(call: Call) -> Launch:
    source, target = call.inputs[0], call.outputs[0]
    lengths = source.geometry.volumes[:, None]
    return move_launch(source, target, source.geometry.offsets, lengths, np.ones_like(lengths))


@cast_like.cases
def _cases() -> list[Case]:
    values = samples((5,), (5,), layout="W", dtype=float32)
    values.at(0)[:] = [0.5, 2.5, -0.5, 300.0, -300.0]
    bytes_like = samples((2, 2), (1, 3), dtype=int8, layout="HW")
    images = samples((3, 4, 3), (2, 2, 3))
    return [
        case("rounds and saturates", values, bytes_like).equals(
            [np.array([1, 3, -1, 127, -128], np.int8), np.floor(values.at(1) + 0.5).astype(np.int8)]
        ),
        case("to float", images, values).equals(
            [images.at(i).astype(np.float32) for i in range(2)]
        ),
        case("to half", images, samples((), (), dtype=float16, layout="")).equals(
            [images.at(i).astype(np.float16) for i in range(2)]
        ),
        case("to bool", images, samples((), (), dtype=bool_, layout="")).equals(
            [images.at(i) != 0 for i in range(2)]
        ),
        case("same", images, images).equals([images.at(i) for i in range(2)]),
        case("scalars", samples((), (), dtype=float32, layout="", low=3, high=3), images).equals(
            [np.array(3, np.uint8)] * 2
        ),
        case("empty", samples(), samples(dtype=uint8)).equals([]),
        case("one input", images).type_error("2 inputs"),
    ]
