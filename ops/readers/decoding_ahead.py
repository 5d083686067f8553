"""Batches that are being read before they are asked for, where reading takes most of the time.

At the end of a batch some threads have nothing left to do while others finish their last sample:
they go on with the batch that comes next in the plan.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import replace
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.cursor import Cursor

from .sample_origins import BegunReads, OriginReads, OriginRecords

_MOST: Final = 4
"""Batches that are begun before they are asked for, at most: each takes memory."""


class BegunAhead:
    """The batches of a table that were begun, in their order. Nothing is begun before a second
    batch is asked for behind the first: someone who looks at one batch waits for no other."""

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
        for begun in (self._current, *(begun for _, begun in list(self._begun))):
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
