"""`Prefetch`: threads that read items from a source, in advance, and compute them.

One thread at a time reads. Either each thread computes what it has read, while another one reads;
or one thread reads for all, and runners compute. Items are taken in the order in which they were
read. An item has its own error: the next one is made as if nothing had happened.
"""

from __future__ import annotations

import atexit
import itertools
import operator
import os
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from gradiva.eager.jit.background_kernel import expect_many
from gradiva.eager.runtime.finalizer_thread import finalizer_thread
from gradiva.eager.runtime.threads import started
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support import tracing
from gradiva.eager.support.errors import OperatorRuntimeError, without_frames
from gradiva.eager.support.shared_state import LiveObjects

__all__ = ["Item", "Prefetch", "reading_pool"]


def reading_pool(pool: WorkerPool) -> WorkerPool:
    """Let `pool` compute for several threads. Returns another pool to read with, because reading
    must not wait behind computing."""
    pool.dedicated = True
    return WorkerPool(pool.num_threads, cpus=pool.cpus)


class Item:
    """What is read and computed together. error: what reading or computing has raised; done:
    whether it may be taken."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.error: BaseException | None = None
        self.done = False


I = TypeVar("I", bound=Item)  # noqa: E741


class Prefetch(Generic[I]):
    """Makes items in advance; `take` returns them in order. What they are, subclasses say.

    pool: of the work inside of an item; overlaps: several threads use it at the same time. readers:
    the names of the threads that read; with none, items are made in the thread that takes them.
    runners: the names of those that compute what was read; with none, readers do. depth: the most
    items that may be ready; room: the most that may be ready or in progress.
    """

    title: str
    """What is closed, for errors: "pipeline"."""
    forked: str
    """The error in the child of a fork."""

    def __init__(
        self,
        pool: WorkerPool,
        overlaps: bool,
        readers: Sequence[str],
        runners: Sequence[str],
        depth: int,
        room: int,
    ) -> None:
        self.pool = pool
        self.depth = depth
        self.closed = False
        self.ended = False
        """Whether the last item was read."""
        self.lock = threading.RLock()
        self.reading = reading_pool(pool) if overlaps else pool
        self._readers = readers
        self._runners = runners
        self._room = room
        self.items: deque[I] = deque()
        """The items that are not taken, in order, also those that are in progress."""
        self._begun = 0
        self._read_items: queue.SimpleQueue[tuple[Prefetch[I], I] | None] = queue.SimpleQueue()
        """For the runners."""
        self._own: list[threading.Thread] = []
        self._computing: list[threading.Thread] = []
        self._here: threading.Thread | None = None
        """The thread that makes an item for itself."""
        self._changed = threading.Condition(self.lock)
        """The readers wait on this until there is room: an item was taken, or there will be
        none."""
        self._filled = threading.Condition(self.lock)
        """The consumer waits on this for an item. There are two conditions so that no thread is
        woken without need."""
        self._process = os.getpid()
        finalizer_thread.ready()  # for the finalizer of the owner
        _running.add(self)

    def new_item(self, number: int) -> I:
        """The next item, before it is read. Called under the lock."""
        raise NotImplementedError

    def read(self, item: I) -> None:
        """Read an item. Called by one thread at a time."""
        raise NotImplementedError

    def compute(self, item: I) -> None:
        """Compute an item that was read without an error."""
        raise NotImplementedError

    def is_last(self, error: BaseException) -> bool:
        """Whether no items come after one with this error."""
        return isinstance(error, StopIteration)

    def taken(self, item: I, error: BaseException | None) -> None:
        """An item was taken. Called under the lock."""

    def demand(self, number: int) -> None:
        """The user waits for this item."""

    def interrupt(self) -> None:
        """End what waits inside of `read`."""

    def finish(self) -> None:
        """The threads have ended."""

    @property
    def started(self) -> bool:
        """Whether an item was requested."""
        return self._begun > 0 or bool(self._own)

    @property
    def next_number(self) -> int:
        """The number of the item that is taken next."""
        return self._begun - len(self.items)

    @property
    def exhausted(self) -> bool:
        """Whether the last item was taken."""
        return self.ended and not self.items

    @property
    def threads(self) -> list[threading.Thread]:
        """The threads that make items, apart from the workers."""
        here = self._here
        return self._own + self._computing if here is None else [here]

    def check(self) -> None:
        """Raise OperatorRuntimeError if no further item can be made."""
        if self._process != os.getpid():
            raise OperatorRuntimeError(self.forked)
        if self.closed:
            raise OperatorRuntimeError(f"this {self.title} was closed")

    def take(self) -> I:
        """The next item, which may have an error. In the caller's thread making it raises.

        Raises StopIteration after the last one; OperatorRuntimeError where none can be made.
        """
        self.check()
        if not self._readers:
            return self._make_here()
        with self.lock:
            began = 0 if self._is_ready() else time.perf_counter_ns()
            item = self._wait()
            self.items.popleft()
            self.taken(item, item.error)
            self._changed.notify_all()
            if self.ended:
                self._filled.notify_all()
            recording = tracing.active
            if recording is not None:
                recording.taken(self.pool, began, len(self.ready()))
        return item

    def _wait(self) -> I:
        """Wait until the next item is done, and return it without taking it. Raises StopIteration
        if the last one was taken. Called under the lock."""
        self.start()
        while not self._is_ready():
            if self.exhausted:
                raise StopIteration
            self.demand(self.next_number)
            told = self._filled.wait(1.0)
            alive = told or self._is_ready() or all(one.is_alive() for one in self.threads)
            if self.closed or not alive:
                raise self._was_closed()
        if self.closed:
            raise self._was_closed()
        return self.items[0]

    def _is_ready(self) -> bool:
        return bool(self.items) and self.items[0].done

    def _was_closed(self) -> OperatorRuntimeError:
        return OperatorRuntimeError(f"the {self.title} was closed while a batch was awaited")

    def _make_here(self) -> I:
        if self.ended:
            raise StopIteration
        self.demand(self.next_number)
        item = self._begin()
        self._enter(item)
        self._here, error = threading.current_thread(), None
        try:
            self.read(item)
            self.compute(item)
        except BaseException as raised:
            error = raised
            self.ended = self.is_last(error)
            if self.closed and isinstance(error, StopIteration):  # sources end with it
                raise self._was_closed() from None
            raise
        finally:
            self._here = None
            self.taken(item, error)
            del error  # an error and a frame of its traceback must not refer to each other
        return item

    def start(self) -> None:
        """Begin to make items, if there are threads for that."""
        with self.lock:
            if self._own or self.closed or not self._readers:
                return
            expect_many()
            what = weakref.ref(self), self._changed, threading.Lock()
            # They wait for the lock: each finds the others at work.
            self._own = _start(self._readers, 1, _make_items, *what)
            self._computing = _start(self._runners, 0, _compute_items, self._read_items)

    def _begin(self) -> I:
        item = self.new_item(self._begun)
        self._begun += 1
        return item

    def _enter(self, item: I) -> None:
        """Say which item the calling thread works for, for traces."""
        tracing.place.batch = item.number
        recording = tracing.active  # once: another thread may end the trace
        if recording is not None:
            recording.begun(self.pool)

    def _compute(self, item: I) -> None:
        tracing.place.batch = item.number
        self._attempt(self.compute, item)
        self._finish(item)

    def _attempt(self, work: Callable[[I], None], item: I) -> bool:
        """Read or compute an item. Returns whether it goes on."""
        try:
            work(item)
        except BaseException as error:  # noqa: BLE001  it is raised where the item is taken
            item.error = without_frames(error)
        return item.error is None and not self.closed

    def _finish(self, item: I) -> None:
        """The item may be taken, once all items before it are done."""
        with self.lock:
            recording = tracing.active
            before = [] if recording is None else self.ready()
            item.done = True
            if item.error is not None and self.is_last(item.error):
                self.ended = True
            if recording is not None and len(ready := self.ready()) > len(before):
                recording.put(self.pool, len(ready))
            if self._is_ready():
                self._filled.notify_all()

    def ready(self) -> list[I]:
        """The items that are ready and not taken."""
        with self.lock:
            done = itertools.takewhile(operator.attrgetter("done"), self.items)
            return list(itertools.islice(done, self.depth))

    def restart(self) -> None:
        """Called under the lock when the last item was taken, and there will be others."""
        self.ended = False
        self._changed.notify_all()

    def forget(self, go: Callable[[], None]) -> None:
        """Throw away what was made ahead, and call `go` while nothing is being made. What is taken
        next is made after that."""
        with self.lock:
            self.ended = True  # nothing is begun
            while not all(item.done for item in self.items):
                self._filled.wait(0.01)
            self.items.clear()
            try:
                go()
            finally:
                self.restart()

    def close(self, timeout: float | None = 5.0) -> bool:
        """Stop all threads. What never returns is abandoned after `timeout` seconds, if there is a
        limit. Returns whether it was done: not in the child of a fork."""
        if self._process != os.getpid():
            return False  # its threads do not exist here, and may hold its locks forever
        with self.lock:
            self.closed = True
            self._changed.notify_all()
            self._filled.notify_all()
        for pool in (self.pool, self.reading):
            pool.cancelled = True
        self.interrupt()
        until = None if timeout is None else time.monotonic() + timeout
        _join(self._own, until)
        for _ in self._computing:  # not earlier: they compute what was read before
            self._read_items.put(None)
        _join(self._computing, until)
        self.finish()
        for pool in (self.pool, self.reading):
            pool.close()
        return True


def _make_items(
    reference: weakref.ref[Prefetch[I]], changed: threading.Condition, turn: threading.Lock
) -> None:
    """A thread that reads item after item, when it is its turn, and has them computed."""
    while True:
        with turn:
            found = _next_item(reference, changed)
            if found is None:
                return
            engine, item = found
            engine._enter(item)
            goes_on = engine._attempt(engine.read, item)
            if not goes_on:
                engine._finish(item)
        if goes_on and engine._computing:
            engine._read_items.put((engine, item))
        elif goes_on:
            engine._compute(item)
        del engine, found, item  # a waiting thread must not keep the last item's buffers alive


def _compute_items(read_items: queue.SimpleQueue[tuple[Prefetch[I], I] | None]) -> None:
    """A runner: computes items that were read by another thread."""
    while (found := read_items.get()) is not None:
        engine, item = found
        engine._compute(item)
        del engine, found, item


def _start(
    names: Sequence[str], least: int, target: Callable[..., None], *what: Any
) -> list[threading.Thread]:
    """Threads with these names; fewer, but not less than `least`, if the system starts no more."""
    made: list[threading.Thread] = []
    for name in names:
        try:
            made.append(started(target, name, *what))
        except OperatorRuntimeError:
            if len(made) < least:
                raise
            break
    return made


def _join(threads: Sequence[threading.Thread], until: float | None) -> None:
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(None if until is None else max(until - time.monotonic(), 0.0))


def _next_item(
    reference: weakref.ref[Prefetch[I]], changed: threading.Condition
) -> tuple[Prefetch[I], I] | None:
    """Wait until there is room for an item. Returns it, or None if no more items are made. A
    waiting thread does not keep the engine alive: a source may refer to its owner, which is then
    freed with its last reference."""
    waited, queued = 0, False
    with changed:
        while True:
            engine = reference()
            if engine is None or engine.closed:
                return None
            full = len(engine.items) >= engine._room
            if not full and not engine.ended:
                recording = tracing.active
                if recording is not None and waited:
                    why = "wait: the queue is full" if queued else "wait: runners are at work"
                    recording.done(engine.pool, "wait", why, waited)
                item = engine._begin()
                engine.items.append(item)
                return engine, item
            if full and not waited:
                waited = time.perf_counter_ns()
                queued = len(engine.ready()) >= engine.depth
            del engine
            changed.wait()


_running: LiveObjects[Prefetch[Any]] = LiveObjects()


@atexit.register
def _close_all() -> None:
    for engine in _running.members():
        engine.close(timeout=2.0)
