"""Reading many entries in one call of a kernel, without the interpreter."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.packed_calls import KernelCall, PerThread, run_calls
from gradiva.eager.operators.fusion_roles import DecodeSeveral
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.simd.c_calls import addresses, call_c
from gradiva.eager.types.arrays import (
    BoolVector,
    F64Vector,
    I64Table,
    I64Vector,
    Int64Array,
    U8Vector,
    U64Table,
    U64Vector,
)

from .checksums import BLOCK, SUM_BYTES, block_count, first_damaged, key_words
from .entry import Entry, OpenShard
from .store import Store

_SKIPPED: Final = -1
_IN_MEMORY: Final = -2
_MOST_OPEN: Final = 256
"""Open files of this process, with those that a batch opens for itself."""
_APART: Final = 16
"""Words between what two threads write all the time."""
_TOGETHER: Final = 4
"""Blocks that are read in one call."""
_background = BackgroundKernel()
_Whole = np.ndarray[Any, Any]


def read_several(
    store: Store, entries: Sequence[Entry | None], rows: Int64Array | None = None
) -> DecodeSeveral | None:
    """What reads some entries by kernels, if there are any and kernels can read here.

    rows: (N, 2), the first row of each that is read and the one behind the last; None for all. A
    row comes to the place that it has in the whole sample, for which there is room; the other rows
    of its block may come there, too. What is not done afterwards is left to `Store.read`: entries
    that are None, packed or damaged, and files that cannot be read.
    """
    count = len(entries)
    facts = np.full((count, 6), _SKIPPED, np.int64)
    keys = np.zeros((count, 2), np.uint64)
    seconds = np.zeros(count)
    held: list[OpenShard] = []
    longest = 0
    for sample, entry in enumerate(entries):
        if entry is None or entry.failure is not None or entry.packed:
            continue
        opened = _opened(entry)
        if opened is None:
            continue
        first, last = (0, None) if rows is None else rows[sample].tolist()
        begin, end = entry.rows_of(first, last)
        source, handle = entry.offset, opened.handle
        if opened.memory is not None:
            source, handle = source + address_of(opened.memory), _IN_MEMORY
        facts[sample] = handle, source, entry.stored, begin, end, entry.shard.number >= 0
        keys[sample] = key_words(entry.key)
        seconds[sample] = entry.seconds
        longest = max(longest, block_count(end) - begin // BLOCK)
        held.append(opened)
    functions = _functions()
    done = np.zeros(count, np.bool_)
    words = -(-(longest + 4) // _APART) * _APART + _APART

    def calls(memory: _Whole, places: Int64Array, threads: int) -> list[KernelCall]:
        scratch = np.empty((threads, words), np.int64)
        counts = np.zeros((threads, _APART))
        store.counters.watch(done, counts)
        parts = scratch, scratch.view(np.uint64)[:, 4:], counts
        own = [one[0] if threads == 1 else PerThread(one) for one in parts]
        target = memory.view(np.uint8)
        # The closure holds the files open.
        given = keys, facts, seconds, target if memory.ndim == 1 else PerThread(target)
        return [(_read, (functions, *own, *given, places, memory.itemsize, done))]

    def prepare() -> None:
        run_calls(calls(np.empty(0, np.uint8), np.zeros(0, np.int64), 1), 0, 0)

    if functions is None or not held or not _background.is_worth_compiling(count, prepare):
        return None
    return DecodeSeveral(_Holding(calls, held), done)


class _Holding:
    """A function that keeps files open as long as it exists."""

    def __init__(self, call: Any, held: list[OpenShard]) -> None:
        self._call, self._held = call, held

    def __call__(self, memory: _Whole, places: Int64Array, threads: int) -> list[KernelCall]:
        """Call it."""
        found: list[KernelCall] = self._call(memory, places, threads)
        return found


def _opened(entry: Entry) -> OpenShard | None:
    if entry.opened is not None:
        return entry.opened
    if len(OpenShard.open_files) < _MOST_OPEN:
        with suppress(OSError):
            return entry.shard.open()
    return None


@functools.cache
def _functions() -> Int64Array | None:
    """Functions for the kernel, where the system has them."""
    return addresses("preadv", "memcpy")


@op.jit
def _read_blocks(
    preadv: int,
    handle: int,
    source: int,
    size: int,
    first: int,
    last: int,
    key: U64Vector,
    target: int,
    vectors: I64Vector,
    sums: U64Vector,
) -> bool:
    """Read the blocks `first` to `last - 1` of an entry to their places behind the address
    `target`. Returns whether all are undamaged. The other arguments are as in `_read`."""
    count = last - first
    where = vectors.ctypes.data
    vectors[2], vectors[3] = sums.ctypes.data, SUM_BYTES * count
    whole = first == 0 and last * BLOCK >= size and count <= _TOGETHER
    if not whole:
        table = source + size + SUM_BYTES * first
        if call_c(preadv, handle, where + 16, 1, table) != SUM_BYTES * count:
            return False
    # Each part is verified while it is still in the cache of the core.
    for block in range(first, last, _TOGETHER):
        blocks = min(last - block, _TOGETHER)
        start = block * BLOCK
        length = min(size, start + blocks * BLOCK) - start
        vectors[0], vectors[1] = target + start, length
        if whole:
            length += SUM_BYTES * count
        if call_c(preadv, handle, where, 2 if whole else 1, source + start) != length:
            return False
        part = sums[block - first : block - first + blocks]
        if first_damaged(target, size, key[0], key[1], part, block) >= 0:
            return False
    return True


@op.jit
def _read(
    functions: I64Vector,
    vectors: I64Vector,
    sums: U64Vector,
    counts: F64Vector,
    keys: U64Table,
    facts: I64Table,
    seconds: F64Vector,
    memory: U8Vector,
    places: I64Vector,
    unit: int,
    done: BoolVector,
    begin: int,
    end: int,
) -> None:
    """Read a range of entries, and note in `done` which were read.

    functions: addresses of `preadv` and `memcpy`; vectors: four words for what `preadv` is told;
    sums: memory for checksums; counts: takes the bytes and the seconds of what was read; keys: two
    words of each; facts: the descriptor of each, or what stands for it, the place of its data in
    the file, or in memory, its bytes, the first of them that is read and the end of those, and
    whether it is counted;
    seconds: how long it took to compute each; memory, places: where each sample goes, in elements
    of `unit` bytes.
    """
    for sample in range(begin, end):
        handle, source, size, first, last, counted = facts[sample]
        if handle == -1:
            continue
        target = memory.ctypes.data + places[sample] * unit
        if last <= first:
            done[sample] = True
        elif handle == -2:
            call_c(functions[1], target + first, source + first, last - first, 0)
            done[sample] = True
        else:
            done[sample] = _read_blocks(
                functions[0],
                handle,
                source,
                size,
                first // BLOCK,
                (last + BLOCK - 1) // BLOCK,
                keys[sample],
                target,
                vectors,
                sums,
            )
        if done[sample] and counted != 0:
            counts[0] += last - first
            counts[1] += seconds[sample]
