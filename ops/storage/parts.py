"""Parts of objects that have been requested or fetched, found by the bytes that they contain."""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.lazy_import import lazy_module

from .ranges import Data, Range

__all__ = ["ObjectPart", "Parts"]

# The bytes of a part, which the event loop delivers and other threads wait for.

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = lazy_module("concurrent.futures")

__all__ = ["Arrival"]

_lock = threading.Lock()
"""One lock for all of them: it is held for a few instructions only."""


class Arrival:
    """Like a future of `concurrent.futures`. Each of those has a lock, a condition and a dozen more
    objects: for small files a tenth of the CPU time, including the garbage collector."""

    __slots__ = ("_data", "_done", "_error", "_gates")

    def __init__(self) -> None:
        self._data: Data = b""
        self._error: BaseException | None = None
        self._done = False
        self._gates: tuple[threading.Lock, ...] = ()
        """One lock for each waiting thread."""

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return isinstance(self._error, futures.CancelledError)

    def cancel(self) -> None:
        """Cancel, unless the bytes are there."""
        self._finish(b"", futures.CancelledError())

    def set_result(self, data: Data) -> None:
        self._finish(data, None)

    def set_exception(self, error: BaseException) -> None:
        self._finish(b"", error)

    def _finish(self, data: Data, error: BaseException | None) -> None:
        """Only the first result counts."""
        with _lock:
            if self._done:
                return
            self._data, self._error, self._done = data, error, True
            gates, self._gates = self._gates, ()
        for gate in gates:
            gate.release()

    def _wait(self, timeout: float | None) -> None:
        with _lock:
            if self._done:
                return
            gate = threading.Lock()
            gate.acquire()
            self._gates = (*self._gates, gate)
        if not gate.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError

    def result(self, timeout: float | None = None) -> Data:
        """Wait for the bytes. Raises the error that came instead, `CancelledError` of
        `concurrent.futures`, or TimeoutError after this many seconds."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._data

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error that came instead of the bytes; `CancelledError` if it was cancelled."""
        if not self._done:
            self._wait(timeout)
        return self._error


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class ObjectPart:
    """A range of an object, or the whole of it (`end` is None).

    needed: the last turn in which it is needed; cost: the bytes that it is counted as; ready: its
    bytes; task: what fetches it, once it runs; idle: its turns have passed; gone: it is forgotten.
    """

    __slots__ = ("begin", "cost", "end", "first", "gone", "idle", "needed", "ready", "task", "url")

    def __init__(self, url: str, begin: int, end: int | None, needed: int, cost: int) -> None:
        self.url, self.begin, self.end = url, begin, end
        self.needed, self.cost, self.first = needed, cost, needed
        self.ready = Arrival()
        self.task: Any = None
        self.idle = self.gone = False


class _Ranges:
    """The parts of one object that are ranges of it, sorted by their beginnings. longest: the bytes
    of the longest part so far."""

    def __init__(self) -> None:
        self.parts: list[ObjectPart] = []
        self._begins: list[int] = []
        self._longest = 0

    def add(self, part: ObjectPart, end: int) -> None:
        number = bisect_right(self._begins, part.begin)
        self._begins.insert(number, part.begin)
        self.parts.insert(number, part)
        self._longest = max(self._longest, end - part.begin)

    def remove(self, part: ObjectPart) -> None:
        number = self.parts.index(part, bisect_left(self._begins, part.begin))
        del self._begins[number], self.parts[number]

    def best(self, place: int, end: int) -> ObjectPart | None:
        """The best part for the bytes from `place` on, up to `end`."""
        best, low = None, (True, 0, 0)
        for number in range(bisect_right(self._begins, place) - 1, -1, -1):
            if self._begins[number] <= place - self._longest:
                break
            part = self.parts[number]
            if (part.end or 0) > place:
                rank = _rank(part, end)
                if best is None or rank < low:
                    best, low = part, rank
        return best


class Parts:
    """All parts of a reader. Parts of earlier turns stay as long as there is room."""

    def __init__(self) -> None:
        self.held = 0
        """The bytes of the parts that are still needed."""
        self.active = 0
        """The number of these parts."""
        self._ranges: dict[str, _Ranges] = {}
        self._wholes: dict[str, ObjectPart] = {}
        self._order: list[tuple[int, int, ObjectPart]] = []
        self._counter = itertools.count()
        self._idle: OrderedDict[ObjectPart, None] = OrderedDict()
        self._idle_bytes = 0

    def add(self, part: ObjectPart) -> None:
        if part.end is None:
            self._wholes[part.url] = part
        else:
            ranges = self._ranges.get(part.url)
            if ranges is None:
                ranges = self._ranges[part.url] = _Ranges()
            ranges.add(part, part.end)
        self.held += part.cost
        self.active += 1
        self._note(part)

    def _note(self, part: ObjectPart) -> None:
        heapq.heappush(self._order, (part.needed, next(self._counter), part))

    def whole(self, url: str, turn: int) -> ObjectPart | None:
        """The part that is the whole object."""
        found = self._wholes.get(url)
        if found is not None:
            self._need(found, turn)
        return found

    def covering(self, url: str, wanted: Range, turn: int) -> list[ObjectPart] | None:
        """The parts that contain this range together, in order; None if some of it is missing."""
        ranges = self._ranges.get(url)
        if ranges is None:
            return [] if wanted[0] >= wanted[1] else None
        found: list[ObjectPart] = []
        place, end = wanted
        while place < end:
            best = ranges.best(place, end)
            if best is None:
                return None
            found.append(best)
            place = best.end or end
        for part in found:
            self._need(part, turn)
        return found

    def _need(self, part: ObjectPart, turn: int) -> None:
        if part.idle:
            part.idle = False
            del self._idle[part]
            self._idle_bytes -= part.cost
            self.held += part.cost
            self.active += 1
            part.needed = turn
            self._note(part)
        part.needed = max(part.needed, turn)

    def passed(self, turn: int, budget: int) -> None:
        """Earlier turns are over. Parts that only these needed are removed if they take too much
        room."""
        while self._order and self._order[0][0] < turn:
            part = heapq.heappop(self._order)[2]
            if part.idle or part.gone:
                continue
            if part.needed >= turn:
                self._note(part)
                continue
            part.idle = True
            self.held -= part.cost
            self.active -= 1
            if part.ready.done() and part.ready.exception() is None:
                part.cost = len(part.ready.result())
            self._idle[part] = None
            self._idle_bytes += part.cost
        while self._idle and self.held + self._idle_bytes > budget:
            self.drop(next(iter(self._idle)))

    def drop(self, part: ObjectPart) -> None:
        """Remove a part."""
        if part.gone:
            return
        part.gone = True
        if part.idle:
            part.idle = False
            del self._idle[part]
            self._idle_bytes -= part.cost
        else:
            self.held -= part.cost
            self.active -= 1
        if part.end is None:
            if self._wholes.get(part.url) is part:
                del self._wholes[part.url]
        else:
            ranges = self._ranges[part.url]
            ranges.remove(part)
            if not ranges.parts:
                del self._ranges[part.url]

    def every(self) -> list[ObjectPart]:
        ranges = (one.parts for one in self._ranges.values())
        return [*self._wholes.values(), *itertools.chain(*ranges)]


def _rank(part: ObjectPart, end: int) -> tuple[bool, int, int]:
    """A sort key, low for the best part for bytes up to this end: a part that contains all of them,
    and of several the first one to arrive; otherwise the part that reaches farthest."""
    reach = part.end or 0
    if reach >= end:
        return False, -1 if part.ready.done() else part.first, part.cost
    return True, -reach, 0
