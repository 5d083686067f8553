"""Writing many entries in one call of a kernel, without the interpreter."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.simd.c_calls import addresses, call_c
from gradiva.eager.types.arrays import Array, BoolVector, I64Table, I64Vector, U64Table, U64Vector

from .checksums import BLOCK, SUM_BYTES, block_count, block_sum


def write_several(
    keys: Sequence[bytes], data: Sequence[Array], places: Sequence[tuple[int, int, int]]
) -> list[bool]:
    """Write entries with their checksums. Returns whether each was written; where one was not, the
    rest was not tried.

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
    sums = np.empty(block_count(int(facts[:, 3].max())), np.uint64)
    padding = np.zeros(int((facts[:, 2] - facts[:, 3]).max()), np.uint8)
    _write(pwritev, facts, words, sums, address_of(padding), np.empty(6, np.int64), written)
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
    sums: U64Vector,
    padding: int,
    vectors: I64Vector,
    written: BoolVector,
) -> None:
    """Write entries until one cannot be written, and note in `written` which were.

    pwritev: its address; facts: the descriptor of each, its place in the file, the bytes that it
    takes there, those of its data, and the address of these; keys: two words of each; sums: memory
    for the checksums of the largest; padding: the address of zeros; vectors: six words for what
    `pwritev` is told.
    """
    where = vectors.ctypes.data
    for entry in range(len(facts)):
        handle, place, taken, size, address = facts[entry]
        blocks = (size + BLOCK - 1) // BLOCK
        for number in range(blocks):
            start = number * BLOCK
            sums[number] = block_sum(
                address + start, min(BLOCK, size - start), keys[entry, 0], keys[entry, 1], number
            )
        vectors[0], vectors[1] = address, size
        vectors[2], vectors[3] = sums.ctypes.data, SUM_BYTES * blocks
        vectors[4], vectors[5] = padding, taken - size - SUM_BYTES * blocks
        if call_c(pwritev, handle, where, 3, place) != taken:
            return
        written[entry] = True
