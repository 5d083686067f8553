"""`_conditional.not_`: what `not value` is in a pipeline with conditionals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import bool_, float32, int32
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch, batch
from gradiva.ops.math.expression import Term, expression_launch, operand

from .rules import require_scalar

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["not_"]


@operator("_conditional.not_")
def not_(input: SampleType, /, **common: Unpack[Common]) -> SampleType:
    """True where the value is zero.

    input: scalars (0-D) of any dtype; NaN counts as true. Returns bool scalars. Raises
    OperatorTypeError for samples with axes.
    """
    require_scalar(input, "the operand of `not`")
    return SampleType(bool_, 0, "", input.device)


@not_.shapes
def _shapes(call: Call) -> Geometry:
    return Geometry.equal(call.size, ())


@not_.cpu
def _cpu(call: Call) -> None:
    np.equal(call.inputs[0].as_array(), 0, out=call.outputs[0].data)


@not_.gpu
def _gpu(call: Call) -> Launch:
    source, target = call.inputs[0], call.outputs[0]
    given = operand(0, source.data.dtype)
    return expression_launch((source,), target, Term(f"is_zero({given.text})", target.data.dtype))


@not_.cases
def _cases() -> list[Case]:
    numbers = samples((), (), (), dtype=int32, layout="", low=0, high=1)
    floats = [np.float32("nan"), np.float32(0.0), np.float32(-0.0), np.float32(0.5)]
    wanted = [np.array(one) for one in (False, True, True, False)]
    return [
        case("numbers", numbers).equals([numbers.at(i) == 0 for i in range(3)]).no_oracle(),
        case("floats", _batch(floats)).equals(wanted).no_oracle(),
        case("bools", _batch([np.True_, np.False_])).equals(wanted[:2]).no_oracle(),
        case("empty", _batch(floats).select([])).equals([]).no_oracle(),
        case("axes", samples((2,), (2,), dtype=float32, layout="")).type_error("0-D"),
    ]


def _batch(values: Sequence[np.generic]) -> Batch:
    return batch([np.asarray(value) for value in values])
