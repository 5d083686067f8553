"""Parts of objects that are being fetched, or were: found again by the bytes that they hold."""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_right, insort
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from gradiva.eager.support.lazy_import import lazy_module

from .ranges import LARGEST, Data, Range

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = lazy_module("concurrent.futures")

__all__ = ["Part", "Parts"]


class Part:
    """A range of an object, or the whole of it (`end` is None).

    needed: the last turn in which it is needed; cost: the bytes that it is counted as; ready: its
    bytes; task: what fetches it, once it runs; idle: its turns have passed; gone: it is forgotten.
    """

    def __init__(self, url: str, begin: int, end: int | None, needed: int, cost: int) -> None:
        self.url, self.begin, self.end = url, begin, end
        self.needed, self.cost, self.first = needed, cost, needed
        self.ready: futures.Future[Data] = futures.Future()
        self.task: Any = None
        self.idle = self.gone = False

    def __lt__(self, other: Part) -> bool:
        return self.begin < other.begin


class Parts:
    """All parts of a reader. Those of turns that have passed stay as long as there is room."""

    def __init__(self) -> None:
        self.held = 0
        """Bytes of those that are still needed."""
        self.active = 0
        """How many these are."""
        self._ranges: dict[str, list[Part]] = {}
        self._wholes: dict[str, Part] = {}
        self._order: list[tuple[int, int, Part]] = []
        self._counter = itertools.count()
        self._idle: OrderedDict[Part, None] = OrderedDict()
        self._idle_bytes = 0

    def add(self, part: Part) -> None:
        if part.end is None:
            self._wholes[part.url] = part
        else:
            insort(self._ranges.setdefault(part.url, []), part)
        self.held += part.cost
        self.active += 1
        self._note(part)

    def _note(self, part: Part) -> None:
        heapq.heappush(self._order, (part.needed, next(self._counter), part))

    def whole(self, url: str, turn: int) -> Part | None:
        """The part that is all of an object."""
        found = self._wholes.get(url)
        if found is not None:
            self._need(found, turn)
        return found

    def covering(self, url: str, wanted: Range, turn: int) -> list[Part] | None:
        """Parts that hold this range together, in their order; None if some of it is missing."""
        parts = self._ranges.get(url, [])
        found: list[Part] = []
        place, end = wanted
        while place < end:
            best = None
            for number in range(bisect_right(parts, place, key=lambda one: one.begin) - 1, -1, -1):
                part = parts[number]
                if part.begin <= place - LARGEST:
                    break
                reach = part.end or 0
                if reach > place and (best is None or _rank(part, end) < _rank(best, end)):
                    best = part
            if best is None:
                return None
            found.append(best)
            place = best.end or end
        for part in found:
            self._need(part, turn)
        return found

    def _need(self, part: Part, turn: int) -> None:
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
        """Turns before this one are over. What they alone needed goes, as far as it is too much."""
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
            if part.ready.done() and not part.ready.cancelled() and not part.ready.exception():
                part.cost = len(part.ready.result())
            self._idle[part] = None
            self._idle_bytes += part.cost
        while self._idle and self.held + self._idle_bytes > budget:
            self.drop(next(iter(self._idle)))

    def drop(self, part: Part) -> None:
        """Forget a part."""
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
            parts = self._ranges[part.url]
            parts.remove(part)
            if not parts:
                del self._ranges[part.url]

    def every(self) -> list[Part]:
        return [*self._wholes.values(), *itertools.chain(*self._ranges.values())]


def _rank(part: Part, end: int) -> tuple[bool, int, int]:
    """Low for the part that is best taken for bytes up to this end: one that has all of them, and
    of several the one that comes first; or else the one that reaches farthest."""
    reach = part.end or 0
    if reach >= end:
        return False, -1 if part.ready.done() else part.first, part.cost
    return True, -reach, 0
