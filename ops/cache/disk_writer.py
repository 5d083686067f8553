"""Putting results into a folder: a shard of this process, and room for it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.types.arrays import Array, Int64Array

from .catalog import Catalog
from .checksums import BLOCK, block_sums, key_words
from .folder import Folder
from .items import Item
from .packing import can_pack
from .records import RECORD, RECORD_BYTES, made_record
from .shard_writer import ALIGNED, ShardWriter, needed_bytes
from .store import WarningsOnce

_TOGETHER: Final = 1 << 19
"""Bytes that are written by one call, about: they are still in the cache of the core."""
_PADDING: Final = np.zeros(ALIGNED, np.uint8)
_PATIENCE: Final = 60.0
"""Seconds until something is stored again after a write has failed."""
_SHARDS: Final = 32
_LEAST_SHARD, _MOST_SHARD = 4 << 20, 256 << 20
"""A shard has about a 32nd of the capacity, but not less and not more bytes than these."""


class _Place(NamedTuple):
    """Where an item is written. kind: the number of its kind there."""

    writer: ShardWriter
    offset: int
    kind: int


def _ranges(sizes: Int64Array) -> list[tuple[int, int]]:
    """Ranges of results that have about `_TOGETHER` bytes each, or one result."""
    numbers = (np.cumsum(sizes) - sizes) // _TOGETHER
    bounds = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), len(sizes)]
    return list(itertools.pairwise(bounds))


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
            items = [item.packed() for item in items]
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
        needed = needed_bytes(len(item.data)) + RECORD_BYTES
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
        offset = writer.reserve(len(item.data))
        self._folder.held += writer.size - before + RECORD_BYTES
        return _Place(writer, offset, number)

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
        count = len(places)
        written = [False] * count
        keys = np.array([key_words(item.key) for item in items[:count]], np.uint64).reshape(-1, 2)
        sizes = np.array([len(item.data) for item in items[:count]], np.int64)
        addresses = np.array([address_of(item.data) for item in items[:count]], np.int64)
        blocks = -(-sizes // BLOCK)
        ends = np.cumsum(blocks)
        begins = ends - blocks
        sums = np.empty(int(blocks.sum()), np.uint64)
        for begin, end in _ranges(sizes):
            block_sums(addresses, sizes, keys, begins, sums, begin, end)
            number = begin
            while number < end:
                # Those that lie one behind the other are written by one call.
                first, (writer, place, _), parts = number, places[number], list[Array]()
                at = place
                while number < end and places[number][:2] == (writer, at):
                    own = sums[begins[number] : ends[number]]
                    size = len(items[number].data) + own.nbytes
                    at += needed_bytes(len(items[number].data))
                    parts += items[number].data, own, _PADDING[: at - places[number].offset - size]
                    number += 1
                try:
                    writer.write(place, parts)
                except OSError as error:
                    self._stop(error)
                    break
                written[first:number] = [True] * (number - first)
        return written

    def _publish(
        self, items: Sequence[Item], places: Sequence[_Place], written: Sequence[bool]
    ) -> tuple[int, int]:
        """Have this process and others find the items that were written. Returns how many there
        are, and their bytes."""
        records: dict[ShardWriter, list[bytes]] = {}
        size = count = 0
        for item, (writer, offset, number), good in zip(items, places, written, strict=False):
            if good:
                facts = item.seconds, number, item.flags, item.shape, writer.shard.seed
                record = made_record(item.key, offset, len(item.data), *facts)
                records.setdefault(writer, []).append(record)
                size += len(item.data)
        with self._lock:
            for writer, parts in records.items():
                data = b"".join(parts)
                try:
                    writer.publish(data)
                except OSError as error:
                    self._stop(error)
                    self._writer = None
                    continue
                self._catalog.add(
                    writer.shard, np.frombuffer(data, RECORD), writer.kinds(self._catalog)
                )
                count += len(parts)
        return count, size

    def _stop(self, error: OSError) -> None:
        """Store nothing for a while."""
        self._stopped = time.monotonic() + _PATIENCE
        text = error.strerror or str(error)
        self._tell("use", f"nothing more is stored in the cache {self._folder.path}: {text}")

    def close(self) -> None:
        """End the shard."""
        self._writer = None
