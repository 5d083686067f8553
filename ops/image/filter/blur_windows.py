"""What `gaussian_blur` and `laplacian` share: windows that move along the axes D, H and W."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.dtypes import dtypes

_DTYPES: Final = tuple(dtype for dtype in dtypes if dtype is not op.bool_)


def blurred_type(input: op.SampleType, dtype: op.DTypeLike | None) -> op.SampleType:
    """The type rule: any dtype but bool, and the outputs in it or in float32."""
    op.require_dtype(input, _DTYPES)
    if input.layout == "":
        op.require_ndim(input, (1, 2, 3))
    else:
        filtered_axes(input.layout, (1, 2, 3))
    return own_or_float32(input, dtype)


def filtered_axes(layout: str | None, counts: tuple[int, ...]) -> tuple[int, int]:
    """The first of the axes that windows move along, and that after the last: all of them between
    F and C in front, once each, and C at the end.

    Raises OperatorTypeError unless there are as many as one of `counts`.
    """
    if layout is None:
        return 0, 0
    first = len(layout) - len(layout.lstrip("FC"))
    last = len(layout) - layout.endswith("C")
    separated = layout.count("C") <= 1 and not {"C", "F"} & set(layout[first:last])
    if layout.count("F") > 1 or not separated or last - first not in counts:
        numbers = " or ".join(map(str, counts))
        raise op.OperatorTypeError(
            "the input has a layout this operator does not take",
            expected=f"{numbers} axes such as HW, behind F or C or in front of C",
            got=repr(layout),
        )
    return first, last


def extents_of(layout: str, shapes: op.Int64Array) -> tuple[op.Int64Array, int]:
    """Samples as (planes, D, H, W, C), and how many of the axes D, H, W there are."""
    first, last = filtered_axes(layout, (1, 2, 3)) if layout else (0, shapes.shape[1])
    extents = np.ones((len(shapes), 5), np.int64)
    extents[:, 0] = shapes[:, :first].prod(axis=1)
    extents[:, 4 - (last - first) : 4] = shapes[:, first:last]
    extents[:, 4] = shapes[:, last:].prod(axis=1)
    return extents, last - first


def per_axis(name: str, values: Any, axes: int, count: int) -> Array:
    """(N, axes) of what was given, one number or one per axis; zeros if nothing was."""
    if values is None:
        return np.zeros((count, axes))
    if values.shape[1] not in (1, axes):
        raise op.wrong_value(name, f"one number or {axes}, one per axis", values.shape[1])
    return np.broadcast_to(values, (count, axes))
