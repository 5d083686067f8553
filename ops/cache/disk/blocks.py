"""Reading blocks of an entry out of a file, with their checksums."""

from __future__ import annotations

import numpy as np

from gradiva.eager.support.positional import read_into
from gradiva.eager.types.arrays import Array
from gradiva.ops.cache.checksums import BLOCK, SUM_BYTES, block_count, damaged_block
from gradiva.ops.cache.entry import Entry
from gradiva.ops.cache.packing import unpack


def read_bytes(handle: int, entry: Entry, target: Array, begin: int, end: int) -> bool:
    """Read the bytes `begin` to `end - 1` of an entry into their places, and some beside them.
    Returns whether they are undamaged. target: has room for the whole entry."""
    if begin == end:
        return True
    if not entry.packed:
        return read_blocks(handle, entry, target, begin, end)
    data = np.empty(entry.stored, np.uint8)
    good = read_blocks(handle, entry, data, 0, entry.stored)
    return good and unpack(data, target, begin, end)


def read_blocks(handle: int, entry: Entry, target: Array, begin: int, end: int) -> bool:
    """Read the blocks that hold the bytes `begin` to `end - 1` of an entry, as they are stored,
    into their places. Returns whether they are undamaged."""
    first, last = begin // BLOCK, block_count(end)
    size = entry.stored
    sums = np.empty(last - first, np.uint64)
    table = entry.offset + size + SUM_BYTES * first
    block = target[first * BLOCK : min(last * BLOCK, size)]
    try:
        good = _fill(handle, memoryview(block.data), entry.offset + first * BLOCK)
        good = good and _fill(handle, memoryview(sums.view(np.uint8).data), table)
    except OSError:
        return False
    return good and damaged_block(target, entry.key, sums, first) < 0


def _fill(handle: int, view: memoryview, offset: int) -> bool:
    """Read into all of a buffer; False at the end of the file. Raises OSError."""
    while view:
        count = read_into(handle, view, offset)
        if not count:
            return False
        view, offset = view[count:], offset + count
    return True
