"""Fetches parts of objects concurrently: from the cache on disk, or by the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gradiva.eager.support.lazy_import import lazy_module

from .block_cache import BlockCache
from .errors import StorageError
from .facts import Entry, ObjectFacts
from .parts import ObjectPart
from .ranges import LARGEST, Data
from .transport import Beginning, Transport

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy_module("asyncio")

_AHEAD: Final = 128
_NOW: Final = 64
"""The number of concurrent requests: for prefetching, and for parts that a caller waits for."""


class _Line:
    """The parts that wait for their request, in order. most: the number of concurrent requests;
    when one ends, the next begins; running: their current number."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0
        self.waiting: deque[tuple[ObjectPart, ObjectFacts | None]] = deque()


class Fetcher:
    """Runs in the event loop of the transport. Methods that are not coroutines may be called by any
    thread."""

    def __init__(self, transport: Transport, cache: BlockCache | None) -> None:
        self.transport, self.cache = transport, cache
        self._writing: set[asyncio.Future[None]] = set()
        self._lines = {False: _Line(_AHEAD), True: _Line(_NOW)}

    def begin(
        self, parts: Sequence[ObjectPart], facts: dict[str, ObjectFacts], urgent: bool
    ) -> None:
        """Fetch these parts, in this order."""
        if parts:
            self.transport.loop.call_soon_threadsafe(self._start, parts, facts, urgent)

    def _start(
        self, parts: Sequence[ObjectPart], facts: dict[str, ObjectFacts], urgent: bool
    ) -> None:
        line = self._lines[urgent]
        line.waiting.extend((part, facts.get(part.url)) for part in parts)
        for _ in range(min(len(line.waiting), line.most - line.running)):
            line.running += 1
            self._go_on(line)

    def _go_on(self, line: _Line) -> None:
        """Begin with the next part, after one has ended or as an additional one."""
        while line.waiting:
            part, facts = line.waiting.popleft()
            if part.ready.cancelled():
                continue
            if not self._asked(line, part, facts):
                asyncio.ensure_future(self._work(line, part, facts))
            return
        line.running -= 1

    def _asked(self, line: _Line, part: ObjectPart, facts: ObjectFacts | None) -> bool:
        """Whether the part could be requested without a task, which costs less."""
        last = part.end
        if last is None:
            last = LARGEST if facts is None else facts.size
        elif facts is None:
            return False
        if self.cache is not None or last <= part.begin or (facts and last > facts.size):
            return False

        def over(data: Data | Beginning | Exception | None) -> None:
            part.task = None
            if isinstance(data, bytes | memoryview):
                part.ready.set_result(data)
            elif not part.ready.cancelled():
                asyncio.ensure_future(self._work(line, part, facts, data))
                return
            self._go_on(line)

        part.task = self.transport.ask(part.url, part.begin, last, facts, over)
        return part.task is not None

    def cancel(self, parts: Sequence[ObjectPart]) -> None:
        """Stop fetching these parts."""

        def stop() -> None:
            for part in parts:
                part.ready.cancel()
            for part in parts:  # not earlier: each that ends makes room for another one
                if part.task is not None:
                    part.task.cancel()

        if parts:
            self.transport.loop.call_soon_threadsafe(stop)

    def finish(self) -> None:
        """Wait until the received blocks are stored."""

        async def wait() -> None:
            if self._writing:
                await asyncio.wait([*self._writing])

        asyncio.run_coroutine_threadsafe(wait(), self.transport.loop).result()

    async def _work(
        self,
        line: _Line,
        part: ObjectPart,
        facts: ObjectFacts | None,
        first: Beginning | Exception | None = None,
    ) -> None:
        """Fetch a part, in a task. first: the result of the first attempt, if there was one."""
        try:
            # Not earlier: a task that is cancelled before it has begun would not run this code.
            part.task = asyncio.current_task()
            if not part.ready.cancelled():
                part.ready.set_result(await self._bytes(part, facts, first))
        except asyncio.CancelledError:
            part.ready.cancel()
        except BaseException as error:  # noqa: BLE001  for the thread that waits
            part.ready.set_exception(error)
        part.task = None
        self._go_on(line)

    async def _bytes(
        self, part: ObjectPart, facts: ObjectFacts | None, first: Beginning | Exception | None
    ) -> Data:
        end = part.end
        if facts is None and (end is not None or self.cache is not None):
            facts = await self.facts(part.url)
        if end is None and (facts is None or not facts.size):
            return await self.transport.read_whole(part.url, first)
        assert facts is not None
        last = facts.size if end is None else end
        if last > facts.size:
            raise StorageError(f"it ends at byte {facts.size}")
        failed = first if isinstance(first, Exception) else None
        return await self._range(part.url, part.begin, last, facts, failed)

    async def _range(
        self, url: str, begin: int, end: int, facts: ObjectFacts, failed: Exception | None
    ) -> Data:
        cache, loop = self.cache, asyncio.get_running_loop()
        if cache is None or not facts.version:
            return await self.transport.read(url, begin, end, facts, failed)
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
