"""Writing many entries in one call of a kernel, without the interpreter."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.simd.c_calls import addresses, call_c
from gradiva.eager.types.arrays import Array, BoolVector, I64Table, I64Vector, U64Table

from .checksums import BLOCK, SUM_BYTES, block_count, block_sum

_TOGETHER: Final = 16
"""Entries that lie one behind the other are written in one call, up to so many: that takes the
system two thirds of the time."""


def write_several(
    keys: Sequence[bytes], data: Sequence[Array], places: Sequence[tuple[int, int, int]]
) -> list[bool]:
    """Write entries with their checksums. Returns whether each was written; where some were not,
    the rest was not tried.

    data: their bytes, uint8, 1-D; places: of each the descriptor of its file, its place there, and
    the bytes that it takes, with its checksums and zeros at the end.
    """
    pwritev = _pwritev()
    written = np.zeros(len(keys), np.bool_)
    if pwritev is None or not keys:
        return written.tolist()
    facts = np.empty((len(keys), 5), np.int64)
    facts[:, :3] = places
    facts[:, 3] = [len(one) for one in data]
    facts[:, 4] = [address_of(one) for one in data]
    words = np.frombuffer(b"".join(keys), "<u8").astype(np.uint64).reshape(-1, 2)
    blocks = block_count(int(facts[:, 3].max()))
    padding = np.zeros(int((facts[:, 2] - facts[:, 3]).max()), np.uint8)
    sums, vectors = np.empty((_TOGETHER, blocks), np.uint64), np.empty(6 * _TOGETHER, np.int64)
    _write(pwritev, facts, words, sums, address_of(padding), vectors, written)
    return written.tolist()


@functools.cache
def _pwritev() -> int | None:
    """The function of the C library, where it has it."""
    found = addresses("pwritev")
    return None if found is None else int(found[0])


@op.jit
def _write(
    pwritev: int,
    facts: I64Table,
    keys: U64Table,
    sums: U64Table,
    padding: int,
    vectors: I64Vector,
    written: BoolVector,
) -> None:
    """Write entries until one cannot be written, and note in `written` which were.

    pwritev: its address; facts: the descriptor of each, its place in the file, the bytes that it
    takes there, those of its data, and the address of these; keys: two words of each; sums: rows of
    memory for checksums, each for those of the largest entry: as many entries are written in one
    call; padding: the address of zeros; vectors: six words for each of these entries, for what
    `pwritev` is told.
    """
    where = vectors.ctypes.data
    entry = 0
    while entry < len(facts):
        first, end = entry, facts[entry, 1]
        while (
            entry < min(len(facts), first + len(sums))
            and facts[entry, 0] == facts[first, 0]
            and facts[entry, 1] == end
        ):
            _, _, taken, size, address = facts[entry]
            blocks = (size + BLOCK - 1) // BLOCK
            own = entry - first
            for number in range(blocks):
                start = number * BLOCK
                sums[own, number] = block_sum(
                    address + start,
                    min(BLOCK, size - start),
                    keys[entry, 0],
                    keys[entry, 1],
                    number,
                )
            told = 6 * own
            vectors[told], vectors[told + 1] = address, size
            vectors[told + 2], vectors[told + 3] = sums[own].ctypes.data, SUM_BYTES * blocks
            vectors[told + 4] = padding
            vectors[told + 5] = taken - size - SUM_BYTES * blocks
            end += taken
            entry += 1
        start, count = facts[first, 1], 3 * (entry - first)
        if call_c(pwritev, facts[first, 0], where, count, start) != end - start:
            return
        written[first:entry] = True
