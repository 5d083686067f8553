"""How many requests run at once, and which ones."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import cast

import pytest

from gradiva.ops.storage.fetcher import Fetcher
from gradiva.ops.storage.loop import storage_loop
from gradiva.ops.storage.parts import ObjectPart
from gradiva.ops.storage.transport import Transport


class Held:
    """A transport whose answers come when `answer` is set."""

    def __init__(self) -> None:
        self.loop = storage_loop()
        self.answer = asyncio.Event()
        self.asked: list[str] = []
        self.running = self.most = 0

    def ask(self, *_: object) -> None:
        """It has to be asked in a task."""

    async def read_whole(self, url: str, _failed: object = None) -> bytes:
        self.asked.append(url)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.answer.wait()
            if url == "broken":
                raise OSError("no bytes")
            return url.encode()
        finally:
            self.running -= 1


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held()
    yield made
    made.loop.call_soon_threadsafe(made.answer.set)


def fetcher_of(held: Held) -> Fetcher:
    return Fetcher(cast("Transport", held), None)


def parts_of(names: list[str]) -> list[ObjectPart]:
    return [ObjectPart(name, 0, None, 0, 1) for name in names]


def settled(held: Held) -> None:
    """Wait until the loop has done what it was told."""
    for _ in range(3):
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), held.loop).result()


@pytest.mark.parametrize(("urgent", "most"), [(False, 128), (True, 64)])
def test_requests_run_in_order_and_so_many_at_once(held: Held, urgent: bool, most: int) -> None:
    names = [str(number) for number in range(300)]
    parts = parts_of(names)
    fetcher_of(held).begin(parts, {}, urgent)
    settled(held)
    assert held.asked == names[:most]
    held.loop.call_soon_threadsafe(held.answer.set)
    assert [part.ready.result(30) for part in parts] == [name.encode() for name in names]
    assert held.asked == names
    assert held.most == most


def test_what_is_urgent_does_not_wait_for_what_is_not(held: Held) -> None:
    fetcher = fetcher_of(held)
    fetcher.begin(parts_of(["later"] * 200), {}, False)
    fetcher.begin(parts_of(["now"]), {}, True)
    settled(held)
    assert held.asked[-1] == "now"


def test_those_that_end_early_make_room(held: Held) -> None:
    fetcher = fetcher_of(held)
    first = parts_of(["broken"] * 50 + ["gone"] * 200)
    fetcher.begin(first, {}, False)
    settled(held)
    fetcher.cancel(first[50:])  # some run, others wait
    more = parts_of([str(number) for number in range(200)])
    fetcher.begin(more, {}, False)
    settled(held)
    assert held.asked.count("gone") == 78
    assert held.running == 128
    held.loop.call_soon_threadsafe(held.answer.set)
    assert [part.ready.result(30) for part in more] == [part.url.encode() for part in more]
    assert all(isinstance(part.ready.exception(30), OSError) for part in first[:50])
    assert all(part.ready.cancelled() for part in first[50:])


def test_cancelled_before_they_begin(held: Held) -> None:
    """They are passed over, and leave room for others."""
    fetcher = fetcher_of(held)

    def both() -> None:
        parts = parts_of(["gone"] * 128)
        fetcher._start(parts, {}, False)
        for part in parts:
            part.ready.cancel()

    held.loop.call_soon_threadsafe(both)
    settled(held)
    (last,) = parts_of(["last"])
    fetcher.begin([last], {}, False)
    held.loop.call_soon_threadsafe(held.answer.set)
    assert last.ready.result(30) == b"last"
    assert held.asked == ["last"]


def test_what_was_fetched_is_held_by_its_part_alone(held: Held) -> None:
    """Not by what fetches the next one."""
    first, second = parts_of(["first", "second"])
    fetcher = fetcher_of(held)
    fetcher._lines[True].most = 1
    first_data = bytearray(b"first")
    count = sys.getrefcount(first_data)

    async def give(url: str, _failed: object) -> object:
        if url == "first":
            return first_data
        return await Held.read_whole(held, url)

    held.read_whole = give  # type: ignore[method-assign, assignment]
    fetcher.begin([first, second], {}, True)
    found: object = first.ready.result(30)
    assert found is first_data
    del found
    settled(held)
    assert held.asked == ["second"]
    del first
    assert sys.getrefcount(first_data) == count
    held.loop.call_soon_threadsafe(held.answer.set)
    assert second.ready.result(30) == b"second"
