"""Views: outputs in the memory of an input, with other shapes or another dtype.

Memory is leased as long as a view of it exists, so it does not have to be kept alive explicitly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import DType, bool_, uint8
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.buffers import on_cpu

from .gpu_copies import move_launch, piece_launches


def view_of(source: Batch, type: SampleType, batch_shape: BatchShape) -> Batch:
    """The bytes of each sample of `source` as a sample of `type`, with the shape that `batch_shape`
    says; as many bytes as before.

    Memory is copied only where it does not suit the dtype: if its elements would not be aligned,
    and for bool, which NumPy knows as 0 and 1 alone.
    """
    assert type.dtype is not None
    data, offsets = source.data, source.batch_shape.offsets
    if type.dtype is not source.dtype:
        viewed = _as_dtype(source, type.dtype)
        if viewed is None:
            return _copied(source, type, batch_shape)
        data, offsets = viewed
    if batch_shape.size <= data.size and np.array_equal(batch_shape.offsets, offsets):
        data = data[: batch_shape.size]
    else:
        batch_shape = BatchShape(
            batch_shape.shapes, offsets, data.size, batch_shape.uniform, False, False
        )
    return Batch.over(data, batch_shape, type, source.provenance)


def _as_dtype(source: Batch, dtype: DType) -> tuple[np.ndarray[Any, Any], Int64Array] | None:
    """The slab, and the offsets in elements of `dtype`; None if the memory is not aligned for
    it."""
    raw: Any = source.data.view(np.uint8)
    starts = source.batch_shape.offsets * source.dtype.itemsize
    size = dtype.itemsize
    address = raw.ctypes.data if on_cpu(raw) else raw.address
    if dtype is bool_ or address % size or (starts % size).any():
        return None
    return raw[: raw.size // size * size].view(dtype.numpy), starts // size


def _copied(source: Batch, type: SampleType, batch_shape: BatchShape) -> Batch:
    result = Batch.empty(batch_shape, type, source.provenance, source.device)
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
    starts = source.batch_shape.offsets * source.dtype.itemsize
    size = result.dtype.itemsize
    sizes = result.batch_shape.volumes * size
    if result.dtype is bool_:
        bytes_of = Batch.over(raw, result.batch_shape, result.type.with_(dtype=uint8))
        lengths = sizes[:, None]
        launches = [move_launch(bytes_of, result, starts, lengths, np.ones_like(lengths))]
    else:
        places = result.batch_shape.offsets * size
        launches = piece_launches([raw], result.data, (0, starts, places, sizes))
    slab: Any = result.data
    slab.block.stream.gpu.run(launches)
