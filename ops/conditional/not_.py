"""`_conditional.not_`: what `not value` is in a pipeline with conditionals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.math.expression import Term, expression_launch, operand

from .rules import require_scalar


@op.operator("_conditional.not_")
def not_(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """True where the value is zero.

    input: scalars (0-D) of any dtype; NaN counts as true. Returns bool scalars. Raises
    OperatorTypeError for samples with axes.
    """
    require_scalar(input, "the operand of `not`")
    return op.SampleType(op.bool_, 0, "", input.device)


@not_.shapes
def _shapes(call: op.Call) -> op.Geometry:
    return op.Geometry.equal(call.size, ())


@not_.cpu
def _cpu(call: op.Call) -> None:
    np.equal(call.inputs[0].as_array(), 0, out=call.outputs[0].data)


@not_.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    given = operand(0, source.data.dtype)
    return expression_launch((source,), target, Term(f"is_zero({given.text})", target.data.dtype))


@not_.cases
def _cases() -> list[op.Case]:
    numbers = op.samples((), (), (), dtype=op.int32, layout="", low=0, high=1)
    floats = [np.float32("nan"), np.float32(0.0), np.float32(-0.0), np.float32(0.5)]
    wanted = [np.array(one) for one in (False, True, True, False)]
    return [
        op.case("numbers", numbers).equals([numbers.at(i) == 0 for i in range(3)]).no_oracle(),
        op.case("floats", _batch(floats)).equals(wanted).no_oracle(),
        op.case("bools", _batch([np.True_, np.False_])).equals(wanted[:2]).no_oracle(),
        op.case("empty", _batch(floats).select([])).equals([]).no_oracle(),
        op.case("axes", op.samples((2,), (2,), dtype=op.float32, layout="")).type_error("0-D"),
    ]


def _batch(values: Sequence[np.generic]) -> op.Batch:
    return op.batch([np.asarray(value) for value in values])
