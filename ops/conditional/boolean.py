"""`_conditional.boolean`: an operand of `and` or `or`, once its type is known."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .rules import require_boolean


@op.operator("_conditional.boolean")
def boolean(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """The value itself, which must be a bool for each sample.

    input: bool scalars (0-D). Raises OperatorTypeError for other dtypes and for samples with axes.
    """
    require_boolean(input, "an operand of `and` or `or`")
    return op.SampleType(op.bool_, 0, "", input.device)


@boolean.shapes
def _shapes(call: op.Call) -> op.Geometry:
    return op.Geometry.equal(call.size, ())


@boolean.cpu
def _cpu(call: op.Call) -> None:
    np.copyto(call.outputs[0].data, call.inputs[0].as_array())


@boolean.cases
def _cases() -> list[op.Case]:
    flags = op.batch([np.array(True), np.array(False), np.array(True)])
    return [
        op.case("bools", flags).equals([flags.at(i) for i in range(3)]).no_oracle(),
        op.case("some", flags.select([2, 1])).equals([flags.at(2), flags.at(1)]).no_oracle(),
        op.case("empty", flags.select([])).equals([]).no_oracle(),
        op.case("numbers", op.samples((), (), dtype=op.int32, layout="")).type_error("compare"),
        op.case("axes", op.samples((2,), (2,), dtype=op.bool_, layout="")).type_error("0-D"),
    ]
