"""Exclusive locks of files. On systems without such locks (Windows), processes that save one file
at the same time are not synchronized."""

from __future__ import annotations

from types import ModuleType

__all__ = ["lock_alone"]

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    fcntl = None


def lock_alone(handle: int) -> None:
    """Lock a file. Raises BlockingIOError if another process has the lock, and OSError."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
