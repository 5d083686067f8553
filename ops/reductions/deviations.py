"""Distances from given means along some axes: `variance` and `std_dev`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op

from .cpu import DEVIATIONS, MEAN, ROOT
from .family import Axes, KeepDims, Reduced, reduces, type_of_means


@op.argument_group(ddof=0)
class Deviations(TypedDict, total=False):
    """
    The distances are added in float64, in an order that depends on the sample's shape alone; the
    result is rounded once. Without values left to divide by it is infinite or NaN.

    Args:
        mean: one number, or one for each result, with the reduced axes or without them; any dtype.
        ddof: taken from the number of values, by which their sum is divided.

    Returns:
        The dtype is float32, float64 for float64.

    Raises:
        OperatorValueError: for means of another shape.
    """

    ddof: int


class ReducedAround(Deviations, Reduced, total=False):
    """What both operators take."""


@op.operator("reductions.variance", schema="reductions__Variance", inputs=2)
@op.uses_arguments(Axes, Deviations, KeepDims)
def variance(
    input: op.SampleType, mean: op.SampleType, /, **options: op.Unpack[ReducedAround]
) -> op.SampleType:
    """Compute the variance along axes: the mean squared distance of values from given means.

    Example:
        values = np.float32([[1, 2], [3, 6]])
        gradiva.reductions.variance(values, gradiva.reductions.mean(values, axes=0), axes=0)
        # [1.0, 4.0]
    """
    return type_of_means(input, options)


reduces(variance, DEVIATIONS, MEAN)


@op.operator("reductions.std_dev", schema="reductions__StdDev", inputs=2)
@op.uses_arguments(Axes, Deviations, KeepDims)
def std_dev(
    input: op.SampleType, mean: op.SampleType, /, **options: op.Unpack[ReducedAround]
) -> op.SampleType:
    """Compute the standard deviation along axes: the root of the variance about given means.

    Example:
        values = np.float32([[1, 2], [3, 6]])
        gradiva.reductions.std_dev(values, gradiva.reductions.mean(values, axes=0), axes=0)
        # [1.0, 2.0]
    """
    return type_of_means(input, options)


reduces(std_dev, DEVIATIONS, ROOT)


variance.cases(lambda: _cases(np.asarray))
std_dev.cases(lambda: _cases(np.sqrt))


def _cases(ending: Callable[[Any], Any]) -> list[op.Case]:
    """ending: what the mean of squares becomes."""
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = op.samples((3, 4, 5), (2, 4, 6), dtype=op.int16, layout="CHW")
    scalars = op.samples((), (), dtype=op.int16, layout="")

    def by_numpy(batch: Any, means: Any, axes: Any, ddof: int = 0) -> list[Any]:
        result = []
        for sample, mean in zip(batch, means, strict=True):
            deviation = np.asarray(sample, np.float64) - np.asarray(mean, np.float64)
            count = deviation.size // max(1, deviation.sum(axes).size) - ddof
            result.append(np.asarray(ending((deviation**2).sum(axes) / count), np.float32))
        return result

    halves = op.samples((3,), (3,), (3,), low=100, high=130, layout="C")
    rows = op.samples((4, 5), (4, 6), dtype=op.float32, layout="HW")
    deep = op.samples((3, 1, 1), (2, 1, 1), dtype=op.float32, layout="CHW")
    one = [128.0] * 3
    return [
        op.case("one mean", images, np.float32(128)).equals(by_numpy(images, one, None)),
        op.case("a mean per channel", images, halves, axes=[0, 1])
        .equals(by_numpy(images, halves, (0, 1)))
        .no_oracle(),
        op.case("ddof", planes, rows, axis_names="C", ddof=1).equals(by_numpy(planes, rows, 0, 1)),
        op.case("kept axes", planes, deep, axes=[1, 2]).equals(by_numpy(planes, deep, (1, 2))),
        op.case("scalars", scalars, 3.0).equals(by_numpy(scalars, [3.0] * 2, None)),
        op.case(
            "float64", op.samples((5,), dtype=op.float64, layout=""), 0.5, keep_dims=True
        ).no_oracle(),
        op.case("empty batch", op.samples(), 0.0, axes=[0]).equals([]),
        op.case("mean of another shape", images, rows.tensors[0], axes=[0, 1]).value_error(
            "mean has the wrong shape"
        ),
        op.case("no such axis", images, 0.0, axes=[3]).value_error("`axes`"),
        op.case("axes and names", images, 0.0, axes=0, axis_names="H").value_error("exclude"),
        op.case("fraction as ddof", images, 0.0, ddof=0.5).type_error("`ddof`"),
    ]
