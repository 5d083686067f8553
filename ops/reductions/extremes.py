"""The least and the greatest of values along some axes: `min` and `max`."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .cpu import MAXIMUM, MINIMUM, PLAIN
from .family import cases_along_axes, reduces
from .reduce import reduced_type


@op.operator("reductions.max", schema="reductions__Max")
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

    NaN does not count, unless there is nothing else. Of no values the result is the lowest number
    of the dtype.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.
        keep_dims: leave reduced axes in place, with an extent of 1.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced. The dtype is the
        input's.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """
    return reduced_type(input, axes, axis_names, keep_dims)


reduces(max, MAXIMUM, PLAIN)


@max.cases
def _max_cases() -> list[op.Case]:
    return cases_along_axes(lambda sample, axes, keep: np.max(sample, axes, keepdims=keep))


@op.operator("reductions.min", schema="reductions__Min")
def min(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    keep_dims: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The least of the values along some axes.

    NaN does not count, unless there is nothing else. Of no values the result is the greatest number
    of the dtype.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.
        keep_dims: leave reduced axes in place, with an extent of 1.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced. The dtype is the
        input's.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """
    return reduced_type(input, axes, axis_names, keep_dims)


reduces(min, MINIMUM, PLAIN)


@min.cases
def _min_cases() -> list[op.Case]:
    return cases_along_axes(lambda sample, axes, keep: np.min(sample, axes, keepdims=keep))
