"""Views: outputs in the memory of an input, under other shapes or as another dtype.

The memory is leased as long as a view on it is there, so nothing has to be kept by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .batch import Batch
from .dtypes import DType, bool_
from .geometry import Geometry, Int64Array
from .value import SampleType

__all__ = ["view_of"]


def view_of(source: Batch, type: SampleType, geometry: Geometry) -> Batch:
    """The bytes of each sample of `source` as a sample of `type`, with the shape that `geometry`
    says; as many bytes as before.

    Memory is copied only where it does not suit the dtype: if its elements would not be aligned,
    and for bool, which NumPy knows as 0 and 1 alone.
    """
    assert type.dtype is not None
    data, offsets = source.data, source.geometry.offsets
    if type.dtype is not source.dtype:
        viewed = _as_dtype(source, type.dtype)
        if viewed is None:
            return _copied(source, type, geometry)
        data, offsets = viewed
    if geometry.size <= data.size and np.array_equal(geometry.offsets, offsets):
        data = data[: geometry.size]
    else:
        geometry = Geometry(geometry.shapes, offsets, data.size, geometry.uniform, False, False)
    return Batch(data, geometry, type, source.provenance)


def _as_dtype(source: Batch, dtype: DType) -> tuple[np.ndarray[Any, Any], Int64Array] | None:
    """The slab and the offsets in elements of `dtype`; None if the memory does not suit it."""
    raw = source.data.view(np.uint8)
    starts = source.geometry.offsets * source.dtype.itemsize
    size = dtype.itemsize
    if dtype is bool_ or raw.ctypes.data % size or (starts % size).any():
        return None
    return raw[: raw.size // size * size].view(dtype.numpy), starts // size


def _copied(source: Batch, type: SampleType, geometry: Geometry) -> Batch:
    result = Batch.empty(geometry, type, source.provenance)
    for target, sample in zip(result.arrays(), source.arrays(), strict=True):
        raw = sample.reshape(-1).view(np.uint8)
        if type.dtype is bool_:
            np.not_equal(raw, 0, out=target.reshape(-1))
        else:
            target.reshape(-1).view(np.uint8)[...] = raw
    return result
