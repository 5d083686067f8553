"""Opening stores: one for each folder and one in memory, which all pipelines share."""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path

from .cache import IN_MEMORY
from .disk_store import DiskStore
from .memory_store import MemoryStore
from .store import Store

_stores: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def open_store(where: str, capacity: int | None = None) -> Store:
    """The store in a folder, which is made if need be, or "ram", the one in memory.

    There is one in a process for each place, as long as somebody refers to it; the largest
    capacity that was asked for counts. capacity: bytes. None for 80 % of what is free on the disk,
    beside what the folder holds, or half of the memory that is available.

    A store on disk that is full removes the shard whose entries were not used for the longest time,
    if that was before this process opened the folder. What was used since then stays, and nothing
    more is stored: an epoch reads each sample once, and if the oldest were removed for the newest,
    each would be gone before it is read again.
    """
    place = where if where == IN_MEMORY else os.path.realpath(os.path.expanduser(where))
    with _lock:
        store = _stores.get(place)
        if store is None:
            if place == IN_MEMORY:
                store = MemoryStore(capacity)
            else:
                store = DiskStore(Path(place), capacity)
            _stores[place] = store
        elif capacity is not None:
            store.capacity = max(store.capacity, capacity)
        return store


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for store in list(_stores.values()):
        store.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
