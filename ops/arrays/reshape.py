"""Other shapes, layouts and dtypes for the same bytes: `reshape` and `reinterpret`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .new_shapes import reshaped_type, reshaped_view, wanted_shapes


@op.operator("reshape", schema="Reshape", inputs=(1, 2), bfloat16=True)
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
    """Give the elements of each sample another shape, in their order.

    Nothing is copied: the result shares the memory of the input.

    Args:
        input: any dtype, rank and layout.
        shape_input: the shapes as data, 1-D integers, in place of `shape`.
        shape: extents; one of them may be negative, and is completed. May differ per sample.
        rel_shape: factors by which extents change, rounded half up; one may be negative, and is
            completed; it may have fewer factors than the sample has axes, or more, if those are
            negative. May differ per sample.
        src_dims: the axes whose extents the result has, in this order, -1 for a new axis of extent
            1; `rel_shape` scales what it chooses. With `shape` it has no effect. May differ per
            sample.
        layout: the layout of the result. Without it the layout stays if the number of axes does,
            else there is none; "" drops it.

    Returns:
        The same elements under the new shape.

    Raises:
        OperatorValueError: with the sample, if the shape is for another number of elements or
            ambiguous, if it is given twice or not at all, and for axes that are not there.
        OperatorTypeError: for a second input that is not 1-D integers.

    Example:
        gradiva.reshape(np.arange(6), shape=(2, -1))  # [[0, 1, 2], [3, 4, 5]]
    """
    return reshaped_type(input, shape_input, shape, rel_shape, src_dims, layout)


reshape.shapes(wanted_shapes)
reshape.view(reshaped_view)
reshape.host_from = 1


@reshape.cases
def _reshape_cases() -> list[op.Case]:
    images = op.samples((4, 6, 3), (2, 2, 3), (6, 1, 3))
    uniform = op.samples((4, 6), (4, 6), dtype=op.float32, layout="HW")
    scalars = op.samples((), (), dtype=op.int32, layout="")
    extents = op.samples((2,), (2,), (2,), dtype=op.int32, layout="")
    for i, row in enumerate([[9, 8], [12, 1], [-1, 6]]):
        extents.at(i)[:] = row
    pixels = [images.at(i).reshape(-1, 3) for i in range(3)]
    return [
        op.case("pixels", images, shape=[-1, 3]).equals(pixels),
        op.case("flat", images, shape=[-1], layout="X").each(np.ravel).no_oracle(),
        op.case("uniform", uniform, shape=[8, 3]).each(lambda one: one.reshape(8, 3)),
        op.case("per sample", uniform, shape=np.array([[24, 1], [3, 8]], np.int32)).equals(
            [uniform.at(0).reshape(24, 1), uniform.at(1).reshape(3, 8)]
        ),
        op.case("as data", images, extents)
        .equals(
            [images.at(0).reshape(9, 8), images.at(1).reshape(12, 1), images.at(2).reshape(3, 6)]
        )
        .no_oracle(),
        op.case("factors", uniform, rel_shape=[0.5, 2]).each(lambda one: one.reshape(2, 12)),
        op.case("axes", images, src_dims=[2, 0, 1]).each(
            lambda one: one.reshape(3, *one.shape[:2])
        ),
        op.case("layout", images, layout="ABC").equals(images.arrays()).no_oracle(),
        op.case("scalars", scalars, shape=[1, 1]).each(lambda scalar: scalar.reshape(1, 1)),
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


@op.operator("reinterpret", schema="Reinterpret", inputs=(1, 2), bfloat16=True)
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
    """Read the bytes of each sample as elements of another dtype, under another shape.

    Nothing is copied, except for bool and for memory where the elements would not be aligned. As
    bool, every byte but 0 is True.

    Args:
        input: any dtype, rank and layout.
        dtype: the element type of the result; that of the input by default.
        shape_input, shape, rel_shape, src_dims, layout: as in `reshape`, extents in elements of the
            result; `rel_shape` is relative to the extents of the input. Without them the last
            extent changes with the size of the elements.

    Returns:
        The same bytes, of `dtype`, under the new shape.

    Raises:
        OperatorValueError: with the sample, if the bytes do not fill the shape or the last axis,
            and as `reshape` does.

    Example:
        data = np.uint8([1, 0, 0, 0, 0, 1, 0, 0])
        gradiva.reinterpret(data, dtype="int32")  # [1, 256]
    """
    return reshaped_type(input, shape_input, shape, rel_shape, src_dims, layout, dtype)


reinterpret.shapes(wanted_shapes)
reinterpret.view(reshaped_view)
reinterpret.host_from = 1


@reinterpret.cases
def _reinterpret_cases() -> list[op.Case]:
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
        op.case("to bool", odd, dtype=op.bool_).each(lambda one: one != 0),
        op.case("shape", odd, dtype=op.int16, shape=[-1]).each(lambda a: a.ravel().view(np.int16)),
        op.case("scalars", scalars, dtype=op.float32).equals(viewed(scalars, np.float32)),
        op.case("scalars as bytes", scalars, dtype=op.uint8, shape=[4])
        .each(lambda scalar: scalar.reshape(1).view(np.uint8))
        .no_oracle(),
        op.case("empty", op.samples(), dtype=op.uint8).equals([]),
        op.case("last axis", odd, dtype=op.int32).value_error("sample 0"),
        op.case("scalars that grow", scalars, dtype=op.uint8).value_error("`dtype`"),
        op.case("nothing", images).value_error("nothing to do"),
    ]
