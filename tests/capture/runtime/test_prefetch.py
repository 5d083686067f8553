"""The prefetching engine, with items that count."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from gradiva.capture.runtime.prefetch import Item, Prefetch
from gradiva.eager.runtime.threads import started
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.eager.support.errors import OperatorRuntimeError

pytestmark = pytest.mark.core

READERS = ["test-reader-0", "test-reader-1"]
RUNNERS = ["test-runner-0", "test-runner-1"]


class Number(Item):
    value = -1
    by = ""


class Numbers(Prefetch[Number]):
    """0, 1, 2, ... until `stop`; those in `broken` fail."""

    title = "test"
    forked = "in a fork"

    def __init__(
        self,
        readers: list[str],
        runners: list[str],
        depth: int = 2,
        room: int = 3,
        stop: int = 12,
        broken: tuple[int, ...] = (),
    ) -> None:
        self.stop, self.broken, self.count = stop, broken, 0
        self.inside, self.most, self.waited_for = 0, 0, list[int]()
        self.gate: Callable[[Number], Any] = lambda item: None
        super().__init__(
            WorkerPool(2), len(readers) + len(runners) > 1, readers, runners, depth, room
        )

    def new_item(self, number: int) -> Number:
        return Number(number)

    def read(self, item: Number) -> None:
        self.inside += 1
        assert self.inside == 1
        if self.count == self.stop:
            self.inside -= 1
            raise StopIteration("the end")
        item.value, self.count = self.count, self.count + 1
        time.sleep(0.001)
        self.inside -= 1

    def compute(self, item: Number) -> None:
        self.gate(item)
        item.by = threading.current_thread().name
        if item.value in self.broken:
            raise ValueError(item.value)

    def taken(self, item: Number, error: BaseException | None) -> None:
        self.most = max(self.most, len(self.items) + 1)

    def demand(self, number: int) -> None:
        self.waited_for.append(number)


WAYS = [([], []), (READERS[:1], []), (READERS, []), (READERS[:1], RUNNERS)]


def everything(engine: Numbers) -> list[Any]:
    found: list[Any] = []
    while True:
        try:
            item = engine.take()
            if item.error is not None:
                raise item.error
        except StopIteration:
            return found
        except ValueError as error:
            found.append(error.args)
        else:
            found.append(item.value)


@pytest.mark.parametrize(("readers", "runners"), WAYS)
def test_items_come_in_order_with_their_own_errors(readers: list[str], runners: list[str]) -> None:
    engine = Numbers(readers, runners, broken=(3, 7))
    expected = [(it,) if it in (3, 7) else it for it in range(12)]
    assert everything(engine) == expected
    assert engine.exhausted
    assert everything(engine) == []  # again and again
    with engine.lock:
        engine.count = 0
        engine.restart()
    assert everything(engine) == expected
    assert engine.most <= 3
    assert engine.close()
    with pytest.raises(OperatorRuntimeError, match="this test was closed"):
        engine.take()
    assert not any(thread.is_alive() for thread in engine.threads)


def test_who_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    for readers, runners in WAYS[1:]:
        engine, names = Numbers(readers, runners, stop=40), set[str]()
        for _ in range(40):
            names.add(engine.take().by)
        engine.close()
        assert names <= set(runners or readers)

    def refused(target: Any, name: str, *what: Any) -> threading.Thread:
        if name != READERS[0]:
            raise OperatorRuntimeError("the system starts no more threads")
        return started(target, name, *what)

    monkeypatch.setattr("gradiva.capture.runtime.prefetch.started", refused)
    for readers, runners in WAYS[2:]:  # one thread does everything
        engine = Numbers(readers, runners)
        assert everything(engine) == list(range(12))
        engine.close()
    engine = Numbers(READERS[1:], [])
    with pytest.raises(OperatorRuntimeError, match="no more threads"):
        engine.take()


@pytest.mark.parametrize(("readers", "runners"), WAYS[1:])
def test_close_while_items_are_made_and_awaited(readers: list[str], runners: list[str]) -> None:
    engine, gate = Numbers(readers, runners), threading.Event()
    engine.gate = lambda item: gate.wait(30)
    failed: list[str] = []

    def consume() -> None:
        try:
            engine.take()
        except OperatorRuntimeError as error:
            failed.append(str(error))

    consumer = threading.Thread(target=consume)
    consumer.start()
    while not engine.waited_for:
        time.sleep(0.001)
    engine.close(timeout=0.05)  # what is computed is abandoned
    consumer.join(30)
    assert len(failed) == 1
    assert "the test was closed while a batch was awaited" in failed[0]
    gate.set()
    engine.close()
    assert not any(thread.is_alive() for thread in engine.threads)
    assert engine.waited_for[0] == 0


def test_two_consumers_share_one_end() -> None:
    engine, found = Numbers(READERS, []), list[Any]()
    consumers = [
        threading.Thread(target=lambda: found.extend(everything(engine))) for _ in range(3)
    ]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join(30)
        assert not consumer.is_alive()
    assert sorted(found) == list(range(12))
    engine.close()


@pytest.mark.parametrize(("readers", "runners"), WAYS)
def test_an_engine_that_is_closed_goes_without_the_collector(
    readers: list[str], runners: list[str]
) -> None:
    engine = Numbers(readers, runners)
    engine.take()
    seen = weakref.ref(engine)
    gc.disable()
    try:
        engine.close()
        del engine
        assert seen() is None
    finally:
        gc.enable()
