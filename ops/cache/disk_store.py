"""The store in a folder, which all processes share that open it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from .catalog import Catalog
from .disk_writer import DiskWriter
from .entry import Entry
from .folder import Folder
from .items import Item
from .shard_files import read_bytes
from .store import Store, WarningsOnce

_UNKNOWN: Final = 64 << 30
"""The capacity where the system does not say how much is free."""


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
            self.capacity = self._default_capacity()

    def _begin(self, capacity: int | None) -> None:
        self._catalog = Catalog()
        self._folder = Folder(self.path, self._catalog)
        self._writer = DiskWriter(
            self._folder, self._catalog, capacity or 0, self._lock, self._tell
        )

    def _default_capacity(self) -> int:
        """80 % of what is free, beside what the folder holds."""
        try:
            facts = os.statvfs(self.path)
        except (OSError, AttributeError):
            return _UNKNOWN
        return facts.f_bavail * facts.f_frsize * 4 // 5 + self._folder.held

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
        super().after_fork()
        self._tell.after_fork()
        since = self._folder.opened
        self._begin(self.capacity)
        self._folder.opened = since

    def _entries(self, keys: Sequence[bytes]) -> list[Entry | None]:
        found = super()._entries(keys)
        if None in found and self._folder.is_due:
            with self._lock:
                if self._folder.is_due:
                    self._look()
            found = [one or self._entry(key) for one, key in zip(found, keys, strict=True)]
        for shard in {entry.shard for entry in found if entry is not None}:
            shard.touch()
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

    def _write(self, items: list[Item]) -> dict[str, int]:
        return self._writer.put(items)

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._writer.close()
            for shard in self._folder.shards():
                shard.shut()
