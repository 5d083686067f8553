"""`ones`: samples full of ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import DTypeLike, IntsArg, Layout
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case
from gradiva.eager.operators.operator import maker
from gradiva.eager.types.dtypes import DType, bool_, float16, int32, uint8
from gradiva.eager.types.sample_type import SampleType

from .filling import fill_with, filled_shapes, filled_type, filling_launch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["ones"]


@maker("ones")
def ones(
    *,
    shape: IntsArg | None = None,
    dtype: DTypeLike = int32,
    layout: Layout | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """Samples full of ones.

    shape: of a sample; a scalar by default. May differ per sample. dtype: any, int32 by default.
    layout: of the samples; none by default. batch_size: number of samples in dynamic mode; without
    it, one Tensor.

    Raises OperatorValueError for negative extents and for a layout with another number of letters.
    """
    chosen: DType = dtype  # type: ignore[assignment]  # converted by the engine
    return filled_type(chosen, shape, layout)


ones.shapes(filled_shapes)


@ones.cpu
def _cpu(call: Call) -> None:
    fill_with(call, 1)


@ones.gpu
def _gpu(call: Call) -> Launch:
    return filling_launch(call, 1)


@ones.cases
def _cases() -> list[Case]:
    shapes = np.array([[2, 3], [40, 1], [0, 2]], np.int32)
    return [
        case("scalars", batch_size=3).equals([np.ones((), np.int32)] * 3),
        case("images", batch_size=2, shape=[4, 5, 3], dtype=uint8, layout="HWC").equals(
            [np.ones((4, 5, 3), np.uint8)] * 2
        ),
        case("per sample", batch_size=3, shape=shapes, dtype=float16).equals(
            [np.ones(tuple(shape), np.float16) for shape in shapes]
        ),
        case("bool", batch_size=1, shape=3, dtype=bool_).equals([np.ones(3, np.bool_)]),
        case("one", shape=[2, 2], batch_size=1).equals([np.ones((2, 2), np.int32)]),
        case("empty", batch_size=0, shape=[2]).equals([]),
        case("negative", batch_size=2, shape=[2, -1]).value_error("`shape`"),
        case("letters", batch_size=2, shape=[2], layout="HW").value_error("`layout`"),
        case("dtype", batch_size=2, dtype=complex).type_error("`dtype`"),
    ]
