"""Reads the source of a loop ahead of the loop, and runs the loop's program on the batches."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from gradiva.eager.execution.quarantine import Quarantined, collecting
from gradiva.eager.jit.background_kernel import expect_many
from gradiva.eager.readers.read_ahead import ReadAhead
from gradiva.eager.runtime.finalizer_thread import finalizer_thread
from gradiva.eager.runtime.runners import Runners
from gradiva.eager.runtime.threads import started
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import GradivaError, OperatorRuntimeError, without_frames
from gradiva.eager.values.batch import Batch

__all__ = ["Item", "LoopSource", "Prefetcher"]


class LoopSource(Protocol):
    """What a captured loop reads: a reader or an external source, one batch at a time."""

    name: str
    pool: WorkerPool | None
    """The number of threads that the user has chosen."""
    memory: dict[str, Any]
    """What the loops over this source leave for the next loop."""
    ahead: ReadAhead
    """What is read ahead, for any loop over this source."""
    names: Sequence[str] | None
    """The names of the outputs, if users get them by name."""

    @property
    def any_thread(self) -> bool:
        """Whether `read` may be called by a different thread each time."""

    def read(self) -> tuple[Batch, ...]:
        """The next batches. Raises StopIteration at the end."""

    def count(self) -> int | None:
        """How many batches the loop delivers, or None where that is not known."""

    def mark(self) -> Any:
        """The current position in the data."""

    def rewind(self, mark: Any, undelivered: list[Any]) -> None:
        """Go back to a position. `undelivered` was read since then and is to be read again."""

    def claim(self) -> None:
        """Called when a loop takes a batch."""


class Item:
    """One step: what was read, and what was computed from it.

    error: what reading raised, StopIteration at the end; known, results: the calls that were
    computed, by signature, and those of their values that were kept; read: the values, as signature
    and output, that one of these calls reads; shared: the calls whose values lie in memory of
    others; failure: why there are none; valid, dropper: the mask of the samples that are left where
    the call with this signature has lost others: the results that depend on it have it, too;
    noted: samples that could not be read, for the quarantine of who takes the item.
    """

    def __init__(self, mark: Any) -> None:
        self.mark = mark
        self.batches: tuple[Batch, ...] = ()
        self.error: BaseException | None = None
        self.known: frozenset[int] = frozenset()
        self.results: dict[int, tuple[Batch, ...]] = {}
        self.read: frozenset[tuple[int, int]] = frozenset()
        self.shared: set[int] = set()
        self.failure: str | None = None
        self.valid: Any = None
        self.dropper = 0
        self.noted: list[Sequence[Quarantined]] = []
        self.computed = threading.Event()


class Prefetcher:
    """Two threads that read items, one at a time, at most `depth` of them in advance, and compute
    what they have read. A source that wants one thread is read by one, and others compute.

    compute: called with an item and a pool of `num_threads` threads; finish: when it has stopped.
    """

    def __init__(
        self,
        source: LoopSource,
        compute: Callable[[Item, WorkerPool], None],
        finish: Callable[[], None],
        num_threads: int,
        depth: int = 3,
    ) -> None:
        self._source = source
        self._compute = compute
        self._finish = finish
        self._depth = depth
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._stopping = self._ended = False
        self._working: Item | None = None
        self._process = os.getpid()
        self._pool = WorkerPool(num_threads, dedicated=num_threads > 1)
        self._turn = threading.Lock()
        self._runners = Runners("ahead") if num_threads > 1 and not source.any_thread else None
        finalizer_thread.ready()  # for the finalizer of the loop
        expect_many()
        self._threads = [started(self._run, "gradiva-ahead")]
        if num_threads > 1 and self._runners is None:
            with suppress(OperatorRuntimeError):  # one thread is enough
                self._threads.append(started(self._run, "gradiva-ahead-1"))
        _running.add(self)

    def get(self) -> Item:
        """Wait for the next item, and return it."""
        with self._changed:
            while not self._items:
                self._check()
                self._changed.wait(1.0)
            item = self._items[0]
        while not item.computed.wait(1.0):
            self._check()
        with self._changed:
            self._items.popleft()
            self._changed.notify_all()
            return item

    def _check(self) -> None:
        """In the child of a fork nothing is prefetched: threads do not survive a fork."""
        if self._process != os.getpid():
            raise OperatorRuntimeError(
                "this loop was begun in the parent process of this fork: begin another one"
            )

    def place(self) -> Any:
        """The position in the data before everything that was read ahead."""
        with self._changed:
            waiting = self._undelivered()
            return waiting[0].mark if waiting else self._source.mark()

    def _undelivered(self) -> list[Item]:
        return [*self._items, *([self._working] if self._working else [])]

    def stop(self) -> None:
        """Stop, and move the source back to before what was read and not delivered."""
        if self._process != os.getpid():
            return  # its thread does not exist here, and may hold the lock forever
        self.halt()
        items = self._undelivered()
        if items:
            undelivered = [item.error or item.batches for item in items]
            self._source.rewind(items[0].mark, undelivered)
        with self._changed:
            self._items.clear()  # not earlier: others may ask for the position

    def halt(self, timeout: float | None = None) -> None:
        """Stop the threads. timeout: seconds to wait for them."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._pool.cancelled = True
        until = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_left(until))
        if self._runners is not None:
            self._runners.stop(_left(until))
        self._pool.close()
        self._finish()

    def _run(self) -> None:
        while True:
            with self._turn:
                item = self._read_next()
            if item is None:
                return
            if item.computed.is_set():
                continue
            if self._runners is not None:
                self._runners.put(self._make, item)
            else:
                self._make(item)
            del item

    def _read_next(self) -> Item | None:
        """Wait until there is room for another item, and return it. None if no more items come."""
        with self._changed:
            while len(self._items) >= self._depth and not self._stopping:
                self._changed.wait()
            if self._stopping or self._ended:
                return None
            item = self._working = Item(self._source.mark())
        read_item(self._source, item)
        if item.error is not None or self._stopping:
            item.computed.set()
        with self._changed:
            self._working = None
            self._items.append(item)
            self._changed.notify_all()
            self._ended = item.error is not None and not isinstance(item.error, GradivaError)
        return item

    def _make(self, item: Item) -> None:
        try:
            self._compute(item, self._pool)
        except BaseException as error:  # noqa: BLE001  the step then runs without results from ahead
            item.failure = f"computing this step ahead failed: {error!r}"
        item.computed.set()


def _left(until: float | None) -> float | None:
    """The seconds left until `until`; None if there is no limit."""
    return None if until is None else max(until - time.monotonic(), 0.0)


_running: weakref.WeakSet[Prefetcher] = weakref.WeakSet()


@atexit.register
def _halt_all() -> None:
    for ahead in list(_running):
        if ahead._process == os.getpid():
            ahead.halt(timeout=2.0)


def read_item(source: LoopSource, item: Item) -> None:
    """Read into an item. An error is kept in the item, for its own step."""
    try:
        with collecting() as noted:
            item.batches = source.read()
        item.noted.append(noted)
    except BaseException as error:  # noqa: BLE001  raised where the item is delivered
        item.error = without_frames(error)
