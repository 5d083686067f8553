"""The fields of protobuf messages, and the tensors that are in those of Caffe and Caffe2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.batch_shape import fault_of


def damaged(what: str) -> op.SampleDataError:
    return op.SampleDataError(f"a damaged record: {what}")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of at most ten bytes, and the place behind it. Raises SampleDataError."""
    value = 0
    for index, byte in enumerate(data[place : place + 10]):
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value & (1 << 64) - 1, place + index + 1
    raise damaged(f"its message, at byte {place}")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: an integer, or bytes. Raises SampleDataError."""
    place = 0
    while place < len(data):
        key, begin = _varint(data, place)
        number, wire = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise damaged(f"its message, at byte {place}")
        if wire == 0:
            value, place = _varint(data, begin)
            yield number, value
            continue
        if wire == 2:
            size, begin = _varint(data, begin)
        else:
            size = {1: 8, 5: 4}.get(wire, len(data) + 1)
        if size > len(data) - begin:
            raise damaged(f"its message, at byte {place}")
        place = begin + size
        yield number, data[begin:place]


def numbers_of(values: list[int | bytes], dtype: str) -> Array:
    """The values of a repeated field, packed or not: "<f4", "<i4" or "<i8". Raises
    SampleDataError."""
    parts: list[Array] = []
    single: list[int] = []
    for value in values:
        if isinstance(value, int):
            single.append(value)
        elif dtype == "<f4":
            if len(value) % 4:
                raise damaged("half a number in it")
            parts.append(np.frombuffer(value, "<f4"))
        else:
            place = 0
            while place < len(value):
                number, place = _varint(value, place)
                single.append(number)
    if dtype == "<f4":
        if single:
            raise damaged("a number of another type in it")
        return np.concatenate(parts).astype(np.float32) if parts else np.empty(0, np.float32)
    integers = np.array(single, np.uint64).astype(np.int64)
    return integers.astype(np.int32) if dtype == "<i4" else integers


def shaped(values: Array, shape: tuple[int, ...], what: str) -> Array:
    """The values in a shape. Raises SampleDataError for another number of them."""
    count = 1
    for extent in shape:
        count *= extent
    if min(shape, default=0) < 0 or count != values.size:
        raise op.SampleDataError(
            f"a damaged record: {what}", expected=f"{list(shape)}", got=f"{values.size} values"
        )
    if fault := fault_of(shape):
        raise op.SampleDataError(f"a damaged record: {what}: {fault}")
    return values.reshape(shape)
