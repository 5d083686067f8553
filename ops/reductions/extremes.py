"""The least and the greatest of values along some axes: `min` and `max`."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .cpu import MAXIMUM, MINIMUM, PLAIN
from .family import Axes, KeepDims, Reduced, cases_along_axes, reduces, type_without_axes


@op.operator("reductions.max", schema="reductions__Max")
@op.uses_arguments(Axes, KeepDims)
def max(input: op.SampleType, /, **options: op.Unpack[Reduced]) -> op.SampleType:
    """Compute the maximum of values along axes.

    NaN does not count, unless there is nothing else. Of no values the result is the lowest number
    of the dtype.

    Returns:
        Samples of the input's dtype.

    Example:
        gradiva.reductions.max(np.float32([[1, 2], [3, 6]]), axes=0)  # [3.0, 6.0]
        brightest = gradiva.reductions.max(gradiva.imread("cat.jpg"), axis_names="HW")
    """
    return type_without_axes(input, options)


reduces(max, MAXIMUM, PLAIN)


@max.cases
def _max_cases() -> list[op.Case]:
    return cases_along_axes(lambda sample, axes, keep: np.max(sample, axes, keepdims=keep))


@op.operator("reductions.min", schema="reductions__Min")
@op.uses_arguments(Axes, KeepDims)
def min(input: op.SampleType, /, **options: op.Unpack[Reduced]) -> op.SampleType:
    """Compute the minimum of values along axes.

    NaN does not count, unless there is nothing else. Of no values the result is the greatest number
    of the dtype.

    Returns:
        Samples of the input's dtype.

    Example:
        gradiva.reductions.min(np.float32([[1, 2], [3, 6]]), axes=0)  # [1.0, 2.0]
        darkest = gradiva.reductions.min(gradiva.imread("cat.jpg"), axis_names="HW")
    """
    return type_without_axes(input, options)


reduces(min, MINIMUM, PLAIN)


@min.cases
def _min_cases() -> list[op.Case]:
    return cases_along_axes(lambda sample, axes, keep: np.min(sample, axes, keepdims=keep))
