"""Data on other machines, as readers ask for them: their storage, and what the plan wants next."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gradiva.eager.extension import Int64Array
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.storage.storage import Storage

from .sample_origins import OriginReads

_STEP = 64
"""Samples that are planned for at once, at most."""
_TOGETHER = 8
"""The same, of the first ones."""
_FAR = 1024
"""Samples that are planned for at most, where a cache has some of them: these take no room."""


def storage_of(given: Mapping[str, Any]) -> Storage:
    """What reads the URLs among the arguments of a reader; it begins with the first one."""
    return Storage(given["storage_options"], given["read_ahead_bytes"])


class RemoteAhead:
    """Walks along the plan in front of a reader, as far as the bytes on the way have room."""

    def __init__(self, reads: OriginReads, storage: Storage) -> None:
        self._reads, self._storage = reads, storage
        self._follower: Cursor | None = None
        self._scout: Cursor | None = None
        self._read = self._planned = 0
        self._process = os.getpid()
        self._known = self._known_bytes = 0
        """Samples that were planned for, and their bytes."""

    def begin(self, cursor: Cursor, count: int) -> None:
        """The reader will begin there, with batches of an unknown size: fetch the first samples, at
        most so many. Few are asked for at once, so that a small batch does not wait for all."""
        self._go_to(cursor)
        count = min(count, cursor.plan.length(cursor.epoch))
        for begin in range(0, count, _TOGETHER):
            self._plan(min(begin + _TOGETHER, count), count, near=0)

    def follow(self, cursor: Cursor, indices: Int64Array) -> None:
        """The reader has just taken these samples; fetch what comes behind them."""
        begin, count = self._read, len(indices)
        if self._process != os.getpid():
            self._follower = None  # what was fetched stays in the parent of this fork
        if self._follower is not None:
            self._follower.walk(count)
            self._read += count
        at = self._follower
        if at is None or (at.plan, at.epoch, at.index) != (cursor.plan, cursor.epoch, cursor.index):
            self._go_to(cursor)
            begin = 0
            # As what nobody has expected.
            self._storage.plan(-1)
            self._reads.prefetch(indices)
            self._storage.fetch(urgent=True)
        else:
            self._storage.passed(begin)
        if begin == 0:
            # What the first batches need comes first, each sample by a request of its own: joined
            # with all that lies near it, and is wanted later, it would be there last.
            self._plan(self._read, count, urgent=True)
            self._plan(self._read + count, count)
        # At most an epoch ahead: what is read again within it is still there, or too much.
        ahead = cursor.plan.length(cursor.epoch)
        if self._reads.selective:
            ahead = min(ahead, max(_FAR, 4 * count))
            if self._planned - self._read > ahead // 2:
                return  # versions of many objects are asked for together
        self._plan(self._read + ahead, count)

    def _go_to(self, cursor: Cursor) -> None:
        """Forget what was planned, and begin with what is read next from there."""
        self._storage.forget()
        self._follower = Cursor(cursor.plan, cursor.epoch, cursor.index)
        self._scout = Cursor(cursor.plan, cursor.epoch, cursor.index)
        self._read = self._planned = 0
        self._process = os.getpid()
        self._storage.passed(0)

    def _plan(self, most: int, batch: int, urgent: bool = False, near: int | None = None) -> None:
        """Go on to the sample with this number, if there is room: for long, unless the next batches
        (of so many samples) have to be planned."""
        storage, scout = self._storage, self._scout
        assert scout is not None
        soon = self._planned - self._read < 2 * batch
        if storage.room < storage.budget // 4 and not soon:
            return  # larger steps have more to join
        room = storage.room
        while room > storage.budget >> 5 and self._planned < most:
            # As many as take half of it, as far as is known: large ones do not exceed it by much.
            count = 1
            if self._known:
                mean = max(1, self._known_bytes // self._known)
                count = min(max(1, room // (2 * mean)), _STEP)
            count = min(count, most - self._planned)
            self._planned += count
            storage.plan(self._planned - 1)
            self._reads.prefetch(scout.walk(count))
            self._known += count
            self._known_bytes += room - storage.room
            room = storage.room
        storage.fetch(urgent, near)
