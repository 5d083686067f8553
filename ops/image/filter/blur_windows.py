"""What `gaussian_blur` and `laplacian` share: windows that move along the axes D, H and W."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.type_rules import own_or_float32
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.dtypes import dtypes

_LAYOUTS: Final = (
    "HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW", "FHW", "DHWC", "CDHW", "DHW",
    "FDHWC", "FCDHW", "CFDHW", "FDHW", "WC", "CW", "W", "FWC", "FCW", "CFW", "FW",
)  # fmt: skip
_DTYPES: Final = tuple(dtype for dtype in dtypes if dtype is not op.bool_)


def blurred_type(input: op.SampleType, dtype: op.DTypeLike | None) -> op.SampleType:
    """The type rule: any dtype but bool, and the outputs in it or in float32."""
    op.require_dtype(input, _DTYPES)
    if input.layout == "":
        op.require_ndim(input, (1, 2, 3))
    else:
        op.require_layout(input, _LAYOUTS)
    return own_or_float32(input, dtype)


def extents_of(layout: str, shapes: op.Int64Array) -> tuple[op.Int64Array, int]:
    """Samples as (planes, D, H, W, C), and how many of the axes D, H, W there are."""
    letters = layout or "DHW"[3 - shapes.shape[1] :]
    first = next(axis for axis, letter in enumerate(letters) if letter in "DHW")
    last = letters.index("W") + 1
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
