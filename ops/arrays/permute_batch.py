"""`permute_batch`: the samples of a batch in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.operators.arguments import IntsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, int32
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["permute_batch"]


@operator("permute_batch", bfloat16=True)
def permute_batch(
    input: SampleType, /, *, indices: IntsArg, **common: Unpack[Common]
) -> SampleType:
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


@permute_batch.shapes
def _shapes(call: Call) -> Geometry:
    """The shapes; `order` becomes a note."""
    rows = call["indices"]
    if call.size and rows.shape[1] == 1:
        order = rows[:, 0]
    elif rows.shape[1] != call.size or (rows[1:] != rows[:-1]).any():
        raise OperatorValueError(
            argument="indices",
            expected=f"one index per sample, {call.size} in all",
            got=f"{rows.shape[1]}",
        )
    else:
        order = rows[0] if call.size else rows.reshape(-1)
    bad = (order < 0) | (order >= call.size)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise OperatorValueError(
            argument="indices",
            expected=f"numbers from 0 to {call.size - 1}",
            got=str(int(order[sample])),
            sample=sample,
        )
    call.notes["order"] = order.tolist()
    return call.inputs[0].geometry.select(call.notes["order"])


@permute_batch.view
def _view(call: Call) -> Batch:
    source, order = call.inputs[0], call.notes["order"]
    where = source.provenance
    if where is not None:
        where = Provenance(where.positions, where.select(order).names)
    return Batch(source.data, source.geometry.select(order), call.types[0], where)


@permute_batch.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 2, 3))
    numbers = samples((), (), (), dtype=int32, layout="")
    rows = samples((3,), (3,), (3,), dtype=float32, layout="W")
    return [
        case("turn", images, indices=[1, 2, 0]).equals([images.at(i) for i in (1, 2, 0)]),
        case("again and again", rows, indices=[1, 1, 0]).equals([rows.at(i) for i in (1, 1, 0)]),
        case("as data", images, indices=np.array([[2], [0], [1]], np.int32))
        .equals([images.at(i) for i in (2, 0, 1)])
        .no_oracle(),
        case("scalars", numbers, indices=[2, 1, 0]).equals([numbers.at(i) for i in (2, 1, 0)]),
        case("the same", images, indices=[0, 1, 2]).equals([images.at(i) for i in range(3)]),
        case("empty", samples(), indices=[]).equals([]),
        case("out of range", images, indices=[0, 3, 1]).value_error("sample 1"),
        case("negative", images, indices=[0, -1, 1]).value_error("`indices`"),
        case("too few", images, indices=[0, 1]).value_error("3 in all"),
        case("none", images).type_error("`indices`"),
    ]
