"""The engine of a batcher: its queue, and the threads that run the function on batches.

A thread that waits for requests holds the engine, not the `Batcher`: when the user has dropped
that, its finalizer closes the engine.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gradiva.eager.jit.jit import compiled_kernels
from gradiva.eager.runtime.finalizer_thread import finalizer_thread
from gradiva.eager.runtime.threads import started
from gradiva.eager.support.errors import OperatorRuntimeError, without_frames
from gradiva.eager.values.tensor import Tensor

from .errors import BatcherClosed, Overloaded, late
from .isolation import Outcome, run
from .queue import RequestQueue
from .requests import Request, RequestFuture
from .statistics import BatcherStats, Counts
from .timing import Arrivals, BatchTimes, Lateness, pause, time_until_done

__all__ = ["Engine", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments of a Batcher; delay: in seconds."""

    function: Callable[..., Any]
    max_batch: int
    delay: float
    max_queue: int
    block: bool
    adaptive: bool
    isolate: bool
    runners: int


@dataclass(frozen=True, slots=True)
class _Run:
    """A batch that runs, and since when."""

    requests: Sequence[Request]
    began: float


class Engine:
    """The queue of requests, and the runners: threads, one of which at a time takes requests."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.clock = clock
        self.closed = False
        self._number = 0
        self._queue = RequestQueue(settings.max_queue)
        self._running: dict[int, _Run] = {}
        self._begin()
        _engines.add(self)

    def _begin(self) -> None:
        """The parts that a forked process cannot share."""
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._ready = threading.Condition(self._lock)
        """The runner whose turn it is waits for requests on this."""
        self._wakes_at = 0
        """The number of queued requests for which this runner wants to be woken; 0 if it does not
        wait."""
        self._threads: list[threading.Thread] = []
        self._counts = Counts()
        self._times = BatchTimes()
        self._cold = True
        """Whether the first batch is still to come, which loads modules and kernels: its time says
        nothing about others."""
        self._arrivals = Arrivals()
        self._lateness = Lateness()

    def check_outside(self) -> None:
        """Raise OperatorRuntimeError in a runner, which cannot wait for itself."""
        if threading.current_thread() in self._threads:
            raise OperatorRuntimeError(
                "the function of a batcher, or a callback of its futures, cannot wait for the "
                "batcher: call the function itself, or use `submit`"
            )

    def submit(
        self, samples: tuple[Tensor, ...], deadline_ms: float | None, waits: bool = False
    ) -> Request:
        """Put a request into the queue.

        waits: whether the caller wants to wait until there is a place: `admitted` is set then.
        Raises Overloaded, BatcherClosed; OperatorRuntimeError if the system starts no threads.
        """
        with self._lock:
            if self.closed:
                raise BatcherClosed("this batcher was closed", operator="Batcher")
            if not self._threads:
                self._start()
            now = self.clock()
            number, self._number = self._number, self._number + 1
            self._counts.requests += 1
            predicted = self._predicted(now)
            refusal = self._refusal(predicted, deadline_ms)
            if refusal is not None:
                self._counts.refused += 1
                raise refusal
            future = RequestFuture(_Withdraw(weakref.ref(self), number))
            request = Request(number, samples, future, now, deadline_ms, predicted)
            self._arrivals.add(now)
            self._queue.put(request, waits)
            if 0 < self._wakes_at <= len(self._queue):
                self._ready.notify()
        return request

    def _predicted(self, now: float) -> float | None:
        """How long a request will take that arrives now, by the times of batches."""
        settings = self.settings
        return time_until_done(
            len(self._queue),
            [(len(one.requests), one.began) for one in self._running.values()],
            settings.runners,
            settings.max_batch,
            now,
            self._times,
            0.0 if settings.adaptive else settings.delay,
        )

    def _refusal(self, seconds: float | None, deadline_ms: float | None) -> Overloaded | None:
        """The error for a request that would take too long, or for which there is no place.
        seconds: the time that it takes by the times of batches."""
        queued = len(self._queue)
        full = not self.settings.block and self._queue.full
        if not full and (deadline_ms is None or not (queued or self._running)):
            # What was measured may be out of date: an idle engine tries.
            return None
        predicted = None if seconds is None else 1e3 * (seconds + self._lateness.margin)
        facts: dict[str, Any] = {
            "operator": "Batcher",
            "predicted_ms": predicted,
            "deadline_ms": deadline_ms,
            "queued": queued,
        }
        if full:
            return Overloaded(f"the queue is full: {queued} requests wait (`max_queue`)", **facts)
        if predicted is None or deadline_ms is None or predicted <= deadline_ms:
            return None
        return Overloaded(
            f"overloaded: this request would take {predicted:.1f} ms, more than its deadline of "
            f"{deadline_ms:g} ms; {queued} requests wait before it",
            **facts,
        )

    def _start(self) -> None:
        """Start the runners; fewer, but at least one, if the system starts no more threads."""
        finalizer_thread.ready()  # for the finalizer of the batcher
        for _ in range(self.settings.runners):
            try:
                self._threads.append(started(_serve, "gradiva-serve", self))
            except OperatorRuntimeError:
                if not self._threads:
                    raise
                break

    def take(self) -> list[Request] | None:
        """The requests of the next batch, for which it waits; None if there will be none. Called by
        one runner at a time."""
        while True:
            expired: list[Request] = []
            with self._lock:
                batch = self._take(expired)
            for request in expired:
                _fail(request, late(request.deadline_ms or 0.0))
            if batch is None or batch:
                return batch
            del expired, batch

    def _take(self, expired: list[Request]) -> list[Request] | None:
        """As `take`; empty if there is none yet. expired: gets those whose deadline has passed."""
        settings = self.settings
        while not self._queue:
            if self.closed or threading.current_thread() not in self._threads:
                return None
            self._sleep(1, None)
        now = self.clock()
        if not self.closed:
            seconds = pause(
                len(self._queue),
                self._queue.oldest.arrived,
                now,
                settings.max_batch,
                settings.delay,
                settings.adaptive,
                self._times,
                self._arrivals,
            )
            if seconds > 0:
                self._sleep(settings.max_batch, seconds)
                return []
        canceled: list[Request] = []
        batch = self._queue.take(settings.max_batch, now, self._times, expired, canceled)
        self._counts.ended(expired, "late")
        self._learn(expired, now + self._times.seconds(1))
        self._counts.ended(canceled, "canceled")  # `withdraw` comes too late to find them
        if batch:
            self._running[batch[0].number] = _Run(batch, now)
        return batch

    def _sleep(self, count: int, seconds: float | None) -> None:
        """Wait until there are `count` requests, or the engine is closed."""
        self._wakes_at = count
        self._ready.wait(None if seconds is None else min(seconds, threading.TIMEOUT_MAX))
        self._wakes_at = 0

    def withdraw(self, number: int) -> None:
        """A request was canceled: it makes room for others."""
        with self._lock:
            request = self._queue.remove(number)
            if request is not None:
                self._counts.ended([request], "canceled")

    def give_up(self, request: Request) -> None:
        """A client does not wait longer for its request, whose deadline has passed."""
        with self._lock:
            self._queue.remove(request.number)
            self._counts.ended([request], "late")
        request.future.cancel()

    def run(self, requests: list[Request]) -> None:
        """Answer the requests of a batch."""
        number, compiled = requests[0].number, len(compiled_kernels)
        error = None
        try:
            outcomes, calls = run(self.settings.function, requests, self.settings.isolate)
        except BaseException as raised:  # noqa: BLE001  a defect, of which the clients must hear
            error = without_frames(raised)
        if error is not None:
            text = f"{type(error).__name__}: {error}"
            outcomes, calls = (
                [Outcome(one, error=OperatorRuntimeError(text)) for one in requests],
                1,
            )
        now = self.clock()
        with self._lock:
            began = self._running.pop(number, _Run(requests, now)).began
            self._counted(outcomes, calls, now)
        for outcome in outcomes:
            _answer(outcome)
        now = self.clock()  # the next batch has waited for the answers, too
        with self._lock:
            if len(compiled_kernels) == compiled and not self._cold:
                self._times.add(len(requests), now - began)
                self._learn(requests, now)
            self._cold = False

    def _learn(self, requests: Sequence[Request], now: float) -> None:
        """These requests are done now, or could not be done earlier."""
        for request in requests:
            if request.predicted is not None:
                self._lateness.add(request.predicted, now - request.arrived)

    def _counted(self, outcomes: list[Outcome], calls: int, now: float) -> None:
        counts = self._counts
        counts.batches += 1
        counts.samples += len(outcomes)
        counts.calls += calls
        for outcome in outcomes:
            request = outcome.request
            if outcome.error is None and not request.counted:
                counts.latencies.append(now - request.arrived)
            counts.ended([request], "done" if outcome.error is None else "failed")

    def measured(self, size: int, seconds: float) -> None:
        """A batch outside of the queue took so long, and it was not the first one."""
        with self._lock:
            self._cold = False
            self._times.add(size, seconds)

    def stats(self) -> BatcherStats:
        """What was done so far."""
        most = self.settings.max_batch
        with self._lock:
            running = sum(len(one.requests) for one in self._running.values())
            queued, counts = len(self._queue), self._counts.copy()
            batch_ms = {
                size: 1e3 * self._times.seconds(size) for size in (1, most) if self._times.measured
            }
        return counts.told(queued, running, batch_ms)

    def retire(self) -> None:
        """Take no more requests, and end the runners once they have answered those that wait."""
        with self._lock:
            self.closed = True
            self._ready.notify_all()

    def close(self, timeout: float | None = 5.0, drain: bool = False) -> bool:
        """Stop. See `Batcher.close`."""
        self.retire()
        with self._lock:
            left = [] if drain else self._queue.clear()
            threads = list(self._threads)
        for request in left:
            _fail(request, BatcherClosed("the batcher was closed", operator="Batcher"))
        until = None if timeout is None else time.monotonic() + timeout
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(None if until is None else _bounded(until - time.monotonic()))
        with self._lock:
            left = self._queue.clear()
            left += [request for one in self._running.values() for request in one.requests]
        for request in left:
            text = f"the batcher was closed, and this request was not done within {timeout:g} s"
            _fail(request, BatcherClosed(text, operator="Batcher"))
        return not any(thread.is_alive() for thread in threads)

    def after_fork(self) -> None:
        """In the child of a fork: it has none of the threads, and its parent answers the
        requests."""
        left = self._queue.clear()
        left += [request for one in self._running.values() for request in one.requests]
        self._running.clear()
        self._begin()
        for request in left:
            text = "this request was made before a fork: the parent process has its result"
            request.future.fail_after_fork(BatcherClosed(text, operator="Batcher"))


@dataclass(frozen=True, slots=True)
class _Withdraw:
    """Tells the engine, if there is one, that a request was canceled."""

    engine: weakref.ref[Engine]
    number: int

    def __call__(self) -> None:
        engine = self.engine()
        if engine is not None:
            engine.withdraw(self.number)


def _serve(engine: Engine) -> None:
    """A runner."""
    ended = False
    try:
        while not ended:
            with engine._turn:
                batch = engine.take()
            ended = batch is None
            if batch is not None:
                engine.run(batch)
            del batch  # a waiting thread must not keep the last batch alive
    finally:
        if not ended:  # there is no memory, for example: the clients must not wait for ever
            engine.close(0.0)


def _bounded(seconds: float) -> float:
    """As threads can wait."""
    return max(0.0, min(seconds, threading.TIMEOUT_MAX))


def _answer(outcome: Outcome) -> None:
    if outcome.error is not None:
        _fail(outcome.request, outcome.error)
        return
    with suppress(InvalidStateError):  # the engine was closed since
        outcome.request.future.set_result(outcome.result)


def _fail(request: Request, error: BaseException) -> None:
    with suppress(InvalidStateError):
        request.future.set_exception(error)


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for engine in list(_engines):
        engine.close(timeout=2.0)


def _after_fork() -> None:
    for engine in list(_engines):
        engine.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
