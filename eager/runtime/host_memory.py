"""Host memory for batches: aligned, and reused once nothing refers to it any more.

A fresh 500 kB buffer costs about 0.4 ms in page faults, as much as decoding into it. So memory is
leased: a lease is the base object of every NumPy view made from it, and when the last view is gone
the memory goes back to the pool. Nobody has to release anything, and nothing is overwritten while
somebody, a user included, still holds an array on it.

Leases end in the middle of the user's loop, thousands in a second. Were a line of Python run for
that, Ctrl+C would sooner or later come in it, and Python drops what a finalizer raises: the program
would go on as if nothing had been pressed. So a lease has a weak reference to itself, and the
callback of that is a method of C. (An object's weak references end before its slots do, so it is
still there.)
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from . import memory_settings
from .memory_settings import MemorySettings
from .shared_blocks import SharedBlocks

__all__ = [
    "ALIGNMENT",
    "MemoryPool",
    "MemoryStats",
    "address_of",
    "allocate",
    "available_memory",
    "capacity",
    "is_leased",
    "physical_memory",
    "pool",
]

ALIGNMENT = 64
POISON = 0xFF
"""What a byte of dead memory is in the debugging mode: floating-point values become NaN."""
_PAGE = 4096
_SHARED = 1 << 18
"""Blocks of so many bytes can be shared, where that is wanted: each is a file."""


_BEHIND_HEAD: Final = object.__basicsize__
"""The offset of the address in an array object: NumPy's headers for C have it as first field."""


def _quick_address(array: np.ndarray[Any, Any]) -> int:
    """The address of an array's first element, in a tenth of the time that `array.ctypes` takes."""
    return ctypes.c_void_p.from_address(id(array) + _BEHIND_HEAD).value or 0


def _plain_address(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data


def _is_quick() -> bool:
    sample = np.zeros(64)[8:]
    return sys.implementation.name == "cpython" and _quick_address(sample) == sample.ctypes.data


address_of = _quick_address if _is_quick() else _plain_address


def physical_memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not say it."""
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def available_memory() -> int | None:
    """Bytes of memory that are available, or those that this machine has; None where the system
    says neither."""
    with suppress(OSError, ValueError, IndexError, KeyError):
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        sizes = dict(line.split(":", 1) for line in lines)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    return physical_memory()


class MemoryStats(NamedTuple):
    """Bytes of host memory in blocks of the pool.

    leased: in use, because somebody holds an array on them; kept: waiting to be used again;
    peak: the most that were ever leased at once.
    """

    leased: int
    kept: int
    peak: int


class _Lease:
    """Owner of one block while views on it exist."""

    __slots__ = ("__array_interface__", "__weakref__", "_end", "block")

    def __init__(
        self,
        block: np.ndarray[Any, Any],
        nbytes: int,
        ended: Callable[[_EndOfLease], object],
        keep: bool,
    ) -> None:
        self.block = block
        self._end = end = _EndOfLease(self, ended)
        end.size = block.size
        end.block = block if keep else None
        self.__array_interface__ = {
            "data": (address_of(block), False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


class _EndOfLease(weakref.ref[_Lease]):
    """What is left of a lease. block: to be used again; None for one that is not worth keeping,
    whose memory is free at once. queue: where it goes in the debugging mode."""

    __slots__ = ("block", "queue", "size")
    block: np.ndarray[Any, Any] | None
    queue: deque[_EndOfLease]
    size: int


def _aligned(nbytes: int) -> np.ndarray[Any, Any]:
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -address_of(raw) % ALIGNMENT
    return raw[start : start + nbytes]


def _size_class(nbytes: int) -> int:
    """Round up to one of eight steps per power of two, so that ragged batches meet again."""
    step = max(4096, 1 << max(0, nbytes.bit_length() - 4))
    return -(-nbytes // step) * step


class MemoryPool:
    """Blocks of 64-byte aligned host memory, by size. Safe from any thread.

    A waiting block serves a request if it is large enough, and the request, with its margin for
    growth, is not less than the shrink threshold times the block. `limit` bounds the bytes kept
    for reuse, not the bytes in use; sizes that were not asked for the longest are dropped first.
    A lease may end at any moment and in any thread, also inside this code: it leaves its block in a
    queue, and who wants memory next takes it in.
    """

    def __init__(self, limit: int | None = None, settings: MemorySettings | None = None) -> None:
        self._settings = memory_settings.settings if settings is None else settings
        self._limit = limit
        self._free: OrderedDict[int, list[np.ndarray[Any, Any]]] = OrderedDict()
        self._ended: deque[_EndOfLease] = deque()
        self._kept = self._leased = self._peak = 0
        self._shared: SharedBlocks | None = None
        self._lock = threading.RLock()
        self._busy = False
        """Whether the thread that has the lock is at work on the tables: a finalizer of the user's
        that interrupts it there and wants memory gets it elsewhere."""

    @property
    def limit(self) -> int:
        """Bytes that may wait for reuse."""
        return self._settings.kept if self._limit is None else self._limit

    def allocate(self, nbytes: int) -> np.ndarray[Any, Any]:
        """A 1-D uint8 array of `nbytes` bytes, not initialized, aligned to 64 bytes.

        Raises OperatorValueError for an environment variable that makes no sense.
        """
        settings = self._settings
        if not settings.ready:
            settings.read()
        if nbytes < settings.small:
            return _aligned(nbytes)
        growth = settings.host_growth
        size = _size_class(nbytes if growth == 1.0 else int(nbytes * growth))
        block = None
        with self._lock:
            if self._busy:
                return _aligned(nbytes)
            self._busy = True
            try:
                if self._ended:
                    self._collect()
                waiting = self._free.get(size) or self._fitting(nbytes, size)
                if waiting:
                    block = waiting.pop()
                    size = block.size
                    self._kept -= size
                    self._free.move_to_end(size)
                self._leased += size
                if self._leased > self._peak:
                    self._peak = self._leased
            finally:
                self._busy = False
        if block is None:
            block = self._fresh(size)
        ended = self._poison if settings.poison else self._ended.append
        lease = _Lease(block, nbytes, ended, size <= self.limit)
        lease._end.queue = self._ended
        return np.asarray(lease)

    def _fitting(self, nbytes: int, size: int) -> list[np.ndarray[Any, Any]] | None:
        """The smallest waiting blocks that serve `nbytes`, where none has the usual `size`."""
        least, threshold = _size_class(nbytes), self._settings.shrink_threshold
        most = size / threshold if threshold else float("inf")
        fits = [other for other, blocks in self._free.items() if blocks and least <= other <= most]
        return self._free[min(fits)] if fits else None

    def _fresh(self, size: int) -> np.ndarray[Any, Any]:
        try:
            block = self._made(size)
        except MemoryError:
            with self._lock:
                self._leased -= size
            raise
        if self._settings.poison:
            block.fill(POISON)
        return block

    def _made(self, size: int) -> np.ndarray[Any, Any]:
        shared = self._shared
        if shared is not None and size >= _SHARED:
            try:
                return shared.allocate(size)
            except MemoryError:
                pass  # there may be memory that is not shared
        return _aligned(size)

    def _is_usable(self, block: np.ndarray[Any, Any]) -> bool:
        return self._shared is None or block.size < _SHARED or self._shared.has(block)

    def share(self, blocks: SharedBlocks) -> None:
        """Have blocks that are large among these, so that other processes can map them; others are
        not used again."""
        self.clear()
        self._shared = blocks

    def _poison(self, end: _EndOfLease, poison: int = POISON) -> None:
        """The end of a lease in the debugging mode. Must not wait for the lock."""
        if end.queue is not self._ended:
            return  # of the parent of this process
        if end.block is not None:
            end.block.fill(poison)
        self._ended.append(end)

    def _take_in(self) -> None:
        """Take in what was returned, unless the same thread is at work already. Under the lock."""
        if not self._busy:
            self._busy = True
            try:
                self._collect()
            finally:
                self._busy = False

    def _collect(self) -> None:
        limit = self.limit
        while self._ended:
            end = self._ended.popleft()
            size, block = end.size, end.block
            self._leased -= size
            if block is None or size > limit or not self._is_usable(block):
                continue
            while self._kept + size > limit:
                oldest = next(iter(self._free))
                if self._free[oldest]:
                    self._free[oldest].pop()
                    self._kept -= oldest
                else:
                    del self._free[oldest]
            self._free.setdefault(size, []).append(block)
            self._kept += size

    def reserve(self, nbytes: int, count: int = 1) -> None:
        """Have `count` blocks waiting that serve requests of `nbytes`, as far as `limit` allows.

        Their pages are touched, so that nobody pays for that later.
        """
        count = min(count, self.limit // max(_size_class(nbytes), 1))
        held = [self.allocate(nbytes) for _ in range(count)]
        for array in held:
            array[::_PAGE] = POISON

    def stats(self) -> MemoryStats:
        """Bytes in use, bytes that wait, and the most that were in use at once."""
        with self._lock:
            self._take_in()
            return MemoryStats(self._leased, self._kept, self._peak)

    @property
    def kept_bytes(self) -> int:
        """Bytes that wait for reuse."""
        return self.stats().kept

    def clear(self) -> None:
        """Hand the waiting memory back to the system."""
        with self._lock:
            self._take_in()
            self._free.clear()
            self._kept = 0

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock. What can be shared is
        the parent's."""
        self._lock = threading.RLock()
        self._busy = False
        if self._shared is not None:
            self._shared = None
            self._ended = deque()  # not the one that leases of the parent end in
            self._free.clear()
            self._kept = self._leased = 0


pool = MemoryPool()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.after_fork)


def allocate(count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A 1-D array of `count` elements from the pool, not initialized, aligned to 64 bytes."""
    return pool.allocate(count * dtype.itemsize).view(dtype)


def _lease_of(array: np.ndarray[Any, Any]) -> _Lease | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _Lease) else None


def is_leased(array: np.ndarray[Any, Any]) -> bool:
    """Whether the array lies in memory of a pool, which nobody else writes."""
    return _lease_of(array) is not None


def capacity(array: np.ndarray[Any, Any]) -> int:
    """Bytes of the block that the array lies in; of the array itself outside of a pool."""
    lease = _lease_of(array)
    return array.nbytes if lease is None else lease.block.size
