"""The event loop for requests: a thread of its own in each process."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""By process. After a fork the parent's loop stays here: closing it would disturb the parent."""


def storage_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process."""
    with _lock:
        found = _loops.get(os.getpid())
        if found is None:
            found = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=found.run_forever, name="gradiva-storage", daemon=True).start()
        return found


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
