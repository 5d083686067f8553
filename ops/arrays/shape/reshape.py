"""`reshape`: other shapes and layouts for the same elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .new_shapes import reshaped_type, reshaped_view, wanted_shapes


@op.operator("reshape", inputs=(1, 2), bfloat16=True)
def reshape(
    input: op.SampleType,
    shape_input: Any = None,
    /,
    *,
    shape: op.IntsArg | None = None,
    rel_shape: op.FloatsArg | None = None,
    src_dims: op.IntsArg | None = None,
    layout: op.Layout | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The elements of each sample, in their order, under another shape. Nothing is copied: the
    result lies in the memory of the input.

    input: any dtype, rank and layout. shape_input: the shapes as data, 1-D integers, in place of
        `shape`.
    shape: extents; one of them may be negative, and is completed. May differ per sample.
    rel_shape: factors by which extents change, rounded half up; one may be negative, and is
        completed; it may have fewer factors than the sample has axes, or more, if those are
        negative. May differ per sample.
    src_dims: the axes whose extents the result has, in this order, -1 for a new axis of extent 1;
        `rel_shape` scales what it chooses. With `shape` it has no effect. May differ per sample.
    layout: of the result. Without it the layout stays if the number of axes does, else there is
        none; "" drops it.

    Raises OperatorValueError, with the sample, if the shape is for another number of elements or
    ambiguous, if it is given twice or not at all, and for axes that are not there;
    OperatorTypeError for a second input that is not 1-D integers.
    """
    return reshaped_type(input, shape_input, shape, rel_shape, src_dims, layout)


reshape.shapes(wanted_shapes)
reshape.view(reshaped_view)


reshape.host_from = 1


@reshape.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 6, 3), (2, 2, 3), (6, 1, 3))
    uniform = op.samples((4, 6), (4, 6), dtype=op.float32, layout="HW")
    scalars = op.samples((), (), dtype=op.int32, layout="")
    extents = op.samples((2,), (2,), (2,), dtype=op.int32, layout="")
    for i, row in enumerate([[9, 8], [12, 1], [-1, 6]]):
        extents.at(i)[:] = row
    pixels = [images.at(i).reshape(-1, 3) for i in range(3)]
    return [
        op.case("pixels", images, shape=[-1, 3]).equals(pixels),
        op.case("flat", images, shape=[-1], layout="X")
        .equals([images.at(i).reshape(-1) for i in range(3)])
        .no_oracle(),
        op.case("uniform", uniform, shape=[8, 3]).equals(
            [uniform.at(i).reshape(8, 3) for i in range(2)]
        ),
        op.case("per sample", uniform, shape=np.array([[24, 1], [3, 8]], np.int32)).equals(
            [uniform.at(0).reshape(24, 1), uniform.at(1).reshape(3, 8)]
        ),
        op.case("as data", images, extents)
        .equals(
            [images.at(0).reshape(9, 8), images.at(1).reshape(12, 1), images.at(2).reshape(3, 6)]
        )
        .no_oracle(),
        op.case("factors", uniform, rel_shape=[0.5, 2]).equals(
            [uniform.at(i).reshape(2, 12) for i in range(2)]
        ),
        op.case("axes", images, src_dims=[2, 0, 1]).equals(
            [images.at(i).reshape(3, *images.at(i).shape[:2]) for i in range(3)]
        ),
        op.case("layout", images, layout="ABC")
        .equals([images.at(i) for i in range(3)])
        .no_oracle(),
        op.case("scalars", scalars, shape=[1, 1]).equals(
            [scalars.at(i).reshape(1, 1) for i in range(2)]
        ),
        op.case("empty", op.samples(), shape=[1]).equals([]),
        op.case("volume", images, shape=[12, 1]).value_error("`shape`"),
        op.case("two free", images, shape=[-1, -1]).value_error("at most one"),
        op.case("nothing", images).value_error("nothing to do"),
        op.case("no such axis", images, src_dims=[0, 1, 3]).value_error("`src_dims`"),
        op.case("letters", images, shape=[-1], layout="HW").value_error("`layout`"),
        op.case(
            "fractions", images, op.samples((3,), (3,), (3,), dtype=op.float32, layout="")
        ).type_error("integers"),
    ]
