"""Records of an index: 64 bytes for each entry, with a checksum of their own.

A record says where the data of an entry are in the file of data, and what they are. The dtype and
the layout, which most entries share, are a *kind*: a small text in the file of data, with a record
of its own in front of those that name its number. A shape of more than five axes, or with an extent
of more than 32 bits, is part of the kind.
"""

from __future__ import annotations

import functools
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

_KEY_BYTES: Final = 16
PACKED: Final = 1
FAILURE: Final = 2
KIND: Final = 4
GONE: Final = 1 << 15
"""Flags of a record: its data are packed; they are the facts of a damaged sample, or a kind; in
memory alone: the entry is not there any more."""

_AXES: Final = 5
_LARGEST: Final = (1 << 32) - 1
RECORD: Final = np.dtype(
    [
        ("key", "<u8", _KEY_BYTES // 8),
        ("offset", "<u8"),
        ("stored", "<u8"),
        ("seconds", "<f4"),
        ("kind", "<u2"),
        ("flags", "<u2"),
        ("shape", "<u4", _AXES),
        ("last", "<u4"),
    ]
)
"""As it is in a file. last: the checksum of what is before it; in memory, the number of the
shard."""
RECORD_BYTES: Final = RECORD.itemsize
_RECORD: Final = struct.Struct(f"<{_KEY_BYTES}sQQfHH{_AXES}II")


class Kind(NamedTuple):
    """What many entries have in common. shape: None where each record has its own."""

    dtype: str
    item_bytes: int
    layout: str
    ndim: int
    shape: tuple[int, ...] | None

    def text(self) -> bytes:
        """What is stored of it."""
        return json.dumps(self).encode()


def kind_of(dtype: np.dtype[Any], layout: str, shape: tuple[int, ...]) -> Kind:
    """The kind of a sample."""
    if len(shape) <= _AXES and max(shape, default=0) <= _LARGEST:
        return _usual_kind(dtype, layout, len(shape))
    return Kind(dtype.name, dtype.itemsize, layout, len(shape), shape)


@functools.lru_cache(256)
def _usual_kind(dtype: np.dtype[Any], layout: str, ndim: int) -> Kind:
    return Kind(dtype.name, dtype.itemsize, layout, ndim, None)


def parsed_kind(text: bytes) -> Kind | None:
    """The kind that has this text; None for what is no kind."""
    try:
        dtype, item_bytes, layout, ndim, shape = json.loads(text)
        shape = None if shape is None else tuple(shape)
        extents = (item_bytes, ndim, *(shape or ()))
        good = isinstance(dtype, str) and isinstance(layout, str)
        if not good or any(type(one) is not int or one < 0 for one in extents):
            return None
    except (ValueError, TypeError, RecursionError):
        return None
    if ndim > _AXES if shape is None else ndim != len(shape):
        return None
    return Kind(dtype, item_bytes, layout, ndim, shape)


unpack_record = _RECORD.unpack_from
"""From memory and a place in it to the parts of a record; each axis is one."""
FLAGS: Final = 5
EXTENTS: Final = 6
"""Where the flags and the first extent are among these."""


class NewRecord(NamedTuple):
    """What is in a record. offset, stored: where the data are, and their bytes; shape: None where
    the kind has it."""

    key: bytes
    offset: int
    stored: int
    seconds: float
    kind: int
    flags: int
    shape: tuple[int, ...] | None


def made_records(parts: Sequence[NewRecord], seed: int) -> bytes:
    """Records for a file. seed: of the shard."""
    made = np.zeros(len(parts), RECORD)
    keys, offsets, stored, seconds, kinds, flags, shapes = zip(*parts, strict=True)
    made["key"] = np.frombuffer(b"".join(keys), "<u8").reshape(made["key"].shape)
    made["offset"], made["stored"], made["kind"], made["flags"] = offsets, stored, kinds, flags
    made["seconds"] = np.where(np.isfinite(seconds), seconds, 0.0)
    zeros = (0,) * _AXES
    made["shape"] = [(*shape, *zeros[len(shape) :]) if shape else zeros for shape in shapes]
    view, crc32, size = memoryview(made.tobytes()), zlib.crc32, RECORD_BYTES - 4
    made["last"] = [
        crc32(view[place : place + size], seed) for place in range(0, len(view), RECORD_BYTES)
    ]
    return made.tobytes()


def good_records(data: bytes, seed: int) -> int:
    """How many whole and undamaged records some bytes begin with."""
    view = memoryview(data)
    sums = np.frombuffer(data, RECORD, len(data) // RECORD_BYTES)["last"].tolist()
    crc32, size, place = zlib.crc32, RECORD_BYTES - 4, 0
    for number, found in enumerate(sums):
        if crc32(view[place : place + size], seed) != found:
            return number
        place += RECORD_BYTES
    return len(sums)
