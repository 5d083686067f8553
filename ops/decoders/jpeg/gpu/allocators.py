"""nvJPEG's memory from pools of ours: Python functions behind the library's two tables."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from gradiva.eager import extension as op

from .declarations import AllocateFunction, DeviceAllocator, FreeFunction, PinnedAllocator

_FAILED = 1
"""Any number but 0: the library turns it into ALLOCATOR_FAILURE."""


class Allocator:
    """The table of one kind of memory, `pinned` or on the device, for `nvjpegCreateExV2`.

    allocate(size, stream): makes a block and returns its address and the object that keeps it
        alive. An exception in it becomes ALLOCATOR_FAILURE; `problem` keeps it for the error that
        the user sees.
    give(block, stream): takes the object back when the library frees the block, and must hold the
        memory until the stream has come past. Without it, the object is freed.
    """

    def __init__(
        self,
        allocate: Callable[[int, int], tuple[int, Any]],
        *,
        pinned: bool,
        give: Callable[[Any, int], None] | None = None,
    ) -> None:
        self._allocate = allocate
        self._hand_back = give
        self._blocks: dict[int, Any] = {}
        self._lost: list[Any] = []
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
            self.problem = op.without_frames(error)
            return _FAILED
        with self._lock:
            self._blocks[address] = block
        pointer[0] = address
        return 0

    def _give(self, _context: int, pointer: int | None, _size: int, stream: int | None) -> int:
        if pointer is None:
            return 0
        with self._lock:
            block = self._blocks.pop(pointer, None)
        if block is None:
            return _FAILED
        try:
            if self._hand_back is not None:
                self._hand_back(block, stream or 0)
        except Exception as error:  # noqa: BLE001  as above
            self.problem = op.without_frames(error)
            self._lost.append(block)  # nobody can say when it is free
            return _FAILED
        return 0
