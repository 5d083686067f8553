"""`full`: samples of a given shape, filled with given values."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .filling import broadcast_into, broadcast_launch, filled_shapes, filled_type


@op.operator("full")
def full(
    fill_value: op.SampleType,
    /,
    *,
    shape: op.IntsArg | None = None,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
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
def _cpu(call: op.Call) -> None:
    broadcast_into(call, call.inputs[0], call.inputs[0].data)


@full.gpu
def _gpu(call: op.Call) -> op.Launch:
    return broadcast_launch(call, call.inputs[0])


@full.cases
def _cases() -> list[op.Case]:
    numbers = op.samples((), (), dtype=op.int32, layout="")
    colours = op.samples((3,), (3,), layout="C")
    rows = op.samples((2, 1), (3, 1), dtype=op.float16, layout="")
    shapes = np.array([[2, 3], [3, 1]], np.int32)
    return [
        op.case("scalars", numbers, shape=[2, 3]).equals(
            [np.full((2, 3), numbers.at(i)) for i in range(2)]
        ),
        op.case("a colour", colours, shape=[4, 5, 3]).equals(
            [np.broadcast_to(colours.at(i), (4, 5, 3)) for i in range(2)]
        ),
        op.case("with layout", colours, shape=[4, 5, 3], layout="HWC").no_oracle(),
        op.case("per sample", rows, shape=shapes).equals(
            [np.broadcast_to(rows.at(i), tuple(shapes[i])) for i in range(2)]
        ),
        op.case("no shape", numbers).equals([numbers.at(i) for i in range(2)]),
        op.case("no extent", numbers, shape=[0, 2]).equals([np.empty((0, 2), np.int32)] * 2),
        op.case("empty", op.samples(layout=""), shape=[2]).equals([]),
        op.case("no broadcast", colours, shape=[3, 4]).value_error("sample 0"),
        op.case("negative", numbers, shape=[-1]).value_error("`shape`"),
        op.case("letters", numbers, shape=[2], layout="HW").value_error("`layout`"),
    ]
