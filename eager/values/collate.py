"""Collating: copies the samples that a user gives into one slab, for a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.rows.convert import convert_array
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.support.errors import GradivaError, wrong_value
from gradiva.eager.support.layouts import as_layout
from gradiva.eager.support.validation import integer
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import DType, DTypeLike
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType

from .buffers import device_of, gpu_array, on_cpu, same_dtype, spread
from .interop import (
    ArrayLike,
    SupportsDLPack,
    checked,
    image_layout,
    parts_of,
    prepare,
    same_kind,
    to_array,
)
from .random_origin import EagerRandomOrigin, random_origin_among
from .tensor import Tensor


class BatchFields(NamedTuple):
    """The fields of a batch, in the order in which `Batch` takes them."""

    data: np.ndarray[Any, Any]
    batch_shape: BatchShape
    type: SampleType
    provenance: Provenance | None = None
    drawn_at: EagerRandomOrigin = None

    @staticmethod
    def of(batch: Any) -> BatchFields:
        """The fields of an existing batch."""
        return BatchFields(
            batch.data, batch.batch_shape, batch.type, batch.provenance, batch.drawn_at
        )


def _type(array: np.ndarray[Any, Any], ndim: int, layout: str) -> SampleType:
    where = device_of(array).device_type
    return SampleType(DType.from_numpy(array.dtype), ndim, layout, where)


def repeated(sample: ArrayLike, batch_size: int, dtype: DTypeLike | None) -> BatchFields:
    """`batch_size` samples that all lie where `sample` does. Raises OperatorTypeError or
    OperatorValueError for what is no sample, and for what is no number of samples."""
    count = integer(batch_size, 0, limits="at least 0", argument="batch_size")
    layout = sample.layout if isinstance(sample, Tensor) else ""
    found = gpu_array(sample)
    if found is None:
        array, layout = prepare(to_array(sample, dtype is not None), dtype, layout)
    else:
        same_dtype(found, dtype)
        array = found
    batch_shape = BatchShape.repeated(count, array.shape)
    type, drawn = _type(array, array.ndim, layout), random_origin_among((sample,))
    return BatchFields(array.reshape(-1), batch_shape, type, None, drawn)


def from_array(data: ArrayLike, dtype: DTypeLike | None, layout: str | None) -> BatchFields:
    """The samples along the first axis of an array, in its memory if it has the dtype. layout: of
    a sample, or with "N" before it. Raises OperatorTypeError or OperatorValueError."""
    found = gpu_array(data)
    array = to_array(data) if found is None else found
    if array.ndim == 0:
        raise wrong_value("tensors", "at least one axis, the batch", "a scalar")
    if found is None:
        array, _ = prepare(array, dtype, "")
    else:
        same_dtype(array, dtype)
    if layout and len(layout) == array.ndim and layout[0] == "N":
        layout = layout[1:]
    layout = checked(as_layout, layout or "", array.ndim - 1)
    batch_shape = BatchShape.equal(len(array), array.shape[1:])
    type, drawn = _type(array, array.ndim - 1, layout), random_origin_among((data,))
    return BatchFields(array.reshape(-1), batch_shape, type, None, drawn)


def from_samples(
    tensors: Iterable[ArrayLike] | SupportsDLPack, dtype: DTypeLike | None, layout: str | None
) -> BatchFields:
    """Copies of the samples, in memory of their own. layout: without one, that of the first Tensor,
    or of images of Pillow. Raises OperatorTypeError or OperatorValueError, naming the sample."""
    samples = parts_of(tensors, "tensors")
    stated = layout is not None
    if layout is None:
        layout = next((sample.layout for sample in samples if isinstance(sample, Tensor)), "")
    arrays: list[np.ndarray[Any, Any]] = []
    for number, sample in enumerate(samples):
        try:
            array = gpu_array(sample)
            if array is not None:
                same_dtype(array, dtype)
            else:
                array, _ = prepare(to_array(sample, dtype is not None), dtype, layout)
        except GradivaError as error:
            raise error.complete(sample=number) from None
        same_kind(arrays[0] if arrays else array, array, number)
        arrays.append(array)
    if not arrays:
        checked(as_layout, layout)
        empty = np.empty((0, 1 if not layout else len(layout)), np.int64)
        wanted = checked(DType.of, "uint8" if dtype is None else dtype)
        type = SampleType(wanted, empty.shape[1], layout, "cpu")
        return BatchFields(np.empty(0, wanted.numpy), BatchShape.of(empty), type)
    first = arrays[0]
    places = {device_of(array) for array in arrays}
    if len(places) > 1:
        raise wrong_value(
            "tensors", "samples on one device", " and ".join(sorted(str(place) for place in places))
        )
    if not (stated or layout) and all(image_layout(one, first.ndim) for one in samples):
        layout = image_layout(samples[0], first.ndim)
    shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), first.ndim)
    batch_shape = BatchShape.of(shapes)
    if not on_cpu(first):
        data = spread(arrays, batch_shape.offsets.tolist(), batch_shape.size)
    else:
        data = allocate(batch_shape.size, first.dtype)
        for array, offset in zip(arrays, batch_shape.offsets.tolist(), strict=True):
            data[offset : offset + array.size] = array.reshape(-1)
    type = _type(first, first.ndim, layout)
    return BatchFields(data, batch_shape, type, _provenance(samples), random_origin_among(samples))


def converted(source: BatchFields, dtype: DTypeLike | None, layout: str | None) -> BatchFields:
    """The samples with another dtype and layout; `source` itself if nothing changes."""
    own = source.type.dtype
    assert own is not None
    wanted = own if dtype is None else checked(DType.of, dtype)
    if layout is not None:
        checked(as_layout, layout, source.type.ndim)
    elif wanted is own:
        return source
    if not on_cpu(source.data):
        same_dtype(source.data, dtype)
    type = source.type.with_(dtype=wanted, layout=source.type.layout if layout is None else layout)
    return source._replace(data=convert_array(source.data, wanted.numpy), type=type)


def _provenance(samples: Sequence[ArrayLike]) -> Provenance | None:
    """The files and positions, if all samples have them."""
    parts = [sample.provenance for sample in samples if isinstance(sample, Tensor)]
    known = [part for part in parts if part]
    if len(known) < len(samples):
        return None
    names = [part.name(0) or "" for part in known]
    positions = np.concatenate([part.positions for part in known])
    return Provenance(positions, names, progress=known[0].progress)
