"""nvJPEG's memory from pools of ours: Python functions behind the library's two tables."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from .declarations import AllocateFunction, DeviceAllocator, FreeFunction, PinnedAllocator

__all__ = ["Allocator"]

_FAILED = 1
"""Any number but 0: the library turns it into ALLOCATOR_FAILURE."""


class Allocator:
    """The table of one kind of memory, `pinned` or on the device, for `nvjpegCreateExV2`.

    allocate(size, stream): makes a block and returns its address and the object that keeps it
        alive. The block is let go when the library frees it: the object must then hold the memory
        back until the stream has come past, as gradiva's pools do. An exception in it becomes
        ALLOCATOR_FAILURE; `problem` keeps it for the error that the user sees.
    """

    def __init__(self, allocate: Callable[[int, int], tuple[int, Any]], *, pinned: bool) -> None:
        self._allocate = allocate
        self._blocks: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.problem: Exception | None = None
        # The library keeps the addresses of these two: they live as long as this object.
        self._functions = AllocateFunction(self._take), FreeFunction(self._give)
        self.table = (PinnedAllocator if pinned else DeviceAllocator)(*self._functions, None)

    @property
    def address(self) -> int:
        """Where the table lies."""
        return ctypes.addressof(self.table)

    @property
    def blocks(self) -> int:
        """How many blocks the library holds."""
        return len(self._blocks)

    def _take(self, _context: int, pointer: Any, size: int, stream: int | None) -> int:
        try:
            address, block = self._allocate(size, stream or 0)
        except Exception as error:  # noqa: BLE001  no exception can pass through the library
            self.problem = error
            return _FAILED
        with self._lock:
            self._blocks[address] = block
        pointer[0] = address
        return 0

    def _give(self, _context: int, pointer: int | None, _size: int, _stream: int | None) -> int:
        with self._lock:
            known = self._blocks.pop(pointer, None) if pointer is not None else None
        return 0 if known is not None or pointer is None else _FAILED
