"""Fetches parts of objects, some at once: from the cache on disk, or by the network."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gradiva.eager.support.lazy_import import lazy_module

from .block_cache import BlockCache
from .errors import StorageError
from .facts import Entry, ObjectFacts
from .parts import Part
from .ranges import Data
from .transport import Transport

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

__all__ = ["Fetcher"]

_AHEAD: Final = 128
_NOW: Final = 64
"""Requests at once: for what will be wanted, and for what somebody waits for."""


class _Line:
    """Parts that wait for their request, the first ones first. most: requests at once, each with a
    task that goes on with the next part; tasks: how many there are."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.tasks = 0
        self.waiting: deque[tuple[Part, ObjectFacts | None]] = deque()


class Fetcher:
    """Runs in the loop of the transport; its methods that are no coroutines run in any thread."""

    def __init__(self, transport: Transport, cache: BlockCache | None) -> None:
        self.transport, self.cache = transport, cache
        self._writing: set[asyncio.Future[None]] = set()
        self._lines = {False: _Line(_AHEAD), True: _Line(_NOW)}

    def begin(self, parts: Sequence[Part], facts: dict[str, ObjectFacts], urgent: bool) -> None:
        """Fetch these parts, the first ones first."""
        if parts:
            self.transport.loop.call_soon_threadsafe(self._start, parts, facts, urgent)

    def _start(self, parts: Sequence[Part], facts: dict[str, ObjectFacts], urgent: bool) -> None:
        line = self._lines[urgent]
        line.waiting.extend((part, facts.get(part.url)) for part in parts)
        for _ in range(min(len(line.waiting), line.most - line.tasks)):
            line.tasks += 1
            asyncio.ensure_future(self._work(line))

    def cancel(self, parts: Sequence[Part]) -> None:
        """Stop fetching these."""

        def stop() -> None:
            for part in parts:
                part.ready.cancel()
                if part.task is not None:
                    part.task.cancel()

        if parts:
            self.transport.loop.call_soon_threadsafe(stop)

    def finish(self) -> None:
        """Wait until the blocks that have come are kept."""

        async def wait() -> None:
            if self._writing:
                await asyncio.wait([*self._writing])

        asyncio.run_coroutine_threadsafe(wait(), self.transport.loop).result()

    async def _work(self, line: _Line) -> None:
        """Fetch one part after another, until none waits."""
        task = asyncio.current_task()
        assert task is not None
        while line.waiting:
            part, facts = line.waiting.popleft()
            if part.ready.cancelled():
                continue
            part.task = task
            try:
                data = await self._bytes(part, facts)
            except asyncio.CancelledError:
                part.ready.cancel()
                if sys.version_info >= (3, 11):
                    task.uncancel()
            except BaseException as error:  # noqa: BLE001  for the thread that waits
                part.ready.set_exception(error)
            else:
                part.ready.set_result(data)
                del data  # not to be held while the next one is waited for
            part.task = None
        line.tasks -= 1

    async def _bytes(self, part: Part, facts: ObjectFacts | None) -> Data:
        end = part.end
        if facts is None and (end is not None or self.cache is not None):
            facts = await self.facts(part.url)
        if end is None and (facts is None or not facts.size):
            return await self.transport.read_whole(part.url)
        assert facts is not None
        last = facts.size if end is None else end
        if last > facts.size:
            raise StorageError(f"it ends at byte {facts.size}")
        return await self._range(part.url, part.begin, last, facts)

    async def _range(self, url: str, begin: int, end: int, facts: ObjectFacts) -> Data:
        cache, loop = self.cache, asyncio.get_running_loop()
        if cache is None or not facts.version:
            return await self.transport.read(url, begin, end, facts)
        threads = self.transport.threads
        place = url, facts.version, begin
        kept = await loop.run_in_executor(threads, cache.read, *place, end)
        if kept is not None:
            return kept
        found = await self.transport.read(url, begin, end, facts)
        writing = loop.run_in_executor(threads, cache.write, *place, found)
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return found

    async def facts(self, url: str) -> ObjectFacts:
        """Raises StorageError."""
        return await self.transport.facts(url)

    async def entries(self, url: str) -> list[Entry]:
        """Raises StorageError."""
        return await self.transport.entries(url)
