"""The store in the memory of this process."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.runtime.host_memory import available_memory
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.arrays import Array

from .entry import Entry, OpenShard, Shard
from .items import Item
from .records import RECORD, RECORD_BYTES, NewRecord, made_records
from .store import Store

_SHARDS: Final = 32
_LEAST_SHARD, _MOST_SHARD = 4 << 20, 64 << 20
_ALIGNED: Final = 64
_UNKNOWN: Final = 1 << 30
"""The memory that is available where the system does not say it."""
_GROUPS: Final = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
"""The limit of a control group and what is used of it, in the second and the first version."""


def _default_capacity() -> int:
    """Half of the memory that is available to this process."""
    available = [available_memory(), *(_left_in_group(*names) for names in _GROUPS)]
    return min((one for one in available if one is not None), default=_UNKNOWN) // 2


def _left_in_group(limit: str, used: str) -> int | None:
    """What is left of the limit of the control group, if there is one."""
    root = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        return max(int((root / limit).read_text()) - int((root / used).read_text()), 0)
    return None


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

    def __init__(self, capacity: int | None) -> None:
        super().__init__()
        self.capacity = _default_capacity() if capacity is None else capacity
        self._held = 0
        self._full = False
        self._shard: _MemoryShard | None = None

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

    def _write(self, items: list[Item]) -> dict[str, int]:
        places: list[_Place] = []
        with self._lock:
            for item in items:
                place = self._reserve(item)
                if place is None:
                    break
                places.append(place)
        parts: dict[_MemoryShard, list[NewRecord]] = {}
        size = 0
        for item, (shard, offset, kind) in zip(items, places, strict=False):
            shard.memory[offset : offset + len(item.data)] = item.data
            size += len(item.data)
            where = offset, len(item.data), item.seconds, kind, item.flags, item.shape
            parts.setdefault(shard, []).append(NewRecord(item.key, *where))
        kinds = {place.kind: place.kind for place in places}
        with self._lock:
            for shard, some in parts.items():
                self._catalog.add(shard, np.frombuffer(made_records(some, 0), RECORD), kinds)
        count = len(places)
        return {"stored": count, "refused": len(items) - count, "bytes_written": size}

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

    def close(self) -> None:
        """Nothing is open."""

    def after_fork(self) -> None:
        """In the child: what it keeps goes to a block of its own."""
        super().after_fork()
        self._shard = None
