"""Putting results into a folder: a shard of this process, and room for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from .catalog import Catalog
from .folder import Folder
from .items import Item, packed_items
from .packing import can_pack
from .records import RECORD, RECORD_BYTES, NewRecord, made_records
from .shard_writer import ShardWriter, needed_bytes
from .store import WarningsOnce
from .write_several import write_several

_PATIENCE: Final = 60.0
"""Seconds until something is stored again after a write has failed."""
_SHARDS: Final = 32
_LEAST_SHARD, _MOST_SHARD = 4 << 20, 256 << 20
"""A shard has about a 32nd of the capacity, but not less and not more bytes than these."""


class _Place(NamedTuple):
    """Where an item is written. taken: the bytes that it takes there; kind: the number of its
    kind."""

    writer: ShardWriter
    offset: int
    taken: int
    kind: int


class DiskWriter:
    """Writes results into shards of this process. Any thread may put."""

    def __init__(
        self,
        folder: Folder,
        catalog: Catalog,
        capacity: int,
        lock: threading.RLock,
        tell: WarningsOnce,
    ) -> None:
        self._capacity = capacity
        self._folder, self._catalog, self._lock, self._tell = folder, catalog, lock, tell
        self._writer: ShardWriter | None = None
        self._stopped = float("-inf")

    @property
    def capacity(self) -> int:
        """The most bytes that the folder may hold."""
        return self._capacity

    @capacity.setter
    def capacity(self, value: int) -> None:
        self._capacity = value
        self._stopped = float("-inf")

    def put(self, items: list[Item]) -> dict[str, int]:
        """Keep results whose keys are new. Returns what is to be counted."""
        if time.monotonic() < self._stopped:
            return {"refused": len(items)}
        if can_pack():
            items = packed_items(items)
        places: list[_Place] = []
        with self._lock:
            if self._writer is not None and not self._writer.is_there:
                self._writer = None  # the folder was cleared
            try:
                for item in items:
                    place = self._reserve(item)
                    if place is None:
                        break
                    places.append(place)
            except OSError as error:
                self._stop(error)
        written = self._write(items, places)
        stored, size = self._publish(items, places, written)
        return {"stored": stored, "refused": len(items) - stored, "bytes_written": size}

    def _reserve(self, item: Item) -> _Place | None:
        """A place for an item; None if there is no room. Raises OSError."""
        taken = needed_bytes(len(item.data))
        needed = taken + RECORD_BYTES
        room = self._folder.held + needed <= self._capacity
        if not room and not self._folder.make_room(needed, self._capacity):
            self._stopped = time.monotonic() + _PATIENCE
            text = f"the cache {self._folder.path} is full, and all of it is used"
            self._tell("full", f"{text}: nothing more is stored in it")
            return None
        writer = self._writer
        if writer is None or writer.end + needed > self._shard_bytes():
            writer = self._begin()
        before = writer.size
        number = writer.kind(item.kind)
        if number is None:
            writer = self._begin()
            before, number = writer.size, writer.kind(item.kind)
            assert number is not None
        offset = writer.reserve(taken)
        self._folder.held += writer.size - before + RECORD_BYTES
        return _Place(writer, offset, taken, number)

    def _shard_bytes(self) -> int:
        return min(max(self._capacity // _SHARDS, _LEAST_SHARD), _MOST_SHARD)

    def _begin(self) -> ShardWriter:
        """Begin a new shard. Raises OSError."""
        self._writer = None
        self._folder.make()
        writer = ShardWriter(self._folder.path, self._folder.new_number(), self._folder.owner)
        self._folder.add(writer.shard)
        self._folder.held += writer.size
        self._writer = writer
        return writer

    def _write(self, items: Sequence[Item], places: Sequence[_Place]) -> list[bool]:
        """Write the data of the items that have a place. Returns whether each was written."""
        items = items[: len(places)]
        where = [(writer.handle, offset, taken) for writer, offset, taken, _ in places]
        keys, data = [item.key for item in items], [item.data for item in items]
        written = write_several(keys, data, where)
        # What the kernel could not write is tried here, which says why.
        for number in [number for number, good in enumerate(written) if not good]:
            try:
                writer, offset, taken, _ = places[number]
                writer.write(offset, taken, items[number].key, items[number].data)
            except OSError as error:
                self._stop(error)
                break
            written[number] = True
        return written

    def _publish(
        self, items: Sequence[Item], places: Sequence[_Place], written: Sequence[bool]
    ) -> tuple[int, int]:
        """Have this process and others find the items that were written. Returns how many there
        are, and their bytes."""
        parts: dict[ShardWriter, list[NewRecord]] = {}
        size = count = 0
        for item, (writer, offset, _, kind), good in zip(items, places, written, strict=False):
            if good:
                where = offset, len(item.data), item.seconds, kind, item.flags, item.shape
                parts.setdefault(writer, []).append(NewRecord(item.key, *where))
                size += len(item.data)
        records = {writer: made_records(some, writer.shard.seed) for writer, some in parts.items()}
        with self._lock:
            for writer, data in records.items():
                try:
                    writer.publish(data)
                except OSError as error:
                    self._stop(error)
                    self._writer = None
                    continue
                made = np.frombuffer(data, RECORD)
                self._catalog.add(writer.shard, made, writer.kinds(self._catalog))
                count += len(made)
        return count, size

    def _stop(self, error: OSError) -> None:
        """Store nothing for a while."""
        self._stopped = time.monotonic() + _PATIENCE
        text = error.strerror or str(error)
        self._tell("use", f"nothing more is stored in the cache {self._folder.path}: {text}")

    def close(self) -> None:
        """End the shard."""
        self._writer = None
