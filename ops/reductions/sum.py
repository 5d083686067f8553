"""`reductions.sum`: the sum of values along some axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .axes import reduced_type
from .cpu import PLAIN
from .gpu import call_launches
from .lanes import SUM
from .reduce import call_reduction, shapes_of, sum_dtype


@op.operator("reductions.sum")
def sum(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    dtype: op.DTypeLike | None = None,
    keep_dims: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The sum of values along some axes.

    input: any dtype, rank and layout.
    axes: which axes to reduce, negative ones counted from the last; all by default, none if empty.
    axis_names: their letters in the input's layout, in place of `axes`.
    dtype: of the output; by default uint64 or int64 for integers, float32 for floats (float64 for
        float64).
    keep_dims: leave reduced axes in place, with an extent of 1.

    Integers are added exactly, in 64 bits; floats in float64, in an order that depends on the
    sample's shape alone. The sum is then converted once, and saturates.

    Returns the other axes, with their letters: scalars if all axes are reduced.
    Raises OperatorValueError for axes that are not there or come twice.
    """
    if dtype is None and input.dtype is not None:
        dtype = sum_dtype(input.dtype)
    return reduced_type(input, axes, axis_names, keep_dims).with_(dtype=dtype)


@sum.shapes
def _shapes(call: op.Call) -> np.ndarray[Any, np.dtype[np.int64]]:
    return shapes_of(call)


@sum.cpu
def _cpu(call: op.Call) -> None:
    call_reduction(call, SUM, PLAIN)


@sum.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    return call_launches(call, SUM, PLAIN)


@sum.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (2, 4, 6), dtype=op.int16, layout="CHW")
    frames = op.samples((2, 3, 4, 5), dtype=op.float32, layout="FHWC")
    scalars = op.samples((), (), dtype=op.int16, layout="")

    def by_numpy(batch: Any, axes: Any, keepdims: bool = False) -> list[Any]:
        return [
            np.asarray(
                np.sum(np.asarray(sample, np.float64), axes, keepdims=keepdims).astype(
                    {"u": np.uint64, "i": np.int64, "f": np.float32}[np.asarray(sample).dtype.kind]
                )
            )
            for sample in batch
        ]

    return [
        op.case("default", images).equals(by_numpy(images, None)),
        op.case("height and width", images, axes=[0, 1]).equals(by_numpy(images, (0, 1))),
        op.case("channels", images, axis_names="C").equals(by_numpy(images, 2)),
        op.case("keep_dims", planes, axes=[0, -1], keep_dims=True).equals(
            by_numpy(planes, (0, 2), True)
        ),
        op.case("no axes", images, axes=[]).equals(by_numpy(images, ())),
        op.case("frames and width", frames, axis_names="WF").equals(by_numpy(frames, (0, 2))),
        op.case("scalars", scalars).equals(by_numpy(scalars, None)),
        op.case("saturates", op.samples((9, 9, 3), low=200, high=200), dtype=op.uint8)
        .equals([np.asarray(np.uint8(255))])
        .no_oracle(),
        op.case("empty batch", op.samples(), axes=[0]).equals([]),
        op.case("no such axis", images, axes=[3]).value_error("`axes`"),
        op.case("an axis twice", images, axes=[0, -3]).value_error("each axis once"),
        op.case("no such letter", images, axis_names="D").value_error("`axis_names`"),
        op.case("axes and names", images, axes=0, axis_names="H").value_error("exclude"),
        op.case("bad axes", images, axes="H").type_error("`axes`"),
    ]
