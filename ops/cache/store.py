"""What all stores have in common: results by key, found, put, read and counted."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.arrays import Array, Float64Array

from .catalog import Catalog
from .entry import Entry
from .items import Item, failure_item
from .records import FAILURE

_NAMES: Final = (
    *("hits", "misses", "stored", "damaged", "refused"),
    *("bytes_read", "bytes_written", "seconds_saved"),
)


class Counters:
    """What a store has done so far. Any thread may count."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: dict[str, float] = dict.fromkeys(_NAMES, 0)
        self._running: list[tuple[weakref.ref[Array], Float64Array]] = []

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()

    def add(self, **amounts: float) -> None:
        """Add to some of the counters."""
        with self._lock:
            for name, amount in amounts.items():
                self._totals[name] += amount

    def watch(self, owner: Array, counts: Float64Array) -> None:
        """Count what kernels write into `counts`, (threads, at least 2), bytes and seconds, as long
        as the array `owner` exists."""
        with self._lock:
            self._take_in()
            self._running.append((weakref.ref(owner), counts))

    def _take_in(self) -> None:
        """Add the counts of kernels that have ended."""
        running = []
        for owner, counts in self._running:
            if owner() is None:
                self._totals["bytes_read"] += int(counts[:, 0].sum())
                self._totals["seconds_saved"] += float(counts[:, 1].sum())
            else:
                running.append((owner, counts))
        self._running = running

    def totals(self) -> dict[str, int | float]:
        """All counters."""
        with self._lock:
            self._take_in()
            found: dict[str, int | float] = dict(self._totals)
            for _, counts in self._running:
                found["bytes_read"] += int(counts[:, 0].sum())
                found["seconds_saved"] += float(counts[:, 1].sum())
        return found


class WarningsOnce:
    """Gives the first warning on each topic. Any thread may call it."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, topic: str, text: str) -> None:
        """Warn, if nothing was said of this topic before."""
        with self._lock:
            if topic in self._topics:
                return
            self._topics.add(topic)
        warn_user(
            f"{text}. What is not found there is computed, as without a cache", RuntimeWarning
        )

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have held the lock."""
        self._lock = threading.Lock()


class Store(ABC):
    """Results by key. All methods may be called by several threads.

    A key has 16 bytes, and its bits are evenly distributed: it is a digest. What a store cannot do
    costs time and nothing else: it warns once, counts, and never raises.
    """

    capacity: int
    """The most bytes that it may hold."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._catalog = Catalog()
        self._lock = threading.RLock()
        self._pending: set[bytes] = set()
        """Keys of results that are being written."""

    def find(self, keys: Sequence[bytes]) -> list[Entry | None]:
        """The entry of each key, or None."""
        found = self._entries(keys)
        misses = found.count(None)
        self.counters.add(hits=len(keys) - misses, misses=misses)
        return found

    def _entries(self, keys: Sequence[bytes]) -> list[Entry | None]:
        return [self._entry(key) for key in keys]

    def _entry(self, key: bytes) -> Entry | None:
        found = self._catalog.find(key)
        if found is None:
            return None
        entry, flags = found
        if not flags & FAILURE:
            return entry
        data = np.empty(entry.shape, np.uint8)
        return entry.as_failure(data.tobytes()) if self.read(entry, data) else None

    def put(self, key: bytes, value: Array, layout: str, seconds: float) -> None:
        """Keep a result. One whose key is there already is not stored again."""
        self.put_many([key], [value], layout, [seconds])

    def put_many(
        self, keys: Sequence[bytes], values: Sequence[Array], layout: str, seconds: Sequence[float]
    ) -> None:
        """Keep results, such as the samples of a batch."""
        self._put(map(Item.of, keys, values, [layout] * len(keys), seconds))

    def put_failure(self, key: bytes, facts: dict[str, Any]) -> None:
        """Keep that a sample is damaged. facts: plain JSON."""
        self._put([failure_item(key, facts)])

    def _put(self, items: Iterable[Item]) -> None:
        by_key = {item.key: item for item in items}
        find = self._catalog.table.find
        with self._lock:
            new = {key for key in by_key.keys() - self._pending if find(key) is None}
            self._pending |= new
        try:
            if new:
                chosen = [item for key, item in by_key.items() if key in new]
                self.counters.add(**self._write(chosen))
        finally:
            with self._lock:
                self._pending -= new

    @abstractmethod
    def _write(self, items: list[Item]) -> dict[str, int]:
        """Keep results whose keys are new. Returns what is to be counted."""

    @abstractmethod
    def read(
        self, entry: Entry, out: np.ndarray[Any, Any], first: int = 0, last: int | None = None
    ) -> bool:
        """Read the rows `first` to `last - 1` of the first axis into the same rows of `out`.

        out: C-contiguous, of the dtype and shape of the whole sample. Other rows of it may be
        filled too, with what they are in the sample. Returns False for data that are damaged or
        gone; the store then forgets the entry.
        """

    def statistics(self) -> dict[str, int | float]:
        """What was done since the store was opened: hits and misses of `find`, results that were
        stored, damaged entries, results that were refused because there was no room, bytes that
        were read and written, and the seconds that it had taken to compute what was read."""
        return self.counters.totals()

    @abstractmethod
    def close(self) -> None:
        """Close the files. The store may still be used, and opens them again."""

    def after_fork(self) -> None:
        """In the child: another thread of the parent may have been at work."""
        self.counters.after_fork()
        self._lock = threading.RLock()
        self._pending = set()
