"""`reductions.max`: the greatest of the values along some axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .axes import reduced_type
from .cpu import PLAIN
from .gpu import call_launches
from .lanes import MAXIMUM
from .reduce import call_reduction, shapes_of


@op.operator("reductions.max")
def max(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    keep_dims: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The greatest of the values along some axes.

    input: any dtype, rank and layout.
    axes: which axes to reduce, negative ones counted from the last; all by default, none if empty.
    axis_names: their letters in the input's layout, in place of `axes`.
    keep_dims: leave reduced axes in place, with an extent of 1.

    NaN does not count, unless there is nothing else. Of no values the result is the lowest number
    of the dtype.

    Returns the other axes, with their letters: scalars if all axes are reduced. The dtype is the
    input's.
    Raises OperatorValueError for axes that are not there or come twice.
    """
    return reduced_type(input, axes, axis_names, keep_dims)


@max.shapes
def _shapes(call: op.Call) -> np.ndarray[Any, np.dtype[np.int64]]:
    return shapes_of(call)


@max.cpu
def _cpu(call: op.Call) -> None:
    call_reduction(call, MAXIMUM, PLAIN)


@max.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    return call_launches(call, MAXIMUM, PLAIN)


@max.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (2, 4, 6), dtype=op.int16, layout="CHW")
    frames = op.samples((2, 3, 4, 5), dtype=op.float32, layout="FHWC")
    scalars = op.samples((), (), dtype=op.int16, layout="")

    def by_numpy(batch: Any, axes: Any, keepdims: bool = False) -> list[Any]:
        return [np.asarray(np.max(np.asarray(sample), axes, keepdims=keepdims)) for sample in batch]

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
        op.case("empty batch", op.samples(), axes=[0]).equals([]),
        op.case("no such axis", images, axes=[3]).value_error("`axes`"),
        op.case("an axis twice", images, axes=[0, -3]).value_error("each axis once"),
        op.case("no such letter", images, axis_names="D").value_error("`axis_names`"),
        op.case("axes and names", images, axes=0, axis_names="H").value_error("exclude"),
        op.case("bad axes", images, axes="H").type_error("`axes`"),
    ]
