"""What readers do before a batch is asked for: begin to read it, and fetch remote data."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.storage.storage import Storage

from .sample_origins import BegunReads, OriginReads, OriginRecords

_MOST: Final = 4
"""Batches that are begun before they are asked for, at most: each takes memory."""
_STEP: Final = 64
"""Samples that are planned for at once, at most."""
_TOGETHER: Final = 8
"""The same, of the first ones."""
_FAR: Final = 1024
"""Samples that are planned for at most, where a cache has some of them: these take no room."""


class BegunAhead:
    """The batches of a table that were begun, in their order, where reading takes most of the time.

    At the end of a batch some threads have nothing left to do while others finish their last
    sample: they go on with the batch that comes next in the plan. Nothing is begun before a second
    batch is asked for behind the first: someone who looks at one batch waits for no other.
    """

    def __init__(self, reads: OriginReads) -> None:
        self._reads = reads
        self._begun: deque[tuple[op.Int64Array, BegunReads]] = deque()
        self._current: BegunReads | None = None
        self._closed = False
        self._expected: op.Int64Array | None = None
        self._process = os.getpid()

    def read(
        self, indices: op.Int64Array, cursor: Cursor, batch_size: int, pool: op.WorkerPool
    ) -> OriginRecords:
        """These samples, as `OriginReads.read` does. cursor: behind them; batch_size: that of the
        batch, and of the next ones as far as is known."""
        goes_on = self._expected is not None and np.array_equal(self._expected, indices)
        others = self._begun and not np.array_equal(self._begun[0][0], indices)
        if others or self._closed or self._process != os.getpid():
            self._forget()
        begun = self._begun.popleft()[1] if self._begun else None
        if begun is None and goes_on:
            begun = self._reads.begin(indices, pool)
        coming = replace(cursor)
        self._expected = _next(coming, batch_size)
        if begun is None:
            return self._reads.read(indices, pool)
        self._current = begun
        try:
            self._begin(coming, batch_size, pool)
            records = begun.wait(pool)
        except BaseException:
            begun.stop()
            raise
        finally:
            self._current = None  # it holds a batch
        if self._closed:
            raise op.OperatorRuntimeError("the reader was closed while a batch was read")
        return records

    def close(self) -> None:
        """What was begun is not waited for any more. May be called in another thread, while
        one reads."""
        self._closed = True
        for begun in (self._current, *(begun for _, begun in self._begun.copy())):
            if begun is not None:
                begun.stop()

    def _begin(self, coming: Cursor, batch_size: int, pool: op.WorkerPool) -> None:
        """Begin batches until there is something to do for all threads. coming: the place behind
        the next batch."""
        following, number = self._expected, 0
        most = min(-(-pool.num_threads // batch_size), _MOST)
        while following is not None and number < most:
            if number == len(self._begun):
                try:
                    begun = self._reads.begin(following, pool)
                except (op.GradivaError, MemoryError):
                    return  # it is raised where the batch is asked for
                if begun is None:
                    return
                self._begun.append((following, begun))
            following, number = _next(coming, batch_size), number + 1

    def _forget(self) -> None:
        """Forget what was begun. That of the parent of a fork has no threads here."""
        for _, begun in self._begun:
            begun.stop()
        self._begun.clear()
        self._closed, self._process = False, os.getpid()


def _next(cursor: Cursor, batch_size: int) -> op.Int64Array | None:
    """The next batch of the epoch; None at its end."""
    if cursor.index >= cursor.length:
        return None
    return cursor.take_in_epoch(batch_size)[0]


class RemoteAhead:
    """Walks along the plan in front of a reader, as far as the bytes on the way have room."""

    def __init__(self, reads: OriginReads, storage: Storage) -> None:
        self._reads, self._storage = reads, storage
        self._follower: Cursor | None = None
        self._scout: Cursor | None = None
        self._read = self._planned = 0
        self._process = os.getpid()
        self._needed = True
        """Whether some of the last samples that were planned for had to be read."""
        self._known = self._known_bytes = 0
        """Samples that were planned for, and their bytes."""

    def begin(self, cursor: Cursor, count: int) -> None:
        """The reader will begin there, with batches of an unknown size: fetch the first samples, at
        most so many. Few are asked for at once, so that a small batch does not wait for all."""
        self._go_to(cursor)
        count = min(count, cursor.plan.length(cursor.epoch))
        for begin in range(0, count, _TOGETHER):
            self._plan(min(begin + _TOGETHER, count), count, near=0)

    def follow(self, cursor: Cursor, indices: op.Int64Array) -> None:
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
            # Versions of many objects are asked for together. Where they are known, and nothing is
            # needed, small steps keep other threads from the interpreter for a shorter time.
            step = ahead // 2 if self._needed else count
            if self._planned - self._read > ahead - step:
                return
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
            self._needed = self._reads.prefetch(scout.walk(count))
            self._known += count
            self._known_bytes += room - storage.room
            room = storage.room
        storage.fetch(urgent, near)
