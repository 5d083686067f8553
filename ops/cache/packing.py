"""LZ4 for entries that become very small by it, such as masks.

What is in the page cache is read and verified faster than LZ4 unpacks all but the simplest data
(benchmarks on one core: 7 to 8 GB/s, against 2 GB/s at a quarter of the size and 12 GB/s at a
fiftieth), and kernels read it without the interpreter. So only what becomes a quarter is packed.

A packed entry is a table of the sizes of its blocks, uint32, and the blocks, one LZ4 block for each
64 KiB. The checksums are those of the packed bytes: what is damaged is never unpacked.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager.support.lazy_import import can_import, lazy_module
from gradiva.eager.types.arrays import Array

from .checksums import BLOCK, block_count

__all__ = ["GROWTH", "can_pack", "packed", "unpack"]

lz4 = lazy_module("lz4.block", "lz4")

GROWTH: Final = 255
"""No LZ4 block has more bytes than it is long, times this."""
_QUARTER: Final = 4
_LEAST: Final = 1 << 14
"""Bytes of the smallest entry that is packed."""
_TRIED: Final = 1 << 12
"""Bytes in its middle that are packed first, to see whether it is worth it."""


def can_pack() -> bool:
    """Whether there is a library for LZ4."""
    return can_import("lz4.block")


def packed(data: Array) -> Array | None:
    """The bytes of an entry, packed; None where that does not make a quarter of them. data: uint8,
    1-D."""
    size = len(data)
    if size < _LEAST:
        return None
    middle = (size - _TRIED) // 2
    part = lz4.compress(data[middle : middle + _TRIED].data, store_size=False)
    if len(part) * _QUARTER > _TRIED:
        return None
    parts = []
    room = size // _QUARTER - 4 * block_count(size)
    for begin in range(0, size, BLOCK):
        parts.append(lz4.compress(data[begin : begin + BLOCK].data, store_size=False))
        room -= len(parts[-1])
        if room < 0:
            return None
    table = np.array([len(part) for part in parts], "<u4").tobytes()
    return np.frombuffer(table + b"".join(parts), np.uint8)


def unpack(data: Array, target: Array, begin: int, end: int) -> bool:
    """Unpack the blocks that hold the bytes `begin` to `end - 1` of an entry into their places in
    `target`, which has room for all of it. Returns False for what was not packed so."""
    count = block_count(len(target))
    if len(data) < 4 * count:
        return False
    ends = 4 * count + np.cumsum(np.frombuffer(data[: 4 * count].data, "<u4").astype(np.int64))
    starts = [4 * count, *ends.tolist()]
    if count and starts[-1] != len(data):
        return False
    for number in range(begin // BLOCK, block_count(end)):
        place = target[number * BLOCK : (number + 1) * BLOCK]
        part = data[starts[number] : starts[number + 1]].data
        try:
            made = lz4.decompress(part, uncompressed_size=len(place))
        except lz4.LZ4BlockError:
            return False
        if len(made) != len(place):
            return False
        place[:] = np.frombuffer(made, np.uint8)
    return True
