"""Sums and means of values along some axes: `sum`, `mean`, `mean_square` and `rms`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op

from .cpu import MEAN, PLAIN, ROOT, SQUARES, SUM
from .family import cases_along_axes, reduces
from .reduce import mean_dtype, reduced_type, sum_dtype


@op.operator("reductions.sum", schema="reductions__Sum")
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

    Integers are added exactly, in 64 bits; floats in float64, in an order that depends on the
    sample's shape alone. The sum is then converted once, and saturates.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.
        dtype: of the output; by default uint64 or int64 for integers, float32 for floats (float64
            for float64).
        keep_dims: leave reduced axes in place, with an extent of 1.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """
    if dtype is None and input.dtype is not None:
        dtype = sum_dtype(input.dtype)
    return reduced_type(input, axes, axis_names, keep_dims).with_(dtype=dtype)


reduces(sum, SUM, PLAIN)


@sum.cases
def _sum_cases() -> list[op.Case]:
    widest = {"u": np.uint64, "i": np.int64, "f": np.float32}

    def by_numpy(sample: Any, axes: Any, keepdims: bool) -> Any:
        total = np.sum(np.asarray(sample, np.float64), axes, keepdims=keepdims)
        return np.asarray(total.astype(widest[np.asarray(sample).dtype.kind]))

    return [
        *cases_along_axes(by_numpy),
        op.case("saturates", op.samples((9, 9, 3), low=200, high=200), dtype=op.uint8)
        .equals([np.asarray(np.uint8(255))])
        .no_oracle(),
    ]


@op.operator("reductions.mean", schema="reductions__Mean")
def mean(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    dtype: op.DTypeLike | None = None,
    keep_dims: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The mean of values along some axes.

    Integers up to 16 bits are added exactly, others in float64, in an order that depends on the
    sample's shape alone; the mean is rounded once. That of no values is NaN, 0 as an integer.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.
        dtype: of the output; by default float32 (float64 for float64).
        keep_dims: leave reduced axes in place, with an extent of 1.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """
    if dtype is None and input.dtype is not None:
        dtype = mean_dtype(input.dtype)
    return reduced_type(input, axes, axis_names, keep_dims).with_(dtype=dtype)


reduces(mean, SUM, MEAN)


@mean.cases
def _mean_cases() -> list[op.Case]:
    def by_numpy(sample: Any, axes: Any, keepdims: bool) -> Any:
        return np.mean(np.asarray(sample, np.float64), axes, keepdims=keepdims)

    sevens = op.samples((2, 2, 3), low=7, high=7)
    return [
        *cases_along_axes(by_numpy),
        op.case("to uint8", sevens, dtype=op.uint8).equals([np.asarray(np.uint8(7))]),
    ]


@op.operator("reductions.mean_square", schema="reductions__MeanSquare")
def mean_square(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    dtype: op.DTypeLike | None = None,
    keep_dims: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The mean of the squares of values along some axes.

    Squares of 8-bit integers are added exactly, others in float64, in an order that depends on the
    sample's shape alone; the result is rounded once. That of no values is NaN, 0 as an integer.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.
        dtype: of the output; by default float32 (float64 for float64).
        keep_dims: leave reduced axes in place, with an extent of 1.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """
    if dtype is None and input.dtype is not None:
        dtype = mean_dtype(input.dtype)
    return reduced_type(input, axes, axis_names, keep_dims).with_(dtype=dtype)


reduces(mean_square, SQUARES, MEAN)


def _mean_of_squares(sample: Any, axes: Any, keepdims: bool) -> Any:
    """In float64."""
    return np.mean(np.asarray(sample, np.float64) ** 2, axes, keepdims=keepdims)


@mean_square.cases
def _mean_square_cases() -> list[op.Case]:
    sevens = op.samples((2, 2, 3), low=7, high=7)
    return [
        *cases_along_axes(_mean_of_squares),
        op.case("to uint64", sevens, dtype=op.uint64).equals([np.asarray(np.uint64(49))]),
    ]


@op.operator("reductions.rms", schema="reductions__RMS")
def rms(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    dtype: op.DTypeLike | None = None,
    keep_dims: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """The root of the mean of the squares of values along some axes.

    Squares of 8-bit integers are added exactly, others in float64, in an order that depends on the
    sample's shape alone; the result is rounded once. That of no values is NaN, 0 as an integer.

    Args:
        input: any dtype, rank and layout.
        axes: which axes to reduce, negative ones counted from the last; all by default, none if
            empty.
        axis_names: their letters in the input's layout, in place of `axes`.
        dtype: of the output; by default float32 (float64 for float64).
        keep_dims: leave reduced axes in place, with an extent of 1.

    Returns:
        The other axes, with their letters: scalars if all axes are reduced.

    Raises:
        OperatorValueError: for axes that are not there or come twice.
    """
    if dtype is None and input.dtype is not None:
        dtype = mean_dtype(input.dtype)
    return reduced_type(input, axes, axis_names, keep_dims).with_(dtype=dtype)


reduces(rms, SQUARES, ROOT)


@rms.cases
def _rms_cases() -> list[op.Case]:
    def by_numpy(sample: Any, axes: Any, keepdims: bool) -> Any:
        return np.sqrt(_mean_of_squares(sample, axes, keepdims))

    sevens = op.samples((2, 2, 3), low=7, high=7)
    return [
        *cases_along_axes(by_numpy),
        op.case("to uint8", sevens, dtype=op.uint8).equals([np.asarray(np.uint8(7))]).no_oracle(),
    ]
