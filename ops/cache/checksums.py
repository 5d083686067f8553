"""Checksums of the blocks of an entry, so that damaged data are never taken for a result.

A block of 64 KiB has one checksum of 64 bits. Four lanes take the words of the block in turns, and
each step of a lane, `rotate(lane ^ word) * odd number`, is a bijection of the lane for a given word
and of the word for a given lane. So no single changed word goes unnoticed, and other damage does
once in 2**64. The key of the entry, the number of the block and its length go into the first state:
a block of another entry, or of another place, does not pass for this one. It is no signature: it
detects the damage of disks, of file systems and of processes that were killed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.simd.memory import byte_from, word_from
from gradiva.eager.types.arrays import Array, Int, U64Vector

__all__ = ["BLOCK", "SUM_BYTES", "block_count", "block_sum", "first_damaged", "key_words"]

BLOCK: Final = 1 << 16
"""Bytes of a block."""
SUM_BYTES: Final = 8
"""Bytes of a checksum."""

_MULTIPLIER = np.uint64(0x9E6D62D06F6A9A9B)
_MIXER = np.uint64(0xD1B54A32D192ED03)
_SECOND = np.uint64(0x8CB92BA72F3D8DD7)
_THIRD = np.uint64(0xAEF17502108EF2D9)
_FOURTH = np.uint64(0x6C8E9CF570932BD5)
_LEFT = np.uint64(29)
_RIGHT = np.uint64(35)
_HALF = np.uint64(32)
_EIGHT = np.uint64(8)


def block_count(size: int) -> int:
    """How many blocks so many bytes are."""
    return -(-size // BLOCK)


def key_words(key: bytes) -> tuple[np.uint64, np.uint64]:
    """A key as two words, as the kernels take it."""
    low, high = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    return np.uint64(low), np.uint64(high)


@always_inline
def _step(lane: np.uint64, word: np.uint64) -> np.uint64:
    """One lane takes a word."""
    lane ^= word
    return ((lane << _LEFT) | (lane >> _RIGHT)) * _MULTIPLIER


@op.jit
def block_sum(
    address: Int, size: Int, first: np.uint64, second: np.uint64, number: Int
) -> np.uint64:
    """The checksum of `size` bytes at an address: block `number` of the entry of a key."""
    a = _step(_step(_step(first, second), np.uint64(number)), np.uint64(size))
    b, c, d = a ^ _SECOND, a ^ _THIRD, a ^ _FOURTH
    place: Any = np.int64(address)
    end = place + (size & ~31)
    while place < end:
        a = _step(a, word_from(place))
        b = _step(b, word_from(place + 8))
        c = _step(c, word_from(place + 16))
        d = _step(d, word_from(place + 24))
        place += 32
    end = address + (size & ~7)
    while place < end:
        a = _step(a, word_from(place))
        place += 8
    end = address + size
    if place < end:
        word = np.uint64(0)
        while place < end:
            word = (word << _EIGHT) | byte_from(place)
            place += 1
        a = _step(a, word)
    found = _step(_step(_step(a, b), c), d)
    found ^= found >> _HALF
    found *= _MIXER
    return found ^ (found >> _LEFT)


@op.jit
def first_damaged(
    address: int, size: int, first: np.uint64, second: np.uint64, sums: U64Vector, begin: int
) -> int:
    """The number of the first block whose checksum is another one; -1 if there is none. address,
    size: of the whole entry; first, second: the words of its key; sums: of the blocks from `begin`
    on, which are looked at."""
    for k in range(len(sums)):
        number = begin + k
        start = number * BLOCK
        found = block_sum(address + start, min(BLOCK, size - start), first, second, number)
        if found != sums[k]:
            return number
    return -1


def damaged_block(data: Array, key: bytes, sums: Array, begin: int) -> int:
    """The number of the first block whose checksum is another one; -1 if there is none.

    data: all bytes of an entry; sums: uint64, of the blocks from `begin` on, which are looked at.
    """
    return first_damaged(address_of(data), len(data), *key_words(key), sums, begin)


def checksums(key: bytes, data: Array) -> Array:
    """The checksums of the blocks of an entry, uint64; data: uint8, 1-D."""
    address, words = address_of(data), key_words(key)
    blocks = range(block_count(len(data)))
    sizes = [min(BLOCK, len(data) - number * BLOCK) for number in blocks]
    found = [block_sum(address + k * BLOCK, sizes[k], *words, k) for k in blocks]
    return np.array(found, np.uint64)
