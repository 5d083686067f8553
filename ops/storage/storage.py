"""Objects on other machines, as readers see them: facts, folders, and bytes that are mostly there
already, because the plan of the epoch says what will be wanted.

What is fetched are parts: ranges of objects, joined and split. They wait in memory, within a limit,
until their turn has passed.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gradiva.eager.support.lazy_import import lazy_module

from .block_cache import BlockCache
from .buckets.options import environment
from .errors import StorageError
from .facts import Entry, ObjectFacts, identity_of
from .fetcher import Fetcher
from .parts import ObjectPart, Parts
from .ranges import LARGEST, NEAR, Content, Range, Want, aligned, joined, split
from .settings import settings
from .transport import transport_of

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures
else:
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")

__all__ = ["Storage", "default_storage"]

T = TypeVar("T")

_GUESS: Final = 1 << 18
"""Bytes of an object of which nothing is known."""
_MOST_AHEAD: Final = 4096
"""Parts that are fetched ahead: small files have a cost beside their bytes."""


_starting = threading.RLock()


def _after_fork() -> None:
    """In the child: another thread of the parent may have held the lock."""
    global _starting
    _starting = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Storage:
    """The objects that one reader reads. options: for fsspec, as JSON text; read_ahead: bytes.

    Readers use it in one thread at a time, and call `take` in any. After a fork all is fetched
    again.
    """

    def __init__(self, options: str = "{}", read_ahead: int | None = None) -> None:
        self._options = options
        self._read_ahead = read_ahead
        self._facts: dict[str, ObjectFacts] = {}
        self._identities: dict[str, tuple[ObjectFacts, str | None]] = {}
        """Of objects, with the facts that they were made from."""
        self._process = -1
        self._made = time.time()

    def _start(self, fetcher: Fetcher | None) -> None:
        chosen = settings()
        self._budget = chosen.read_ahead if self._read_ahead is None else self._read_ahead
        self._lock = threading.RLock()
        self._parts = Parts()
        self._wanted: list[tuple[Want, int]] = []
        self._wanted_bytes = self._planned = self._now = 0
        self._seen = [_GUESS, 1]
        if fetcher is None:
            transport = transport_of(self._options, chosen.timeout)
            cache = None if chosen.cache is None else BlockCache(chosen.cache, chosen.cache_bytes)
            fetcher = Fetcher(transport, cache)
        self._fetcher, self._transport, self._blocks = fetcher, fetcher.transport, fetcher.cache
        self._process = os.getpid()

    def __reduce__(self) -> Any:
        return Storage, (self._options, self._read_ahead)

    def beside(self) -> Storage:
        """The same objects, of which nothing is kept in memory."""
        self._here()
        made = Storage(self._options, 0)
        made._facts = self._facts
        made._start(self._fetcher)
        return made

    def _here(self) -> None:
        """Begin at the first use, so that only those need fsspec who read URLs; and after a fork,
        which threads, sockets and locks do not survive."""
        if self._process != os.getpid():
            with _starting:  # another thread would get other parts and another lock
                if self._process != os.getpid():
                    self._start(None)

    def _run(
        self, work: Callable[[str], Coroutine[Any, Any, T]], urls: Sequence[str]
    ) -> list[T | StorageError]:
        """What this returns for each URL, all at once."""
        if not urls:  # a turn of the loop, which may have much to do, is not worth an empty list
            return []

        async def ask(url: str) -> T | StorageError:
            try:
                return await work(url)
            except StorageError as error:
                return error

        async def every() -> list[T | StorageError]:
            return [*await asyncio.gather(*map(ask, urls))]

        return asyncio.run_coroutine_threadsafe(every(), self._transport.loop).result()

    def facts(self, urls: Sequence[str]) -> list[ObjectFacts | StorageError]:
        """Size and version of each object, as they were when they were first asked for."""
        self._here()
        missing = [url for url in dict.fromkeys(urls) if url not in self._facts]
        for url in missing:
            self._transport.prepare(url)
        asked = self._run(self._fetcher.facts, missing)
        wrong: dict[str, StorageError] = {}
        for url, found in zip(missing, asked, strict=True):
            if isinstance(found, StorageError):
                wrong[url] = found
            else:
                self._facts[url] = found
        return [wrong[url] if url in wrong else self._facts[url] for url in urls]

    def identities(self, urls: Sequence[str], ask: bool) -> list[str | None]:
        """For each object a text that changes whenever its bytes change; None where its facts do
        not promise that. ask: for facts that are not known yet. What is read later has these facts,
        or fails."""
        if ask:
            self.facts(urls)
        return [self._identity(url) for url in urls]

    def _identity(self, url: str) -> str | None:
        facts, made = self._facts.get(url), self._identities.get(url)
        if facts is None:
            return None
        if made is None or made[0] is not facts:
            made = facts, identity_of(url, facts, self._made)
            self._identities[url] = made
        return made[1]

    def knows(self, path: str) -> bool:
        """Whether this is the URL of an object whose facts are known."""
        return path in self._facts

    def entries(self, folders: Sequence[str]) -> list[list[Entry]]:
        """What is in each folder, by name. Raises StorageError."""
        self._here()
        for url in folders:
            self._transport.prepare(url)
        found = self._run(self._fetcher.entries, folders)
        for one in found:
            if isinstance(one, StorageError):
                raise one
        rows = [one for one in found if not isinstance(one, StorageError)]
        for row in rows:
            self._facts |= {one.url: one.facts for one in row if one.facts is not None}
        return rows

    def read(self, url: str) -> bytes:
        """All bytes of an object. Raises StorageError."""
        (found,) = self.take([Want(url)])
        if isinstance(found, StorageError):
            raise found
        return b"".join(found)

    @property
    def budget(self) -> int:
        """Bytes that may wait in memory."""
        self._here()
        return self._budget

    @property
    def room(self) -> int:
        """Bytes that may be fetched ahead, now."""
        self._here()
        if self._parts.active + len(self._wanted) >= _MOST_AHEAD:
            return 0
        return self._budget - self._parts.held - self._wanted_bytes

    def expect(self, wants: Iterable[Want]) -> None:
        """These will be wanted, in the turn that is being planned. `fetch` begins with it."""
        self._here()
        for want in wants:
            self._wanted.append((want, self._planned))
            self._wanted_bytes += self._size(want)

    def plan(self, turn: int) -> None:
        """What `expect` is told from now on is needed in this turn."""
        self._here()
        self._planned = turn

    def fetch(self, urgent: bool = False, near: int | None = None) -> None:
        """Begin to fetch what is expected. urgent: somebody will wait for it at once; near: bytes
        between two ranges that are read along."""
        self._here()
        wanted, self._wanted, self._wanted_bytes = self._wanted, [], 0
        with self._lock:
            self._begin(wanted, urgent, near)

    def passed(self, turn: int) -> None:
        """All turns before this one are over."""
        self._here()
        with self._lock:
            self._now = turn
            self._parts.passed(turn, self._budget)

    def forget(self) -> None:
        """Nothing of what was expected is wanted any more."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._wanted, self._wanted_bytes = [], 0
            unfinished = [part for part in self._parts.every() if not part.ready.done()]
            for part in unfinished:
                self._parts.drop(part)
            self._fetcher.cancel(unfinished)
            self._parts.passed(self._planned + 1, self._budget)
            self._planned = self._now = 0

    def close(self) -> None:
        """Nothing will be read any more: forget what is expected, and wait for what is written."""
        if self._process == os.getpid():
            self.forget()
            self._fetcher.finish()

    def take(self, wants: Sequence[Want]) -> list[Content | StorageError]:
        """The bytes, as soon as they are there."""
        self._here()
        with self._lock:
            turn = self._now - 1  # what was not expected stays only if there is room
            chosen = [self._holders(want, turn) for want in wants]
            missing = [number for number, parts in enumerate(chosen) if parts is None]
            self._begin([(wants[number], turn) for number in missing], urgent=True)
            for number in missing:
                chosen[number] = self._holders(wants[number], turn)
        # The last one first: when it is there, so are most of the others, and nobody is waited for.
        found = [
            self._content(want, parts)
            for want, parts in zip(reversed(wants), reversed(chosen), strict=True)
        ]
        found.reverse()
        with self._lock:
            self._parts.passed(self._now, self._budget)
        return found

    def _size(self, want: Want) -> int:
        if want.end is not None:
            return want.end - want.begin
        known = self._facts.get(want.url)
        return self._seen[0] // self._seen[1] if known is None else known.size

    def _holders(self, want: Want, turn: int) -> list[ObjectPart] | None:
        if want.end is not None:
            return self._parts.covering(want.url, (want.begin, want.end), turn)
        facts = self._facts.get(want.url)
        if facts is not None and facts.size > LARGEST:
            return self._parts.covering(want.url, (0, facts.size), turn)
        found = self._parts.whole(want.url, turn)
        return None if found is None else [found]

    def _begin(
        self, wanted: Sequence[tuple[Want, int]], urgent: bool, near: int | None = None
    ) -> None:
        """Fetch what is not there, and not being fetched."""
        missing: dict[str, list[tuple[Range, int]]] = {}
        made: list[ObjectPart] = []
        for want, turn in wanted:
            if self._holders(want, turn) is not None:
                continue
            self._transport.prepare(want.url)
            facts = self._facts.get(want.url)
            if want.end is None and (facts is None or facts.size <= LARGEST):
                made.append(ObjectPart(want.url, 0, None, turn, self._size(want)))
                self._parts.add(made[-1])
                continue
            end = want.end if want.end is not None else self._size(want)
            missing.setdefault(want.url, []).append(((want.begin, end), turn))
        if near is None:
            # What waits in memory with the gaps between its records leaves less room for others.
            near = NEAR if urgent else min(NEAR, self._budget >> 8)
        for url, rows in missing.items():
            made += self._cut(url, rows, near)
        made.sort(key=lambda part: part.first)
        known = {part.url: self._facts[part.url] for part in made if part.url in self._facts}
        self._fetcher.begin(made, known, urgent)

    def _cut(self, url: str, rows: list[tuple[Range, int]], near: int) -> list[ObjectPart]:
        """Parts that hold these ranges; gaps of up to `near` bytes are read along."""
        (known,) = self.facts([url])
        size = max(end for (_, end), _ in rows) if isinstance(known, StorageError) else known.size
        ranges = [one for one, _ in rows]
        if self._blocks is None:
            cut = split(joined(ranges, near))
        else:
            cut = aligned(ranges, size)
        begins = [begin for begin, _ in cut]
        turns: list[list[int]] = [[] for _ in cut]
        for (first, last), turn in rows:
            for number in range(max(bisect_right(begins, first) - 1, 0), bisect_left(begins, last)):
                if first < cut[number][1]:
                    turns[number].append(turn)
        found = []
        for (begin, end), needed in zip(cut, turns, strict=True):
            part = ObjectPart(url, begin, end, max(needed, default=0), end - begin)
            part.first = min(needed, default=0)
            self._parts.add(part)
            found.append(part)
        return found

    def _content(self, want: Want, parts: list[ObjectPart] | None) -> Content | StorageError:
        found: Content = []
        if parts is None:
            return StorageError(f"it ends before byte {want.end}")
        for part in parts:
            try:
                data = memoryview(part.ready.result())
            except futures.CancelledError:
                return StorageError("the reader was closed while it was being read")
            except StorageError as error:
                with self._lock:
                    self._parts.drop(part)  # it may be there the next time
                return error
            if part.end is None:
                with self._lock:
                    self._seen[0] += len(data)
                    self._seen[1] += 1
            low = max(want.begin - part.begin, 0)
            high = len(data) if want.end is None else want.end - part.begin
            found.append(data[low:high])
        return found


_default: list[tuple[dict[str, str], Storage]] = []


def default_storage() -> Storage:
    """For calls that take no options. What was known of objects is forgotten if the environment
    says another endpoint or other credentials now."""
    made_from = environment()
    if not _default or _default[0][0] != made_from:
        _default[:] = [(made_from, Storage(read_ahead=0))]
    return _default[0][1]
