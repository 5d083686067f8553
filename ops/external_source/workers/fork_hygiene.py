"""Closes resources in forked children of this process, and ends children with their parent.

A worker notices the end of its main process by the end of its connection. A copy of the other end
in another child, of another pipeline or library, would keep the connection open. So these ends, and
the shared memory, are closed in each child of a fork.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from gradiva.eager.support.shared_state import LiveObjects

_PR_SET_PDEATHSIG = 1
_kept: LiveObjects[Any] = LiveObjects()


def close_in_forks(resource: Any) -> None:
    """Call `resource.close()` in every child that this process forks from now on."""
    _kept.add(resource)


def _close_in_child() -> None:
    for resource in _kept.members():
        with suppress(OSError, BufferError):  # of a thread that does not exist in this process
            resource.close()
        _kept.discard(resource)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when the thread that made it ends, if the system can do
    that.

    Otherwise the end of the connection tells it. parent: the parent's process id; if it differs
    from the current one, the parent has died already.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
