"""Sums and means of values along some axes: `sum`, `mean`, `mean_square` and `rms`."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from gradiva.eager import extension as op

from .cpu import MEAN, PLAIN, ROOT, SQUARES, SUM
from .family import (
    Axes,
    KeepDims,
    Reduced,
    cases_along_axes,
    reduces,
    type_of_means,
    type_without_axes,
)
from .reduce import sum_dtype


@op.operator("reductions.sum", schema="reductions__Sum")
@op.uses_arguments(Axes, "dtype", KeepDims)
def sum(
    input: op.SampleType, /, *, dtype: op.DTypeLike | None = None, **options: op.Unpack[Reduced]
) -> op.SampleType:
    """Compute the sum of values along axes.

    Integers are added exactly, in 64 bits; floats in float64, in an order that depends on the
    sample's shape alone. The sum is then converted once, and saturates.

    Args:
        dtype: the element type of the output; by default uint64 or int64 for integers, float32 for
            floats (float64 for float64).

    Example:
        gradiva.reductions.sum(np.float32([[1, 2], [3, 6]]), axes=0)  # [4.0, 8.0]
    """
    if dtype is None and input.dtype is not None:
        dtype = sum_dtype(input.dtype)
    return type_without_axes(input, options).with_(dtype=dtype)


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


@op.argument_group()
class Average(TypedDict, total=False):
    """
    Args:
        dtype: the element type of the output; by default float32 (float64 for float64).
    """

    dtype: op.DTypeLike | None


class Averaged(Average, Reduced, total=False):
    """What all means take."""


@op.operator("reductions.mean", schema="reductions__Mean")
@op.uses_arguments(Axes, Average, KeepDims)
def mean(input: op.SampleType, /, **options: op.Unpack[Averaged]) -> op.SampleType:
    """Compute the mean of values along axes.

    Integers up to 16 bits are added exactly, others in float64, in an order that depends on the
    sample's shape alone; the mean is rounded once. That of no values is NaN, 0 as an integer.

    Example:
        gradiva.reductions.mean(np.float32([[1, 2], [3, 6]]), axes=0)  # [2.0, 4.0]
        color = gradiva.reductions.mean(gradiva.imread("cat.jpg"), axis_names="HW")
    """
    return type_of_means(input, options, options["dtype"])


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
@op.uses_arguments(Axes, Average, KeepDims)
def mean_square(input: op.SampleType, /, **options: op.Unpack[Averaged]) -> op.SampleType:
    """Compute the mean of the squares of values along axes.

    Squares of 8-bit integers are added exactly, others in float64, in an order that depends on the
    sample's shape alone; the result is rounded once. That of no values is NaN, 0 as an integer.

    Example:
        gradiva.reductions.mean_square(np.float32([[1, 2], [3, 6]]), axes=0)  # [5.0, 20.0]
    """
    return type_of_means(input, options, options["dtype"])


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
@op.uses_arguments(Axes, Average, KeepDims)
def rms(input: op.SampleType, /, **options: op.Unpack[Averaged]) -> op.SampleType:
    """Compute the root mean square of values along axes.

    Squares of 8-bit integers are added exactly, others in float64, in an order that depends on the
    sample's shape alone; the result is rounded once. That of no values is NaN, 0 as an integer.

    Example:
        gradiva.reductions.rms(np.float32([[3, 4], [3, 4]]), axes=0)  # [3.0, 4.0]
    """
    return type_of_means(input, options, options["dtype"])


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
