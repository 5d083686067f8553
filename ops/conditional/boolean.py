"""`_conditional.boolean`: an operand of `and` or `or`, once its type is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import bool_, int32
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import batch

from .rules import require_boolean

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["boolean"]


@operator("_conditional.boolean")
def boolean(input: SampleType, /, **common: Unpack[Common]) -> SampleType:
    """The value itself, which must be a bool for each sample.

    input: bool scalars (0-D). Raises OperatorTypeError for other dtypes and for samples with axes.
    """
    require_boolean(input, "an operand of `and` or `or`")
    return SampleType(bool_, 0, "", input.device)


@boolean.shapes
def _shapes(call: Call) -> Geometry:
    return Geometry.equal(call.size, ())


@boolean.cpu
def _cpu(call: Call) -> None:
    np.copyto(call.outputs[0].data, call.inputs[0].as_array())


@boolean.cases
def _cases() -> list[Case]:
    flags = batch([np.array(True), np.array(False), np.array(True)])
    return [
        case("bools", flags).equals([flags.at(i) for i in range(3)]).no_oracle(),
        case("some", flags.select([2, 1])).equals([flags.at(2), flags.at(1)]).no_oracle(),
        case("empty", flags.select([])).equals([]).no_oracle(),
        case("numbers", samples((), (), dtype=int32, layout="")).type_error("compare"),
        case("axes", samples((2,), (2,), dtype=bool_, layout="")).type_error("0-D"),
    ]
