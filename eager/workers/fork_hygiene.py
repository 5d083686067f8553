"""What is closed in a process that this one forks, and how it ends with its parent.

A worker learns from the end of its connection that its master is gone. A copy of the master's end
in some other child, of another pipeline or of a library, would keep it open. So the ends, and the
shared memory, are closed in each child of a fork.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import weakref
from contextlib import suppress
from typing import Any

__all__ = ["close_in_forks", "die_with_parent"]

_PR_SET_PDEATHSIG = 1
_kept: weakref.WeakSet[Any] = weakref.WeakSet()


def close_in_forks(resource: Any) -> None:
    """Call `resource.close()` in every child that this process forks from now on."""
    _kept.add(resource)


def _close_in_child() -> None:
    for resource in list(_kept):
        with suppress(OSError, BufferError):  # of a thread that is not in this process
            resource.close()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when the thread that made it ends, where it can.

    Elsewhere the end of the connection tells it. parent: its process id, which is another one if
    it has died already.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
