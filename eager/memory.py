"""Host memory for batches: aligned, and reused once nobody looks at it any more.

A fresh 500 kB buffer costs about 0.4 ms in page faults, as much as decoding into it. So memory is
leased: a lease is the base object of every NumPy view made from it, and when the last view is gone
the memory goes back to the pool. Nobody has to release anything, and nothing is overwritten while
somebody, a user included, still holds an array on it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

__all__ = ["ALIGNMENT", "MemoryPool", "allocate", "is_leased", "pool"]

ALIGNMENT = 64
_SMALL = 16 * 1024
_DEFAULT_LIMIT = 1 << 30


class _Lease:
    """Owner of one block while views on it exist."""

    __slots__ = ("__array_interface__", "_block", "_pool")

    def __init__(self, block: np.ndarray[Any, Any], nbytes: int, pool: MemoryPool) -> None:
        self._block = block
        self._pool = pool
        self.__array_interface__ = {
            "data": (block.ctypes.data, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        self._pool._give_back(self._block)


def _aligned(nbytes: int) -> np.ndarray[Any, Any]:
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]


def _size_class(nbytes: int) -> int:
    """Round up to one of eight steps per power of two, so that ragged batches meet again."""
    step = max(4096, 1 << max(0, nbytes.bit_length() - 4))
    return -(-nbytes // step) * step


class MemoryPool:
    """Blocks of 64-byte aligned host memory, by size. Safe from any thread.

    `limit` bounds the bytes kept for reuse, not the bytes in use; sizes that were not asked for
    the longest are dropped first. The lock is reentrant because a lease may end at any moment, also
    inside this code.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = _limit_from_environment() if limit is None else limit
        self._free: OrderedDict[int, list[np.ndarray[Any, Any]]] = OrderedDict()
        self._kept = 0
        self._lock = threading.RLock()

    def allocate(self, nbytes: int) -> np.ndarray[Any, Any]:
        """A 1-D uint8 array of `nbytes` bytes, not initialised, aligned to 64 bytes."""
        if nbytes < _SMALL:
            return _aligned(nbytes)
        size = _size_class(nbytes)
        block = None
        with self._lock:
            waiting = self._free.get(size)
            if waiting:
                block = waiting.pop()
                self._kept -= size
                self._free.move_to_end(size)
        if block is None:
            block = _aligned(size)
        return np.asarray(_Lease(block, nbytes, self))

    def _give_back(self, block: np.ndarray[Any, Any]) -> None:
        size = block.size
        if size > self.limit:
            return
        with self._lock:
            while self._kept + size > self.limit:
                oldest = next(iter(self._free))
                if self._free[oldest]:
                    self._free[oldest].pop()
                    self._kept -= oldest
                else:
                    del self._free[oldest]
            self._free.setdefault(size, []).append(block)
            self._kept += size

    @property
    def kept_bytes(self) -> int:
        """Bytes that wait for reuse."""
        return self._kept

    def clear(self) -> None:
        """Hand the waiting memory back to the system."""
        with self._lock:
            self._free.clear()
            self._kept = 0


def _limit_from_environment() -> int:
    text = os.environ.get("GRADIVA_HOST_MEMORY_KEPT")
    if text is None:
        return _DEFAULT_LIMIT
    if not text.isdigit():
        raise ValueError(f"GRADIVA_HOST_MEMORY_KEPT: expected a number of bytes, got {text!r}")
    return int(text)


pool = MemoryPool()


def allocate(count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A 1-D array of `count` elements from the pool, not initialised, aligned to 64 bytes."""
    return pool.allocate(count * dtype.itemsize).view(dtype)


def is_leased(array: np.ndarray[Any, Any]) -> bool:
    """Whether the array lies in memory of a pool, which nobody else writes."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, _Lease)
