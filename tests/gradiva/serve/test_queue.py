"""The queue of a batcher: limits, deadlines, cancellation, and the end."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

import gradiva
from gradiva.serve import Batcher, BatcherClosed, DeadlineExceeded, Overloaded
from tests.gradiva.serve.gates import PATIENCE, Clock, Gate, busy

pytestmark = pytest.mark.core


def in_thread(call: Any, *data: Any, **options: Any) -> Future[Any]:
    """The result of a call that may block, in a thread of its own."""
    found: Future[Any] = Future()

    def body() -> None:
        try:
            found.set_result(call(*data, **options))
        except BaseException as error:  # noqa: BLE001
            found.set_exception(error)

    threading.Thread(target=body, daemon=True).start()
    return found


def until(condition: Any) -> None:
    """Wait for what another thread does."""
    waiting = threading.Event()
    for _ in range(6000):
        if condition():
            return
        waiting.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_full_queue_refuses() -> None:
    with busy(max_batch=2, max_queue=3) as (batcher, gate, _):
        futures = [batcher.submit(k) for k in range(3)]
        for call in (batcher, batcher.submit):
            with pytest.raises(Overloaded, match="the queue is full: 3 requests wait") as caught:
                call(9)
            assert caught.value.queued == 3
            assert caught.value.deadline_ms is None
            assert "test_queue.py" in str(caught.value)
        gate.open.set()
        assert [future.result(PATIENCE).item() for future in futures] == [0, 1, 2]
        assert batcher(9).item() == 9


def test_a_full_queue_lets_clients_wait() -> None:
    with busy(max_batch=2, max_queue=2, block=True) as (batcher, gate, _):
        futures = [batcher.submit(k) for k in range(2)]
        waiting = [in_thread(batcher, 2), in_thread(batcher.submit, 3)]
        until(lambda: batcher.stats()["queued"] == 4)
        assert not waiting[1].done()
        gate.open.set()
        assert [future.result(PATIENCE).item() for future in futures] == [0, 1]
        assert waiting[0].result(PATIENCE).item() == 2
        assert waiting[1].result(PATIENCE).result(PATIENCE).item() == 3
        assert batcher.stats()["refused"] == 0


def test_a_canceled_request_makes_room() -> None:
    with busy(max_queue=1, block=True) as (batcher, gate, _):
        held = batcher.submit(1)
        waiting = in_thread(batcher.submit, 2)
        until(lambda: batcher.stats()["queued"] == 2)
        assert held.cancel()
        future = waiting.result(PATIENCE)  # while the batch runs
        gate.open.set()
        assert future.result(PATIENCE).item() == 2
        assert batcher.stats()["canceled"] == 1


def test_canceled_requests_do_not_run() -> None:
    with busy(max_batch=8) as (batcher, gate, first):
        futures = [batcher.submit(k) for k in range(4)]
        assert futures[1].cancel()
        assert futures[1].cancel()  # has no further effect
        assert futures[3].cancel()
        assert not first.cancel()  # it is running
        assert batcher.stats()["canceled"] == 2
        assert batcher.stats()["queued"] == 2
        gate.open.set()
        assert [futures[k].result(PATIENCE).item() for k in (0, 2)] == [0, 2]
        assert gate.sizes == [1, 2]
        with pytest.raises(CancelledError):
            futures[1].result()


def predicting(batcher: Batcher, milliseconds: float, clock: Clock) -> None:
    """A batch takes so long for each sample, by a clock of the test."""
    batcher._engine.clock = clock
    for _ in range(3):
        batcher._engine.measured(1, milliseconds / 1e3)


def test_requests_that_would_be_late_are_refused() -> None:
    """30 ms for each sample, 10 ms of the running batch are over: 20 ms, and 30 for each."""
    gate, clock = Gate(), Clock()
    with Batcher(gate, max_batch=2) as batcher:
        predicting(batcher, 30, clock)
        first = batcher.submit(0, deadline_ms=1)  # an idle batcher takes any request
        gate.wait()
        clock.now += 0.010
        with pytest.raises(
            Overloaded, match=r"would take 50\.0 ms, more than its deadline"
        ) as caught:
            batcher.submit(1, deadline_ms=49)
        assert caught.value.predicted_ms == pytest.approx(50)
        assert (caught.value.deadline_ms, caught.value.queued) == (49, 0)
        futures = [
            batcher.submit(1, deadline_ms=51),  # 20 + 30
            batcher.submit(2, deadline_ms=81),  # 20 + 60, in one batch with the other
            batcher.submit(3, deadline_ms=111),  # 20 + 60 + 30
            batcher.submit(4),  # no deadline
        ]
        with pytest.raises(Overloaded, match="4 requests wait before it") as caught:
            batcher(5, deadline_ms=169)
        assert caught.value.predicted_ms == pytest.approx(20 + 60 + 60 + 30)
        gate.open.set()
        assert [future.result(PATIENCE).item() for future in futures] == [1, 2, 3, 4]
        assert first.result().item() == 0
        assert batcher.stats()["refused"] == 2


def test_nothing_is_refused_before_a_batch_was_measured() -> None:
    with busy(deadline_ms=3.6e6) as (batcher, gate, _):
        future = batcher.submit(1, deadline_ms=3.5e6)
        gate.open.set()
        assert future.result(PATIENCE).item() == 1


def test_a_batcher_that_was_slow_once_recovers() -> None:
    """An idle batcher tries, whatever it predicts, and so learns that batches are fast again."""
    clock = Clock()
    with Batcher(lambda batch: batch, deadline_ms=5000) as batcher:
        predicting(batcher, 3.6e6, clock)
        for k in range(200):
            assert batcher(k).item() == k
        assert batcher.stats()["batch_ms"][1] < 1


def test_what_waits_until_its_deadline_does_not_run() -> None:
    gate, clock = Gate(), Clock()
    with Batcher(gate, max_batch=8) as batcher:
        batcher._engine.clock = clock
        first = batcher.submit(0)
        gate.wait()
        late, others = batcher.submit(1, deadline_ms=40), [batcher.submit(k) for k in (2, 3)]
        others.append(batcher.submit(4, deadline_ms=60))
        clock.now += 0.050
        gate.open.set()
        with pytest.raises(
            DeadlineExceeded, match="not done within its deadline of 40 ms"
        ) as caught:
            late.result(PATIENCE)
        assert caught.value.deadline_ms == 40
        assert isinstance(caught.value, TimeoutError)
        assert [future.result(PATIENCE).item() for future in others] == [2, 3, 4]
        assert gate.sizes == [1, 3]
        assert first.result().item() == 0
        told = batcher.stats()
        assert (told["late"], told["done"]) == (1, 4)


def waiting(*deadlines: float) -> tuple[Batcher, Gate, list[Future[Any]]]:
    """Requests with these deadlines, in ms, that have waited for 20 ms; each sample of a batch
    takes 30 ms."""
    gate, clock = Gate(), Clock()
    batcher = Batcher(gate, max_batch=8)
    batcher._engine.clock = clock
    batcher.submit(0)
    gate.wait()
    futures = [batcher.submit(k, deadline_ms=one) for k, one in enumerate(deadlines)]
    predicting(batcher, 30, clock)
    clock.now += 0.020
    return batcher, gate, futures


def test_what_its_batch_would_make_too_late_does_not_run() -> None:
    """Nor does it make others late: the third would be done after 80 ms, as the second of a batch,
    and the fourth then is."""
    batcher, gate, futures = waiting(40, 60, 70, 90)
    with batcher:
        gate.open.set()
        assert [futures[k].result(PATIENCE).item() for k in (1, 3)] == [1, 3]
        for k in (0, 2):
            with pytest.raises(DeadlineExceeded):
                futures[k].result(PATIENCE)
        assert gate.sizes == [1, 2]
        assert batcher.stats()["late"] == 2


def test_one_that_seems_too_late_runs_if_nothing_else_does() -> None:
    """So a batcher whose measured times are out of date measures again."""
    batcher, gate, futures = waiting(40, 30)
    with batcher:
        gate.open.set()
        assert futures[1].result(PATIENCE).item() == 1
        with pytest.raises(DeadlineExceeded):
            futures[0].result(PATIENCE)
        assert gate.sizes == [1, 1]


def test_a_client_waits_until_its_deadline() -> None:
    """Also if the function never returns."""
    with busy() as (batcher, gate, first):
        with pytest.raises(DeadlineExceeded, match="deadline of 1 ms"):
            batcher(1, deadline_ms=1)
        assert batcher.stats()["queued"] == 0
        gate.open.set()
        assert first.result(PATIENCE).item() == 0
        told = batcher.stats()
        assert (told["late"], told["done"], told["canceled"]) == (1, 1, 0)
    gate = Gate()
    with Batcher(gate, deadline_ms=1) as batcher:
        with pytest.raises(DeadlineExceeded):
            batcher(1)
        gate.open.set()
        assert batcher.close()
        told = batcher.stats()
        assert (told["late"], told["done"], told["requests"]) == (1, 0, 1)


def test_a_client_waits_for_a_place_until_its_deadline() -> None:
    with busy(max_queue=1, block=True) as (batcher, gate, _):
        held = batcher.submit(1)
        with pytest.raises(DeadlineExceeded):
            batcher.submit(2, deadline_ms=1)
        assert batcher.stats()["queued"] == 1
        gate.open.set()
        assert held.result(PATIENCE).item() == 1


def test_an_error_of_the_function_is_no_deadline() -> None:
    """Which may be a TimeoutError of its own."""

    def function(batch: Any) -> Any:
        raise TimeoutError("of the user")

    with Batcher(function) as batcher, pytest.raises(TimeoutError, match="of the user") as caught:
        batcher(1, deadline_ms=3.6e6)
    assert not isinstance(caught.value, DeadlineExceeded)


def test_closing() -> None:
    """What runs is answered, and what waits gets an error."""
    with busy(max_batch=2, max_queue=2, block=True) as (batcher, gate, first):
        futures = [batcher.submit(k) for k in range(2)]
        waiting = [in_thread(batcher, 2), in_thread(batcher.submit, 3)]
        until(lambda: batcher.stats()["queued"] == 4)
        closing = in_thread(batcher.close, None)
        for future in (*futures, waiting[0], waiting[1].result(PATIENCE)):
            with pytest.raises(BatcherClosed, match="the batcher was closed"):
                future.result(PATIENCE)
        assert not closing.done()
        gate.open.set()
        assert closing.result(PATIENCE) is True
        assert first.result(PATIENCE).item() == 0
        with pytest.raises(BatcherClosed, match="this batcher was closed"):
            batcher(1)
        assert batcher.close()


def test_draining() -> None:
    """What waits is answered, and nothing new is taken."""
    with busy(max_batch=2, max_queue=3, block=True) as (batcher, gate, _):
        futures = [batcher.submit(k) for k in range(3)]
        waiting = in_thread(batcher, 3)
        until(lambda: batcher.stats()["queued"] == 4)
        closing = in_thread(batcher.close, None, drain=True)
        until(lambda: batcher.closed)
        with pytest.raises(BatcherClosed):
            batcher(9)
        gate.open.set()
        assert closing.result(PATIENCE) is True
        assert [future.result(PATIENCE).item() for future in (*futures, waiting)] == [0, 1, 2, 3]


def test_a_function_that_never_returns() -> None:
    with busy() as (batcher, gate, first):
        waits = batcher.submit(1)
        assert not batcher.close(timeout=0.01)
        with pytest.raises(BatcherClosed, match=r"was not done within 0\.01 s"):
            first.result(PATIENCE)
        with pytest.raises(BatcherClosed):
            waits.result(PATIENCE)
        gate.open.set()  # the late result has no effect
        assert batcher.close(timeout=PATIENCE)
        with pytest.raises(BatcherClosed):
            first.result(PATIENCE)


def test_a_function_that_closes_its_batcher() -> None:
    def function(batch: Any) -> Any:
        batcher.close()
        return batch

    batcher = Batcher(function)
    with pytest.raises(BatcherClosed):
        batcher(1)
    assert batcher.closed


def test_a_function_that_would_wait_for_itself() -> None:
    """It gets an error in place of a thread that hangs. A request without waiting is fine."""
    more: list[Future[Any]] = []

    def function(batch: Any) -> Any:
        if (batch.as_array() == 7).any():
            return [batcher(8)]
        if (batch.as_array() == 3).any():
            more.append(batcher.submit(4))
        return batch

    with Batcher(function) as batcher:
        with pytest.raises(gradiva.OperatorRuntimeError, match="cannot wait for the batcher"):
            batcher(7)
        assert batcher(3).item() == 3
        assert more[0].result(PATIENCE).item() == 4


def test_a_runner_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example because there is no memory: the clients get an error, and do not hang."""
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    with busy() as (batcher, gate, first):
        waits = batcher.submit(1)

        def broken(*_: Any) -> Any:
            raise MemoryError

        monkeypatch.setattr(batcher._engine._queue, "take", broken)
        gate.open.set()
        assert first.result(PATIENCE).item() == 0
        with pytest.raises(BatcherClosed):
            waits.result(PATIENCE)
        assert batcher.closed
        assert batcher.close()
    assert [one.exc_type for one in raised] == [MemoryError]


def test_times_that_no_thread_can_wait() -> None:
    with Batcher(Gate(), max_delay_ms=1e300, deadline_ms=1e300, adaptive=False) as batcher:
        waits = batcher.submit(0)
        assert batcher.close(timeout=1e300)
        with pytest.raises(BatcherClosed):
            waits.result(PATIENCE)
    with Batcher(lambda batch: batch, deadline_ms=1e300) as batcher:
        assert batcher(3).item() == 3


def test_a_closed_batcher_has_no_threads() -> None:
    before = {*threading.enumerate()}
    with Batcher(lambda batch: batch, runners=3) as batcher:
        assert {*threading.enumerate()} == before  # they start with the first request
        batcher(1)
        mine = {*threading.enumerate()} - before
        assert all(thread.daemon for thread in mine)
        assert sum(thread.name == "gradiva-serve" for thread in mine) == 3
    assert not any(thread.is_alive() for thread in mine if thread.name == "gradiva-serve")


def test_a_dropped_batcher_answers_what_waits() -> None:
    """And then it is gone, with its threads, without the collector."""
    gc.collect()
    gc.disable()
    try:
        gate = Gate()
        batcher = Batcher(gate)
        (thread,) = _threads_of(batcher, gate)
        engine = weakref.ref(batcher._engine)
        future = batcher.submit(1)
        del batcher
        gate.open.set()
        assert future.result(PATIENCE).item() == 1
        thread.join(PATIENCE)
        assert not thread.is_alive()
        until(lambda: engine() is None)
        assert not future.cancel()
    finally:
        gc.enable()


def _threads_of(batcher: Batcher, gate: Gate) -> list[threading.Thread]:
    batcher.submit(0)
    gate.wait()
    return list(batcher._engine._threads)


def test_results_keep_their_batch_and_nothing_else() -> None:
    """A waiting thread keeps neither the last batch nor its results."""
    kept: list[weakref.ref[Any]] = []

    def function(batch: Any) -> Any:
        made = gradiva.as_batch([array + 1 for array in batch.arrays()])
        kept.append(weakref.ref(made))
        return made

    with Batcher(function) as batcher:
        result = batcher([1, 2, 3])
        until(lambda: kept[0]() is None)
        assert result.numpy().tolist() == [2, 3, 4]
        found = weakref.ref(result)
        del result
        until(lambda: found() is None)


def test_a_callback_that_fails() -> None:
    """It is reported by `concurrent.futures`, and the other requests get their results."""
    with busy(max_batch=4) as (batcher, gate, _):
        futures = [batcher.submit(k) for k in range(2)]
        futures[0].add_done_callback(lambda _: 1 / 0)
        gate.open.set()
        assert futures[1].result(PATIENCE).item() == 1
        assert batcher(5).item() == 5
