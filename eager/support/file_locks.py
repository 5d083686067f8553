"""Files that one process has alone. Where the system has no such locks (Windows), processes that
save into one file at the same time are not kept apart."""

from __future__ import annotations

from types import ModuleType

__all__ = ["lock_alone"]

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:
    fcntl = None


def lock_alone(handle: int) -> None:
    """Take the lock of a file. Raises BlockingIOError where another process has it, and OSError."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
