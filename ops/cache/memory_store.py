"""The store in the memory of this process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.arrays import Array

from .catalog import Catalog
from .entry import Entry
from .items import Item, failure_item, new_items
from .records import FAILURE, RECORD, RECORD_BYTES, made_record
from .shard import OpenShard, Shard
from .store import Store

_SHARDS: Final = 32
_LEAST_SHARD, _MOST_SHARD = 4 << 20, 64 << 20
_ALIGNED: Final = 64


class _MemoryShard(Shard):
    """A block of memory. The system gives it page by page, when it is first written."""

    def __init__(self, number: int, size: int) -> None:
        super().__init__(number)
        self._memory = np.empty(size, np.uint8)
        self.opened = OpenShard(-1, self._memory)
        self.end = 0

    def open(self) -> OpenShard:
        """Its data."""
        assert self.opened is not None
        return self.opened

    @property
    def memory(self) -> Array:
        """All of the block."""
        return self._memory


class _Place(NamedTuple):
    shard: _MemoryShard
    offset: int
    kind: int


class MemoryStore(Store):
    """The results in memory, of at most `capacity` bytes. When it is full, nothing more is
    stored. A process that was forked has what was there, and keeps what is new for itself."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self._held = 0
        self._full = False
        self._catalog = Catalog()
        self._shard: _MemoryShard | None = None
        self._lock = threading.RLock()

    def find(self, keys: Sequence[bytes]) -> list[Entry | None]:
        """The entry of each key, or None."""
        found = [self._entry(key) for key in keys]
        misses = found.count(None)
        self.counters.add(hits=len(keys) - misses, misses=misses)
        return found

    def _entry(self, key: bytes) -> Entry | None:
        found = self._catalog.find(key)
        if found is None:
            return None
        entry, flags = found
        if not flags & FAILURE:
            return entry
        data = np.empty(entry.shape, np.uint8)
        self.read(entry, data)
        return entry.as_failure(data.tobytes())

    def read(
        self, entry: Entry, out: np.ndarray[Any, Any], first: int = 0, last: int | None = None
    ) -> bool:
        """Read rows of an entry into the same rows of `out`."""
        begin, end = entry.rows_of(first, last)
        target, opened = entry.bytes_of(out), entry.opened
        assert opened is not None
        assert opened.memory is not None
        target[begin:end] = opened.memory[entry.offset + begin : entry.offset + end]
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
        self._put(list(items), pool)

    def put_failure(self, key: bytes, facts: dict[str, Any]) -> None:
        """Keep that a sample is damaged."""
        self._put([failure_item(key, facts)], None)

    def _put(self, items: Sequence[Item], pool: WorkerPool | None) -> None:
        new = new_items(items, self._catalog.table.find)
        places: list[_Place] = []
        with self._lock:
            for item in new:
                place = self._reserve(item)
                if place is None:
                    break
                places.append(place)

        def copy(begin: int, end: int) -> None:
            for item, place in zip(new[begin:end], places[begin:end], strict=True):
                place.shard.memory[place.offset : place.offset + len(item.data)] = item.data

        count = len(places)
        if pool is None:
            copy(0, count)
        else:
            pool.run(copy, [(number, number + 1) for number in range(count)])
        records: dict[_MemoryShard, list[bytes]] = {}
        for item, (shard, offset, kind) in zip(new, places, strict=False):
            facts = item.seconds, kind, item.flags, item.shape, 0
            record = made_record(item.key, offset, len(item.data), *facts)
            records.setdefault(shard, []).append(record)
        kinds = {place.kind: place.kind for place in places}
        with self._lock:
            for shard, parts in records.items():
                self._catalog.add(shard, np.frombuffer(b"".join(parts), RECORD), kinds)
        size = sum(len(item.data) for item in new[:count])
        self.counters.add(stored=count, refused=len(new) - count, bytes_written=size)

    def _reserve(self, item: Item) -> _Place | None:
        """A place for an item; None if there is no room."""
        kind = self._catalog.kind_number(item.kind)
        size = -(-len(item.data) // _ALIGNED) * _ALIGNED
        if kind is None or self._held + size + RECORD_BYTES > self.capacity:
            if not self._full:
                self._full = True
                warn_user(
                    f"the cache in memory is full, with {self._held} bytes of results: nothing "
                    "more is stored in it. Give it more by `cache_bytes`, or use a folder",
                    RuntimeWarning,
                )
            return None
        shard = self._shard
        if shard is None or shard.end + size > len(shard.memory):
            block = min(max(self.capacity // _SHARDS, _LEAST_SHARD), _MOST_SHARD)
            try:
                shard = _MemoryShard(len(self._catalog.shards), max(block, size))
            except MemoryError:
                return None
            self._catalog.shards[shard.number] = self._shard = shard
        offset = shard.end
        shard.end += size
        self._held += size + RECORD_BYTES
        return _Place(shard, offset, kind)

    def flush(self) -> None:
        """There is nothing to publish."""

    def close(self) -> None:
        """Nothing is open."""

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock."""
        self.counters.after_fork()
        self._lock = threading.RLock()
        self._shard = None
