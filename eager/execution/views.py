"""Views: outputs in the memory of an input, under other shapes or as another dtype.

The memory is leased as long as a view on it is there, so nothing has to be kept by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.gpu.copies import move_launch, piece_launches
from gradiva.eager.types.batch_shape import Geometry, Int64Array
from gradiva.eager.types.dtypes import DType, bool_, uint8
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu

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
    raw: Any = source.data.view(np.uint8)
    starts = source.geometry.offsets * source.dtype.itemsize
    size = dtype.itemsize
    address = raw.ctypes.data if on_cpu(raw) else raw.address
    if dtype is bool_ or address % size or (starts % size).any():
        return None
    return raw[: raw.size // size * size].view(dtype.numpy), starts // size


def _copied(source: Batch, type: SampleType, geometry: Geometry) -> Batch:
    result = Batch.empty(geometry, type, source.provenance, source.device)
    if not on_cpu(source.data):
        _copy_there(source, result)
        return result
    for target, sample in zip(result.arrays(), source.arrays(), strict=True):
        raw = sample.reshape(-1).view(np.uint8)
        if type.dtype is bool_:
            np.not_equal(raw, 0, out=target.reshape(-1))
        else:
            target.reshape(-1).view(np.uint8)[...] = raw
    return result


def _copy_there(source: Batch, result: Batch) -> None:
    """The same on a GPU."""
    raw = source.data.view(np.uint8)
    starts = source.geometry.offsets * source.dtype.itemsize
    size = result.dtype.itemsize
    sizes = result.geometry.volumes * size
    if result.dtype is bool_:
        bytes_of = Batch(raw, result.geometry, result.type.with_(dtype=uint8))
        lengths = sizes[:, None]
        launches = [move_launch(bytes_of, result, starts, lengths, np.ones_like(lengths))]
    else:
        places = result.geometry.offsets * size
        launches = piece_launches([raw], result.data, (0, starts, places, sizes))
    slab: Any = result.data
    slab.block.stream.gpu.run(launches)
