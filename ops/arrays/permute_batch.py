"""`permute_batch`: the samples of a batch in another order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gradiva.eager import extension as op


@op.operator("permute_batch", bfloat16=True)
def permute_batch(
    input: op.SampleType, /, *, indices: op.IntsArg, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """The samples of a batch in another order; samples may come several times, or not at all.
    Nothing is copied: the result lies in the memory of the input.

    input: any dtype, rank and layout. indices: for each sample of the result its number in the
    input, from 0: one number per sample, as a batch of scalars or as a sequence. A single number
    takes the same sample everywhere.

    The names of files go with the samples; positions stay, so that later random values differ for
    samples that come several times. Raises OperatorValueError for a wrong number of indices, and,
    with the sample, for one that is out of range.
    """
    return input


@dataclass(frozen=True)
class PermutePlan(op.Plan):
    """order: for each sample of the result its number in the input."""

    order: list[int]


@permute_batch.shapes
def _shapes(call: op.Call) -> PermutePlan:
    rows = call["indices"]
    if call.size and rows.shape[1] == 1:
        order = rows[:, 0]
    elif rows.shape[1] != call.size or (rows[1:] != rows[:-1]).any():
        raise op.OperatorValueError(
            argument="indices",
            expected=f"one index per sample, {call.size} in all",
            got=f"{rows.shape[1]}",
        )
    else:
        order = rows[0] if call.size else rows.reshape(-1)
    bad = (order < 0) | (order >= call.size)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise op.OperatorValueError(
            argument="indices",
            expected=f"numbers from 0 to {call.size - 1}",
            got=str(int(order[sample])),
            sample=sample,
        )
    numbers = order.tolist()
    return PermutePlan(call.inputs[0].geometry.select(numbers), numbers)


@permute_batch.view
def _view(call: op.Call) -> op.Batch:
    source, plan = call.inputs[0], call.plan
    assert isinstance(plan, PermutePlan)
    where = source.provenance
    if where is not None:
        where = op.Provenance(where.positions, where.select(plan.order).names)
    return op.Batch(source.data, plan.shapes, call.types[0], where)


@permute_batch.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    numbers = op.samples((), (), (), dtype=op.int32, layout="")
    rows = op.samples((3,), (3,), (3,), dtype=op.float32, layout="W")
    return [
        op.case("turn", images, indices=[1, 2, 0]).equals([images.at(i) for i in (1, 2, 0)]),
        op.case("again and again", rows, indices=[1, 1, 0]).equals([rows.at(i) for i in (1, 1, 0)]),
        op.case("as data", images, indices=np.array([[2], [0], [1]], np.int32))
        .equals([images.at(i) for i in (2, 0, 1)])
        .no_oracle(),
        op.case("scalars", numbers, indices=[2, 1, 0]).equals([numbers.at(i) for i in (2, 1, 0)]),
        op.case("the same", images, indices=[0, 1, 2]).equals([images.at(i) for i in range(3)]),
        op.case("empty", op.samples(), indices=[]).equals([]),
        op.case("out of range", images, indices=[0, 3, 1]).value_error("sample 1"),
        op.case("negative", images, indices=[0, -1, 1]).value_error("`indices`"),
        op.case("too few", images, indices=[0, 1]).value_error("3 in all"),
        op.case("none", images).type_error("`indices`"),
    ]
