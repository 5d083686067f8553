"""Positional reads and writes of an open file. If the system has no such call (Windows), a thread
seeks and reads or writes while others wait."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from typing import Any

_turn = threading.Lock()
_VIEWS = 256
"""Buffers in one call: no system allows fewer than 1,024 but some old ones."""


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


def write_at(handle: int, parts: Sequence[Any], offset: int) -> None:
    """Write all of some buffers, one behind the other, from this position on. Raises OSError, also
    where there is no room for all of it."""
    views = [view for view in (memoryview(part).cast("B") for part in parts) if len(view)]
    while views:
        if hasattr(os, "pwritev"):
            count = os.pwritev(handle, views[:_VIEWS], offset)
        else:
            with _turn:
                os.lseek(handle, offset, os.SEEK_SET)
                count = os.write(handle, views[0])
        if count <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        offset += count
        while views and count >= len(views[0]):
            count -= len(views.pop(0))
        if count:
            views[0] = views[0][count:]
