"""`zeros`: samples full of zeros."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .filling import fill_with, filled_shapes, filled_type, filling_launch


@op.maker("zeros")
def zeros(
    *,
    shape: op.IntsArg | None = None,
    dtype: op.DTypeLike = op.int32,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Samples full of zeros.

    shape: of a sample; a scalar by default. May differ per sample. dtype: any, int32 by default.
    layout: of the samples; none by default. batch_size: number of samples in dynamic mode; without
    it, one Tensor.

    Raises OperatorValueError for negative extents and for a layout with another number of letters.
    """
    chosen: op.DType = dtype  # type: ignore[assignment]  # converted by the engine
    return filled_type(chosen, shape, layout)


zeros.shapes(filled_shapes)


@zeros.cpu
def _cpu(call: op.Call) -> None:
    fill_with(call, 0)


@zeros.gpu
def _gpu(call: op.Call) -> op.Launch:
    return filling_launch(call, 0)


@zeros.cases
def _cases() -> list[op.Case]:
    shapes = np.array([[2, 3], [40, 1], [0, 2]], np.int32)
    return [
        op.case("scalars", batch_size=3).equals([np.zeros((), np.int32)] * 3),
        op.case("images", batch_size=2, shape=[4, 5, 3], dtype=op.uint8, layout="HWC").equals(
            [np.zeros((4, 5, 3), np.uint8)] * 2
        ),
        op.case("per sample", batch_size=3, shape=shapes, dtype=op.float16).equals(
            [np.zeros(tuple(shape), np.float16) for shape in shapes]
        ),
        op.case("bool", batch_size=1, shape=3, dtype=op.bool_).equals([np.zeros(3, np.bool_)]),
        op.case("one", shape=[2, 2], batch_size=1).equals([np.zeros((2, 2), np.int32)]),
        op.case("empty", batch_size=0, shape=[2]).equals([]),
        op.case("negative", batch_size=2, shape=[2, -1]).value_error("`shape`"),
        op.case("letters", batch_size=2, shape=[2], layout="HW").value_error("`layout`"),
        op.case("dtype", batch_size=2, dtype=complex).type_error("`dtype`"),
    ]
