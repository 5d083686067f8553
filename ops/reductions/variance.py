"""`reductions.variance`: the mean of squared distances from given means, along some axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.operators.arguments import Ints, Layout
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.dtypes import float32, float64, int16
from gradiva.eager.types.sample_type import SampleType

from .axes import reduced_type
from .cpu import MEAN
from .gpu import call_launches
from .lanes import DEVIATIONS
from .reduce import call_reduction, mean_dtype, shapes_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["variance"]


@operator("reductions.variance", inputs=2)
def variance(
    input: SampleType,
    mean: SampleType,
    /,
    *,
    axes: Ints | None = None,
    axis_names: Layout | None = None,
    ddof: int = 0,
    keep_dims: bool = False,
    **common: Unpack[Common],
) -> SampleType:
    """The mean of the squared distances of values from given means, along some axes.

    input: any dtype, rank and layout.
    mean: one number, or one for each result, with the reduced axes or without them; any dtype.
    axes: which axes to reduce, negative ones counted from the last; all by default, none if empty.
    axis_names: their letters in the input's layout, in place of `axes`.
    ddof: taken from the number of values, by which their sum is divided.
    keep_dims: leave reduced axes in place, with an extent of 1.

    The distances are added in float64, in an order that depends on the sample's shape alone; the
    result is rounded once. Without values left to divide by it is infinite or NaN.

    Returns the other axes, with their letters: scalars if all axes are reduced. The dtype is
    float32, float64 for float64.
    Raises OperatorValueError for axes that are not there or come twice,
    and for means of another shape.
    """
    result = reduced_type(input, axes, axis_names, keep_dims)
    return result if input.dtype is None else result.with_(dtype=mean_dtype(input.dtype))


@variance.shapes
def _shapes(call: Call) -> np.ndarray[Any, np.dtype[np.int64]]:
    return shapes_of(call)


@variance.cpu
def _cpu(call: Call) -> None:
    call_reduction(call, DEVIATIONS, MEAN)


@variance.gpu
def _gpu(call: Call) -> list[Launch]:
    return call_launches(call, DEVIATIONS, MEAN)


@variance.cases
def _cases() -> list[Case]:
    images = samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    planes = samples((3, 4, 5), (2, 4, 6), dtype=int16, layout="CHW")
    scalars = samples((), (), dtype=int16, layout="")

    def by_numpy(batch: Any, means: Any, axes: Any, ddof: int = 0) -> list[Any]:
        result = []
        for sample, mean in zip(batch, means, strict=True):
            apart = np.asarray(sample, np.float64) - np.asarray(mean, np.float64)
            count = apart.size // max(1, apart.sum(axes).size) - ddof
            result.append(np.asarray((apart**2).sum(axes) / count, np.float32))
        return result

    halves = samples((3,), (3,), (3,), low=100, high=130, layout="C")
    rows = samples((4, 5), (4, 6), dtype=float32, layout="HW")
    deep = samples((3, 1, 1), (2, 1, 1), dtype=float32, layout="CHW")
    one = [128.0] * 3
    return [
        case("one mean", images, np.float32(128)).equals(by_numpy(images, one, None)),
        case("a mean per channel", images, halves, axes=[0, 1])
        .equals(by_numpy(images, halves, (0, 1)))
        .no_oracle(),
        case("ddof", planes, rows, axis_names="C", ddof=1).equals(by_numpy(planes, rows, 0, 1)),
        case("kept axes", planes, deep, axes=[1, 2]).equals(by_numpy(planes, deep, (1, 2))),
        case("scalars", scalars, 3.0).equals(by_numpy(scalars, [3.0] * 2, None)),
        case("float64", samples((5,), dtype=float64, layout=""), 0.5, keep_dims=True).no_oracle(),
        case("empty batch", samples(), 0.0, axes=[0]).equals([]),
        case("mean of another shape", images, rows.tensors[0], axes=[0, 1]).value_error(
            "mean has the wrong shape"
        ),
        case("no such axis", images, 0.0, axes=[3]).value_error("`axes`"),
        case("axes and names", images, 0.0, axes=0, axis_names="H").value_error("exclude"),
        case("fraction as ddof", images, 0.0, ddof=0.5).type_error("`ddof`"),
    ]
