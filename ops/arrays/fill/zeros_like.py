"""`zeros_like`: samples full of zeros, of the shapes of another batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import DTypeLike
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import DType, bool_, float16, float32
from gradiva.eager.types.sample_type import SampleType

from .filling import fill_with, filling_launch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["zeros_like"]


@operator("zeros_like", bfloat16=True)
def zeros_like(
    like: SampleType, /, *, dtype: DTypeLike | None = None, **common: Unpack[Common]
) -> SampleType:
    """Samples full of zeros, with the shapes and the layout of `like`.

    like: any dtype, rank and layout. dtype: of the result; that of `like` by default.
    """
    chosen: DType | None = dtype  # type: ignore[assignment]  # converted by the engine
    return like if chosen is None else like.with_(dtype=chosen)


@zeros_like.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@zeros_like.cpu
def _cpu(call: Call) -> None:
    fill_with(call, 0)


@zeros_like.gpu
def _gpu(call: Call) -> Launch:
    return filling_launch(call, 0)


@zeros_like.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 0, 3))
    plain = samples((2, 3), (2, 3), dtype=float16, layout="")
    scalars = samples((), (), layout="")
    return [
        case("ragged", images).equals([np.zeros_like(images.at(i)) for i in range(3)]),
        case("uniform", plain).equals([np.zeros((2, 3), np.float16)] * 2),
        case("other dtype", images, dtype=float32).equals(
            [np.zeros(images.at(i).shape, np.float32) for i in range(3)]
        ),
        case("bool", plain, dtype=bool_).equals([np.zeros((2, 3), np.bool_)] * 2),
        case("scalars", scalars).equals([np.zeros((), np.uint8)] * 2),
        case("empty", samples()).equals([]),
        case("dtype", images, dtype=complex).type_error("`dtype`"),
    ]
