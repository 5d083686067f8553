"""What the operators of the family share: arguments, rules, kernels, cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op

from .gpu import call_launches
from .reduce import call_reduction, mean_dtype, reduced_type, shapes_of


@op.argument_group()
class Axes(TypedDict, total=False):
    """
    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """

    axes: op.Ints | None
    axis_names: op.Layout | None


@op.argument_group(keep_dims=False)
class KeepDims(TypedDict, total=False):
    """
    Args:
        keep_dims: leave reduced axes in place, with an extent of 1.
    """

    keep_dims: bool


class Reduced(Axes, KeepDims, op.Common, total=False):
    """What all reductions take."""


def type_without_axes(input: op.SampleType, options: Reduced) -> op.SampleType:
    """The type rule of all reductions, but for the dtype."""
    return reduced_type(input, options["axes"], options["axis_names"], options["keep_dims"])


def type_of_means(
    input: op.SampleType, options: Reduced, dtype: op.DTypeLike | None = None
) -> op.SampleType:
    """The type of means, of this dtype if one is asked for."""
    if dtype is None and input.dtype is not None:
        dtype = mean_dtype(input.dtype)
    return type_without_axes(input, options).with_(dtype=dtype)


def reduces(operator: op.Operator[..., Any], kind: int, ending: int) -> None:
    """Give an operator the shape rule of reductions, and kernels of a kind whose results end in
    some way (see cpu.py)."""
    operator.shapes(shapes_of)
    operator.cpu(lambda call: call_reduction(call, kind, ending))
    operator.gpu(lambda call: call_launches(call, kind, ending))


def cases_along_axes(by_numpy: Callable[[Any, Any, bool], Any]) -> list[op.Case]:
    """The cases of an operator with one input. by_numpy: of a sample, the axes and `keep_dims`, the
    result; float64 becomes float32."""
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (2, 4, 6), dtype=op.int16, layout="CHW")
    frames = op.samples((2, 3, 4, 5), dtype=op.float32, layout="FHWC")
    scalars = op.samples((), (), dtype=op.int16, layout="")

    def reduced(batch: op.Batch, axes: Any, keep_dims: bool = False) -> list[Any]:
        results = [np.asarray(by_numpy(sample, axes, keep_dims)) for sample in batch.arrays()]
        return [one.astype(np.float32) if one.dtype == np.float64 else one for one in results]

    return [
        op.case("default", images).equals(reduced(images, None)),
        op.case("height and width", images, axes=[0, 1]).equals(reduced(images, (0, 1))),
        op.case("channels", images, axis_names="C").equals(reduced(images, 2)),
        op.case("keep_dims", planes, axes=[0, -1], keep_dims=True).equals(
            reduced(planes, (0, 2), True)
        ),
        op.case("no axes", images, axes=[]).equals(reduced(images, ())),
        op.case("frames and width", frames, axis_names="WF").equals(reduced(frames, (0, 2))),
        op.case("scalars", scalars).equals(reduced(scalars, None)),
        op.case("empty batch", op.samples(), axes=[0]).equals([]),
        op.case("no such axis", images, axes=[3]).value_error("`axes`"),
        op.case("an axis twice", images, axes=[0, -3]).value_error("each axis once"),
        op.case("no such letter", images, axis_names="D").value_error("`axis_names`"),
        op.case("axes and names", images, axes=0, axis_names="H").value_error("exclude"),
        op.case("bad axes", images, axes="H").type_error("`axes`"),
    ]
