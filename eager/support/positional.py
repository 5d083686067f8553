"""Positional reads of an open file. If the system has no such call (Windows), a thread seeks and
reads while others wait."""

from __future__ import annotations

import os
import threading

_turn = threading.Lock()


def read_at(handle: int, count: int, offset: int) -> bytes:
    """The bytes from this position on, fewer at the end of the file. Raises OSError."""
    if hasattr(os, "pread"):
        return os.pread(handle, count, offset)
    with _turn:
        os.lseek(handle, offset, os.SEEK_SET)
        return os.read(handle, count)


def read_into(handle: int, target: memoryview, offset: int) -> int:
    """Read bytes from this position on. Returns their number, 0 at the end of the file. Raises
    OSError."""
    if hasattr(os, "preadv"):
        return os.preadv(handle, [target], offset)
    data = read_at(handle, len(target), offset)
    target[: len(data)] = data
    return len(data)


def read_next(handle: int, target: memoryview) -> int:
    """Read at the current position. Like `read_into`, for a file that only one thread uses. Raises
    OSError."""
    if hasattr(os, "readv"):
        return os.readv(handle, [target])
    data = os.read(handle, len(target))
    target[: len(data)] = data
    return len(data)
