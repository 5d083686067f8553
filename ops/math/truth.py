"""Values that are true or false, per sample: `not value`, and the operands of `and` and `or`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradiva.eager import extension as op

from .expression import Term, expression_launch, operand


def check_scalar(type: op.SampleType, what: str) -> None:
    """Refuse samples with axes: they are neither true nor false. Raises OperatorTypeError."""
    if type.device != "cpu":
        raise op.OperatorTypeError(
            f"{what} is decided on the CPU, and this one is on the GPU: take `.cpu()` of it"
        )
    if type.ndim not in (None, 0):
        raise op.OperatorTypeError(
            f"{what} is one value per sample; of arrays, make one value (such as a part of them): "
            "`labels[0] == 1` for labels of shape (1,), which readers deliver as scalars with "
            "`label_shape=()`",
            expected="scalars (0-D samples)",
            got=f"{type.ndim}-D samples",
        )


def check_boolean(type: op.SampleType, what: str) -> None:
    """Refuse what is no scalar bool. Raises OperatorTypeError."""
    check_scalar(type, what)
    if type.dtype not in (None, op.bool_):
        raise op.OperatorTypeError(
            f"{what} is a bool; compare (x != 0), or combine bits with & and |",
            expected="bool",
            got=str(type.dtype),
        )


@op.operator("_conditional.boolean")
def boolean(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """The value itself, which must be a bool for each sample.

    input: bool scalars (0-D). Raises OperatorTypeError for other dtypes and for samples with axes.
    """
    check_boolean(input, "an operand of `and` or `or`")
    return op.SampleType(op.bool_, 0, "", input.device)


boolean.shapes(lambda call: op.BatchShape.equal(call.size, ()))
boolean.cpu(lambda call: np.copyto(call.outputs[0].data, call.inputs[0].as_array()))


@boolean.cases
def _boolean_cases() -> list[op.Case]:
    flags = op.batch([np.array(True), np.array(False), np.array(True)])
    return [
        op.case("bools", flags).equals(flags.arrays()).no_oracle(),
        op.case("some", flags.select([2, 1])).equals([flags.at(2), flags.at(1)]).no_oracle(),
        op.case("empty", flags.select([])).equals([]).no_oracle(),
        op.case("numbers", op.samples((), (), dtype=op.int32, layout="")).type_error("compare"),
        op.case("axes", op.samples((2,), (2,), dtype=op.bool_, layout="")).type_error("0-D"),
    ]


@op.operator("_conditional.not_", schema="_conditional__Not_")
def not_(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
    """True where the value is zero.

    input: scalars (0-D) of any dtype; NaN counts as true. Returns bool scalars. Raises
    OperatorTypeError for samples with axes.
    """
    check_scalar(input, "the operand of `not`")
    return op.SampleType(op.bool_, 0, "", input.device)


not_.shapes(lambda call: op.BatchShape.equal(call.size, ()))
not_.cpu(lambda call: np.equal(call.inputs[0].as_array(), 0, out=call.outputs[0].data))


@not_.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    given = operand(0, source.data.dtype)
    return expression_launch((source,), target, Term(f"is_zero({given.text})", target.data.dtype))


@not_.cases
def _not_cases() -> list[op.Case]:
    numbers = op.samples((), (), (), dtype=op.int32, layout="", low=0, high=1)
    floats = [np.float32("nan"), np.float32(0.0), np.float32(-0.0), np.float32(0.5)]
    wanted = [np.array(one) for one in (False, True, True, False)]
    return [
        op.case("numbers", numbers).each(lambda number: number == 0).no_oracle(),
        op.case("floats", _batch(floats)).equals(wanted).no_oracle(),
        op.case("bools", _batch([np.True_, np.False_])).equals(wanted[:2]).no_oracle(),
        op.case("empty", _batch(floats).select([])).equals([]).no_oracle(),
        op.case("axes", op.samples((2,), (2,), dtype=op.float32, layout="")).type_error("0-D"),
    ]


def _batch(values: Sequence[np.generic]) -> op.Batch:
    return op.batch([np.asarray(value) for value in values])
