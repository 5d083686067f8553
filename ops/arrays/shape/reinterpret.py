"""`reinterpret`: the bytes of each sample as another dtype and shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .new_shapes import reshaped_type, reshaped_view, wanted_shapes


@op.operator("reinterpret", inputs=(1, 2), bfloat16=True)
def reinterpret(
    input: op.SampleType,
    shape_input: Any = None,
    /,
    *,
    dtype: op.DTypeLike | None = None,
    shape: op.IntsArg | None = None,
    rel_shape: op.FloatsArg | None = None,
    src_dims: op.IntsArg | None = None,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The bytes of each sample as elements of another dtype, under another shape. Nothing is copied
    but for bool, and for memory where the elements would not be aligned.

    input: any dtype, rank and layout. dtype: of the result; that of the input by default.
    shape_input, shape, rel_shape, src_dims, layout: as in `reshape`, extents in elements of the
        result; `rel_shape` is relative to the extents of the input. Without them the last extent
        changes with the size of the elements.

    As bool, every byte but 0 is True. Raises OperatorValueError, with the sample, if the bytes do
    not fill the shape or the last axis, and as `reshape` does.
    """
    return reshaped_type(input, shape_input, shape, rel_shape, src_dims, layout, dtype)


reinterpret.shapes(wanted_shapes)
reinterpret.view(reshaped_view)


reinterpret.host_from = 1


@reinterpret.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 6, 4), (1, 7, 8), (3, 1, 12))
    uniform = op.samples((4, 6), (4, 6), (4, 6), layout="HW")
    odd = op.samples((1, 6), (3, 2), (5, 4), layout="")
    scalars = op.samples((), (), dtype=op.int32, layout="")

    def viewed(batch: op.Batch, dtype: type) -> list[np.ndarray[Any, Any]]:
        return [sample.view(dtype) for sample in batch.arrays()]

    return [
        op.case("wider", images, dtype=op.int32).equals(viewed(images, np.int32)),
        op.case(
            "narrower", op.samples((2, 3), (4, 1), dtype=op.float32, layout="HW"), dtype=op.uint8
        ).equals(viewed(op.samples((2, 3), (4, 1), dtype=op.float32, layout="HW"), np.uint8)),
        op.case("uniform", uniform, dtype=op.int16).equals(viewed(uniform, np.int16)),
        op.case("to bool", odd, dtype=op.bool_).equals([odd.at(i) != 0 for i in range(3)]),
        op.case("shape", odd, dtype=op.int16, shape=[-1]).equals(
            [odd.at(i).reshape(-1).view(np.int16) for i in range(3)]
        ),
        op.case("scalars", scalars, dtype=op.float32).equals(viewed(scalars, np.float32)),
        op.case("scalars as bytes", scalars, dtype=op.uint8, shape=[4])
        .equals([scalars.at(i).reshape(1).view(np.uint8) for i in range(2)])
        .no_oracle(),
        op.case("empty", op.samples(), dtype=op.uint8).equals([]),
        op.case("last axis", odd, dtype=op.int32).value_error("sample 0"),
        op.case("scalars that grow", scalars, dtype=op.uint8).value_error("`dtype`"),
        op.case("nothing", images).value_error("nothing to do"),
    ]
