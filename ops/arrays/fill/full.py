"""`full`: samples of a given shape, filled with given values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import IntsArg, Layout
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.dtypes import float16, int32
from gradiva.eager.types.sample_type import SampleType

from .filling import broadcast_into, broadcast_launch, filled_shapes, filled_type

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["full"]


@operator("full")
def full(
    fill_value: SampleType,
    /,
    *,
    shape: IntsArg | None = None,
    layout: Layout | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """Samples of a given shape, filled with a value or with several, broadcast.

    fill_value: any dtype, which the result has; its axes align with the last ones of `shape`, and
    extents of 1 are repeated. shape: of a sample; a scalar by default. May differ per sample.
    layout: of the result; none by default.

    Raises OperatorValueError for values that do not broadcast, with the sample, for negative
    extents and for a layout with another number of letters.
    """
    return filled_type(fill_value.dtype, shape, layout)


full.shapes(filled_shapes)


@full.cpu
def _cpu(call: Call) -> None:
    broadcast_into(call, call.inputs[0], call.inputs[0].data)


@full.gpu
def _gpu(call: Call) -> Launch:
    return broadcast_launch(call, call.inputs[0])


@full.cases
def _cases() -> list[Case]:
    numbers = samples((), (), dtype=int32, layout="")
    colours = samples((3,), (3,), layout="C")
    rows = samples((2, 1), (3, 1), dtype=float16, layout="")
    shapes = np.array([[2, 3], [3, 1]], np.int32)
    return [
        case("scalars", numbers, shape=[2, 3]).equals(
            [np.full((2, 3), numbers.at(i)) for i in range(2)]
        ),
        case("a colour", colours, shape=[4, 5, 3]).equals(
            [np.broadcast_to(colours.at(i), (4, 5, 3)) for i in range(2)]
        ),
        case("with layout", colours, shape=[4, 5, 3], layout="HWC").no_oracle(),
        case("per sample", rows, shape=shapes).equals(
            [np.broadcast_to(rows.at(i), tuple(shapes[i])) for i in range(2)]
        ),
        case("no shape", numbers).equals([numbers.at(i) for i in range(2)]),
        case("no extent", numbers, shape=[0, 2]).equals([np.empty((0, 2), np.int32)] * 2),
        case("empty", samples(layout=""), shape=[2]).equals([]),
        case("no broadcast", colours, shape=[3, 4]).value_error("sample 0"),
        case("negative", numbers, shape=[-1]).value_error("`shape`"),
        case("letters", numbers, shape=[2], layout="HW").value_error("`layout`"),
    ]
