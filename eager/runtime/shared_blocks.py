"""Blocks of memory that other processes on this machine can map. They have no name that could be
left behind: they are files in memory, which are freed with the last process that has them open."""

from __future__ import annotations

import mmap
import os
import sys
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array


class BlockLocation(NamedTuple):
    """The location of an array. process, descriptor: by which the file can be opened; file: its
    device and inode, which identify it; serial: the number of the block in this process; offset: in
    bytes."""

    process: int
    descriptor: int
    file: tuple[int, int]
    serial: int
    size: int
    offset: int


class _File(NamedTuple):
    serial: int
    descriptor: int
    size: int


def can_share() -> bool:
    """Whether the system has such files, and other processes can open them."""
    return (
        sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")
    )


class SharedBlocks:
    """Allocates blocks, and finds the block of an array. Safe from any thread."""

    def __init__(self) -> None:
        self._files: dict[int, _File] = {}
        self._made = 0
        self._lock = threading.Lock()

    def allocate(self, nbytes: int) -> Array:
        """A block of zeros, aligned to a page. Raises MemoryError."""
        descriptor = -1
        try:
            descriptor = os.memfd_create("gradiva", os.MFD_CLOEXEC)
            os.ftruncate(descriptor, nbytes)
            memory = mmap.mmap(descriptor, nbytes)
        except OSError as error:
            if descriptor >= 0:
                os.close(descriptor)
            raise MemoryError(f"{nbytes} bytes that can be shared: {error}") from None
        block: Array = np.frombuffer(memory, np.uint8)
        address = block.ctypes.data
        with self._lock:
            serial, self._made = self._made, self._made + 1
        self._files[address] = _File(serial, descriptor, nbytes)
        weakref.finalize(block, self._drop, address).atexit = False
        return block

    def _drop(self, address: int) -> None:
        os.close(self._files.pop(address).descriptor)

    def has(self, block: Array) -> bool:
        """Whether the array is one of the blocks."""
        return block.ctypes.data in self._files

    def place_of(self, array: Array) -> BlockLocation | None:
        """The location of a contiguous array; None if it is not in a block."""
        first = array.ctypes.data
        for address, one in self._files.copy().items():  # a block may go meanwhile
            offset = first - address
            if offset >= 0 and offset + array.nbytes <= one.size:
                known = os.fstat(one.descriptor)
                file = known.st_dev, known.st_ino
                return BlockLocation(
                    os.getpid(), one.descriptor, file, one.serial, one.size, offset
                )
        return None


def map_block(place: BlockLocation) -> Array:
    """Map a whole block, of another process or this one, for reading. Raises OSError if it does not
    exist any more, or may not be opened."""
    flags: Any = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # it may be anything by now
    descriptor = os.open(f"/proc/{place.process}/fd/{place.descriptor}", flags)
    try:
        known = os.fstat(descriptor)
        if (known.st_dev, known.st_ino) != place.file or known.st_size < place.size:
            raise FileNotFoundError(f"process {place.process} has another file there")
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        memory = mmap.mmap(descriptor, place.size, flags, mmap.PROT_READ)
    finally:
        os.close(descriptor)
    return np.frombuffer(memory, np.uint8)
