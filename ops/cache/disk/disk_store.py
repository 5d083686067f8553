"""The store in a folder, which all processes share that open it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.types.arrays import Array
from gradiva.ops.cache.capacity import disk_for_cache
from gradiva.ops.cache.catalog import Catalog
from gradiva.ops.cache.entry import Entry
from gradiva.ops.cache.items import Item, failure_item
from gradiva.ops.cache.records import FAILURE
from gradiva.ops.cache.store import Store
from gradiva.ops.cache.warnings_once import WarningsOnce

from .blocks import read_bytes
from .disk_writer import DiskWriter
from .folder import Folder


class DiskStore(Store):
    """The results in a folder, of at most `capacity` bytes."""

    def __init__(self, path: Path, capacity: int | None) -> None:
        super().__init__()
        self.path = path
        self._tell = WarningsOnce()
        self._begin(capacity)
        try:
            self._folder.make()
            with self._lock:
                self._look()
        except OSError as error:
            self._tell("use", f"{path} cannot be used as a cache: {error.strerror or error}")
        if capacity is None:
            self.capacity = disk_for_cache(path, self._folder.held)

    def _begin(self, capacity: int | None) -> None:
        self._lock = threading.RLock()
        self._catalog = Catalog()
        self._folder = Folder(self.path, self._catalog)
        self._writer = DiskWriter(
            self._folder, self._catalog, capacity or 0, self._lock, self._tell
        )

    @property
    def capacity(self) -> int:
        """The most bytes that the folder may hold."""
        return self._writer.capacity

    @capacity.setter
    def capacity(self, value: int) -> None:
        self._writer.capacity = value

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have been at work. The shards are found
        again in the folder, and what the child keeps goes to a shard of its own."""
        self.counters.after_fork()
        self._tell.after_fork()
        since = self._folder.opened
        self._begin(self.capacity)
        self._folder.opened = since

    def find(self, keys: Sequence[bytes]) -> list[Entry | None]:
        """The entry of each key, or None."""
        found = [self._entry(key) for key in keys]
        if None in found and self._folder.is_due:
            with self._lock:
                if self._folder.is_due:
                    self._look()
            found = [one or self._entry(key) for one, key in zip(found, keys, strict=True)]
        for shard in {entry.shard for entry in found if entry is not None}:
            shard.touch()
        misses = found.count(None)
        self.counters.add(hits=len(keys) - misses, misses=misses)
        return found

    def _look(self) -> None:
        folder = self._folder
        try:
            folder.look()
        except OSError as error:
            self._tell("use", f"the cache {self.path} cannot be read: {error.strerror or error}")
        if folder.damaged:
            self.counters.add(damaged=folder.damaged)
            folder.damaged = 0
            self._tell("damaged", f"the cache {self.path} has damaged entries")
        if folder.untrusted:
            folder.untrusted = 0
            text = "files that other users can write, which are not read"
            self._tell("untrusted", f"the cache {self.path} has {text}")

    def _entry(self, key: bytes) -> Entry | None:
        found = self._catalog.find(key)
        if found is None:
            return None
        entry, flags = found
        if not flags & FAILURE:
            return entry
        data = np.empty(entry.shape, np.uint8)
        return entry.as_failure(data.tobytes()) if self.read(entry, data) else None

    def read(
        self, entry: Entry, out: np.ndarray[Any, Any], first: int = 0, last: int | None = None
    ) -> bool:
        """Read rows of an entry into the same rows of `out`."""
        begin, end = entry.rows_of(first, last)
        target = entry.bytes_of(out)
        try:
            opened = entry.opened or entry.shard.open()
        except OSError as error:
            self._tell("open", f"a file of the cache {self.path} cannot be opened: {error}")
            return False
        if opened is None:  # another process has made room
            with self._lock:
                self._catalog.forget(entry)
            return False
        if not read_bytes(opened.handle, entry, target, begin, end):
            with self._lock:
                forgotten = self._catalog.forget(entry)
            if forgotten:
                self.counters.add(damaged=1)
                self._tell(
                    "damaged", f"the cache {self.path} has damaged entries: they are made again"
                )
            return False
        self.counters.add(bytes_read=end - begin, seconds_saved=entry.seconds)
        return True

    def put_many(
        self,
        keys: Sequence[bytes],
        values: Sequence[Array],
        layout: str,
        seconds: Sequence[float],
        pool: WorkerPool | None = None,
    ) -> None:
        """Keep results."""
        items = map(Item.of, keys, values, [layout] * len(keys), seconds)
        self.counters.add(**self._writer.put(items, pool))

    def put_failure(self, key: bytes, facts: dict[str, Any]) -> None:
        """Keep that a sample is damaged."""
        self.counters.add(**self._writer.put([failure_item(key, facts)], None))

    def flush(self) -> None:
        """Nothing is left to publish: `put` does it."""

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._writer.close()
            for shard in self._folder.shards():
                shard.shut()
