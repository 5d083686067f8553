"""Requests of event loops."""

from __future__ import annotations

import asyncio
import random
import threading
from contextlib import suppress
from typing import Any

import pytest

import gradiva
from gradiva.serve import Batcher, BatcherClosed, DeadlineExceeded, Overloaded
from tests.garbage import cyclic_garbage
from tests.gradiva.serve.gates import PATIENCE, Gate, busy
from tests.gradiva.serve.test_queue import in_thread, until
from tests.soaking import Figures, scaled

pytestmark = pytest.mark.core


def test_many_requests() -> None:
    async def clients(batcher: Batcher) -> list[Any]:
        found = await asyncio.gather(*(batcher.submit_async(k) for k in range(50)))
        return [one.item() for one in found]

    with Batcher(lambda batch: batch * 2) as batcher:
        assert asyncio.run(clients(batcher)) == [*range(0, 100, 2)]
        assert batcher.stats()["done"] == 50


def test_several_event_loops() -> None:
    async def client(batcher: Batcher, first: int) -> list[Any]:
        return [(await batcher.submit_async(k)).item() for k in range(first, first + 20)]

    with Batcher(lambda batch: batch) as batcher:
        runs = [
            in_thread(lambda first: asyncio.run(client(batcher, first)), 100 * k) for k in range(4)
        ]
        for k, one in enumerate(runs):
            assert one.result(PATIENCE) == [*range(100 * k, 100 * k + 20)]
        # A new loop after these have ended.
        assert asyncio.run(client(batcher, 7)) == [*range(7, 27)]


def test_errors() -> None:
    def function(batch: Any) -> Any:
        if (batch.as_array() == 7).any():
            raise LookupError("seven")
        return batch

    async def clients(batcher: Batcher) -> list[Any]:
        calls = (batcher.submit_async(k) for k in (1, 7, 2))
        return await asyncio.gather(*calls, return_exceptions=True)

    with Batcher(function) as batcher:
        found = asyncio.run(clients(batcher))
        assert [found[k].item() for k in (0, 2)] == [1, 2]
        assert isinstance(found[1], LookupError)

        async def wrong() -> None:
            await batcher.submit_async(object())

        with pytest.raises(gradiva.OperatorTypeError, match="input 0") as caught:
            asyncio.run(wrong())
        assert "test_async.py" in str(caught.value)
    with pytest.raises(BatcherClosed):
        asyncio.run(batcher.submit_async(1))


def test_a_canceled_task() -> None:
    """Its request leaves the queue; that of a task whose batch runs has no effect."""

    async def clients(batcher: Batcher, gate: Gate) -> None:
        tasks = [asyncio.create_task(batcher.submit_async(k)) for k in range(3)]
        while batcher.stats()["queued"] < 3:
            await asyncio.sleep(0)
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        assert batcher.stats()["canceled"] == 1
        assert batcher.stats()["queued"] == 2
        gate.open.set()
        assert [(await tasks[k]).item() for k in (0, 2)] == [0, 2]

    with busy(max_batch=8) as (batcher, gate, _):
        asyncio.run(clients(batcher, gate))
        assert gate.sizes == [1, 2]
    gate = Gate()
    with Batcher(gate) as batcher:

        async def impatient() -> None:
            task = asyncio.create_task(batcher.submit_async(1))
            while batcher.stats()["running"] < 1:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(impatient())
        gate.open.set()
        assert batcher(5).item() == 5


def test_deadlines() -> None:
    async def client(batcher: Batcher) -> Any:
        return await batcher.submit_async(1, deadline_ms=1)

    with busy() as (batcher, _, _):
        with pytest.raises(DeadlineExceeded, match="deadline of 1 ms"):
            asyncio.run(client(batcher))
        told = batcher.stats()
        assert (told["queued"], told["late"], told["canceled"]) == (0, 1, 0)


def test_a_full_queue() -> None:
    async def clients(batcher: Batcher, gate: Gate) -> list[Any]:
        tasks = [asyncio.create_task(batcher.submit_async(k)) for k in range(20)]
        while batcher.stats()["requests"] < 21:
            await asyncio.sleep(0)
        gate.open.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with busy(max_batch=4, max_queue=5) as (batcher, gate, _):
        found = asyncio.run(clients(batcher, gate))
        assert [one.item() for one in found[:5]] == [*range(5)]
        assert all(isinstance(one, Overloaded) for one in found[5:])
    with busy(max_batch=4, max_queue=5, block=True) as (batcher, gate, _):
        found = asyncio.run(clients(batcher, gate))
        assert [one.item() for one in found] == [*range(20)]


def test_a_loop_that_was_closed() -> None:
    """A result for a loop that does not run any more disturbs nobody."""
    with busy() as (batcher, gate, _):
        loop = asyncio.new_event_loop()
        task = loop.create_task(batcher.submit_async(1))
        while batcher.stats()["queued"] < 1:
            loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        gate.open.set()
        assert batcher(2).item() == 2
        until(lambda: batcher.stats()["done"] == 3)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()


def test_closing_in_an_event_loop() -> None:
    """`close` waits, so it belongs into a thread; tasks that wait get an error."""

    async def clients(batcher: Batcher, gate: Gate) -> list[Any]:
        tasks = [asyncio.create_task(batcher.submit_async(k)) for k in range(3)]
        while batcher.stats()["queued"] < 3:
            await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(batcher.close, None))
        found = await asyncio.gather(*tasks, return_exceptions=True)
        gate.open.set()
        assert await closing
        return found

    with busy() as (batcher, gate, _):
        found = asyncio.run(clients(batcher, gate))
        assert all(isinstance(one, BatcherClosed) for one in found)


def test_a_thousand_requests_with_cancellations(figures: Figures) -> None:
    """Every request ends in one way: it is answered, refused, late or canceled."""
    total = scaled(1000)
    chance = random.Random(5)

    def function(batch: Any) -> Any:
        values = batch.as_array()
        if (values % 97 == 0).any():
            raise LookupError("a multiple of 97")
        return batch

    async def client(batcher: Batcher, number: int) -> str:
        await asyncio.sleep(chance.random() * total / 20_000)
        deadline = chance.choice((None, None, 1, 20))
        task = asyncio.create_task(batcher.submit_async(number, deadline_ms=deadline))
        if chance.random() < 0.3:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
            task.cancel()
        try:
            result = await task
        except asyncio.CancelledError:
            return "canceled"
        except LookupError:
            assert number % 97 == 0
            return "failed"
        except Overloaded:
            assert deadline is not None
            return "refused"
        except DeadlineExceeded:
            assert deadline is not None
            return "late"
        assert result.item() == number
        return "done"

    async def clients(batcher: Batcher) -> list[str]:
        return await asyncio.gather(*(client(batcher, k) for k in range(total)))

    with Batcher(function, max_batch=8, max_queue=2 * total, runners=2) as batcher:
        found = asyncio.run(clients(batcher))
        assert batcher.close(drain=True, timeout=PATIENCE)
        told = batcher.stats()
    assert len(found) == total
    assert found.count("done") > 0
    assert found.count("failed") <= total // 97 + 1
    # A task that was canceled before it began has made no request; one whose batch was running has.
    ends = ("done", "failed", "refused", "late", "canceled")
    assert sum(told[end] for end in ends) == told["requests"] <= total
    assert (told["queued"], told["running"]) == (0, 0)
    assert told["done"] >= found.count("done")
    assert told["refused"] == found.count("refused")
    figures(requests=total, **{end: found.count(end) for end in ends})


def test_nothing_is_left_in_cycles() -> None:
    def requests() -> None:
        async def clients(batcher: Batcher) -> None:
            await asyncio.gather(*(batcher.submit_async(k) for k in range(5)))
            for data in (7, object()):
                with suppress(LookupError, gradiva.GradivaError):
                    await batcher.submit_async(data)

        async def refused(batcher: Batcher) -> None:
            with suppress(Overloaded, DeadlineExceeded):
                await batcher.submit_async(1, deadline_ms=1)

        def function(batch: Any) -> Any:
            if (batch.as_array() == 7).any():
                raise LookupError("seven")
            return batch

        with Batcher(function) as batcher:
            asyncio.run(clients(batcher))
        with busy(max_queue=1) as (batcher, _, _):
            waits = batcher.submit(1)
            asyncio.run(refused(batcher))
            with suppress(Overloaded):
                batcher(1)
            waits.cancel()
            asyncio.run(refused(batcher))
            with suppress(DeadlineExceeded):
                batcher(1, deadline_ms=1)

    requests()
    assert cyclic_garbage(requests) == []


def test_threads_and_loops_together() -> None:
    async def client(batcher: Batcher) -> int:
        return int((await batcher.submit_async(3)).item())

    with Batcher(lambda batch: batch) as batcher:
        batcher(0)  # starts the threads that stay
    before = threading.active_count()
    with Batcher(lambda batch: batch) as batcher:
        runs = [in_thread(lambda: asyncio.run(client(batcher))) for _ in range(4)]
        calls = [in_thread(batcher, k) for k in range(4)]
        assert [one.result(PATIENCE) for one in runs] == [3] * 4
        assert [one.result(PATIENCE).item() for one in calls] == [*range(4)]
    until(lambda: threading.active_count() <= before)
