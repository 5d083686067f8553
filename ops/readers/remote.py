"""Data on other machines, as readers ask for them: their storage, and what the plan wants next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradiva.eager.extension import Int64Array
from gradiva.eager.storage.storage import Storage

from .cursor import Cursor
from .table import Table

__all__ = ["RemoteAhead", "storage_of"]

_STEP = 64
"""Samples that are planned for at once, at most."""


def storage_of(given: Mapping[str, Any]) -> Storage:
    """What reads the URLs among the arguments of a reader; it begins with the first one."""
    return Storage(given["storage_options"], given["read_ahead_bytes"])


class RemoteAhead:
    """Walks along the plan in front of a reader, as far as the bytes on the way have room."""

    def __init__(self, table: Table, storage: Storage) -> None:
        self._table, self._storage = table, storage
        self._follower: Cursor | None = None
        self._scout: Cursor | None = None
        self._read = self._planned = 0

    def follow(self, cursor: Cursor, indices: Int64Array) -> None:
        """The reader has just taken these samples; fetch what comes behind them."""
        begin, count = self._read, len(indices)
        if self._follower is not None:
            self._follower.walk(count)
            self._read += count
        at = self._follower
        if at is None or (at.plan, at.epoch, at.index) != (cursor.plan, cursor.epoch, cursor.index):
            self._storage.forget()
            self._follower = Cursor(cursor.plan, cursor.epoch, cursor.index)
            self._scout = Cursor(cursor.plan, cursor.epoch, cursor.index)
            self._read = self._planned = 0
            self._begin(indices)
        else:
            self._storage.passed(begin)
        # At most an epoch ahead: what is read again within it is still there, or too much.
        self._plan(self._read + cursor.plan.length(cursor.epoch), count)

    def _begin(self, indices: Int64Array) -> None:
        """These first, and what the next batch needs: each as requests of its own. Joined with all
        that lies near it, and is wanted later, it would be there last."""
        storage = self._storage
        storage.passed(0)
        storage.plan(-1)  # as what nobody has expected
        self._table.prefetch(indices)
        storage.fetch(urgent=True)
        self._plan(len(indices), len(indices))

    def _plan(self, most: int, batch: int) -> None:
        """Go on to the sample with this number behind the first batch, if there is room: for long,
        unless the next batches (of so many samples) have to be planned."""
        storage, scout = self._storage, self._scout
        assert scout is not None
        soon = self._planned - self._read < 2 * batch
        if storage.room < storage.budget // 4 and not soon:
            return  # larger steps have more to join
        step, room = 1, storage.room
        while room > 0 and self._planned < most:
            count = min(step, most - self._planned)
            self._planned += count
            storage.plan(self._planned - 1)
            self._table.prefetch(scout.walk(count))
            # Large samples are planned for one by one, so that they do not exceed the room by much.
            used, room = room - storage.room, storage.room
            step = min(2 * step, _STEP) if 4 * used < room else max(step // 2, 1)
        storage.fetch()
