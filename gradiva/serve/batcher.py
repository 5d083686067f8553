"""`Batcher`: one function of batches for requests that come one by one, from many clients."""

from __future__ import annotations

import functools
import inspect
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet  # in Python 3.10 it is not TimeoutError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gradiva.eager.runtime.finalizer_thread import FinalizerThread, finalizer_thread
from gradiva.eager.runtime.worker_pool import thread_count
from gradiva.eager.support.errors import (
    OperatorTypeError,
    annotate_error,
    describe,
    leaving,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.validation import integer

from .engine import Engine, Settings
from .errors import late
from .isolation import run
from .requests import Request, RequestFuture, as_samples
from .statistics import BatcherStats

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Self
else:
    asyncio = lazy_module("asyncio")

__all__ = ["Batcher"]


class Batcher:
    """Collects requests of many clients into batches for one function.

    Each request is one sample, or one for each input of the function. It gets its part of what the
    function returns for a batch. The function runs in a thread of the batcher; while it runs,
    further requests collect for the next batch.

    Args:
        fn: a function of one batch or several ones, plain or compiled (`capture.compile`). It
            returns a batch, an array or a list with a row for each sample, or a tuple or dict of
            these; None if there is nothing to return. It is called by one thread at a time.
        max_batch: the most samples of a batch.
        max_delay_ms: how long the first request of a batch waits for others at most, in
            milliseconds, if the batcher has nothing else to do.
        deadline_ms: how long a request may take, in milliseconds; a call can say something else.
            None, no limit. A request that would take longer, as the times of the last batches and
            the length of the queue predict, is refused at once.
        max_queue: the most requests that wait for a batch.
        block: what to do with a request for which there is no place in the queue: True, let the
            client wait; False, refuse it.
        adaptive: wait for other requests only if that makes requests faster on average, as the
            times of batches and the gaps between requests predict. False: always wait.
        isolate: if `fn` raises an error for a batch, call it again for parts of the batch, so that
            only the requests at fault fail. False: all requests of the batch get the error, and
            `fn` sees no request twice.
        runners: how many threads call `fn`, each with a batch of its own. With more than one, `fn`
            must allow that.

    Raises:
        OperatorTypeError: for arguments of other types.
        OperatorValueError: for numbers out of range.

    Example:
        def prepare(files):
            images = gradiva.decoders.image(files, on_error="skip")
            return gradiva.resize(images, size=(32, 32))

        with gradiva.serve.Batcher(prepare, max_batch=8) as batcher:
            batcher(Path("photos/things/coffee.jpg").read_bytes()).shape  # (32, 32, 3)
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        max_batch: int = 16,
        max_delay_ms: float = 2.0,
        deadline_ms: float | None = None,
        *,
        max_queue: int = 1024,
        block: bool = False,
        adaptive: bool = True,
        isolate: bool = True,
        runners: int = 1,
    ) -> None:
        with annotate_error("Batcher"):
            if not callable(fn) or inspect.iscoroutinefunction(fn):
                raise wrong_type("fn", "a function of batches, no coroutine", describe(fn))
            settings = Settings(
                fn,
                integer(max_batch, 1, limits="at least 1", argument="max_batch"),
                _milliseconds(max_delay_ms, "max_delay_ms", zero=True) / 1e3,
                integer(max_queue, 1, limits="at least 1", argument="max_queue"),
                _flag(block, "block"),
                _flag(adaptive, "adaptive"),
                _flag(isolate, "isolate"),
                thread_count(runners, "Batcher", "runners"),
            )
            if deadline_ms is not None:
                deadline_ms = _milliseconds(deadline_ms, "deadline_ms")
        self.fn = fn
        self.deadline_ms = deadline_ms
        self._options: dict[str, Any] = {
            "max_batch": max_batch, "max_delay_ms": max_delay_ms, "deadline_ms": deadline_ms,
            "max_queue": max_queue, "block": block, "adaptive": adaptive, "isolate": isolate,
            "runners": runners,
        }  # fmt: skip
        self._engine = Engine(settings)

    def __call__(self, *data: Any, deadline_ms: float | None = None) -> Any:
        """The result of a request, for which it waits; from any thread.

        data: a sample for each input of the function: bytes, an array, a Tensor, a number. Do not
        write into it before the result is there. deadline_ms: of this request.

        Returns what the function has returned for this sample: a Tensor of a batch, a row of an
        array or list. It is a view on the memory of the batch, which is freed when none of its
        results exists any more: copy what you keep for long.

        Raises what the function has raised because of this sample; Overloaded, DeadlineExceeded,
        BatcherClosed; OperatorTypeError and OperatorValueError for what is no sample;
        OperatorRuntimeError in a call of the function, which would wait for itself.
        """
        with annotate_error("Batcher"):
            self._engine.check_outside()
        request = self._submitted(data, deadline_ms)
        future = request.future
        error: BaseException | None = None
        try:
            try:
                error = future.exception(self._time_left(request))
            except NotYet:
                if not future.done():
                    self._engine.give_up(request)
                    raise leaving(late(request.deadline_ms or 0.0), "Batcher") from None
                error = future.exception()
            if error is not None:
                raise error
            return future.result()
        except BaseException:
            future.cancel()  # after Ctrl+C
            raise
        finally:
            del error, future, request, data  # a holder of the error also holds this frame

    def submit(self, *data: Any, deadline_ms: float | None = None) -> Future[Any]:
        """A future of the result of a request, as `__call__` returns it.

        If it is canceled before its batch has begun, the request leaves the queue. A request that
        waits when its deadline passes fails with DeadlineExceeded; one that is running gets its
        result late. With `block`, waits until there is a place in the queue.

        Raises Overloaded, BatcherClosed; with `block`, DeadlineExceeded; OperatorTypeError and
        OperatorValueError for what is no sample.
        """
        request = self._submitted(data, deadline_ms, waits=True)
        try:
            if request.admitted is not None and not request.admitted.wait(self._time_left(request)):
                self._engine.give_up(request)
                raise leaving(late(request.deadline_ms or 0.0), "Batcher")
        except BaseException:
            request.future.cancel()
            raise
        return request.future

    async def submit_async(self, *data: Any, deadline_ms: float | None = None) -> Any:
        """`await batcher.submit_async(data)`: as `__call__`, without blocking the event loop.

        Any number of event loops may use one batcher. If the task is canceled, the request leaves
        the queue.
        """
        request = self._submitted(data, deadline_ms)
        future = request.future
        try:
            if not await _done(future, self._time_left(request)):
                self._engine.give_up(request)
                raise leaving(late(request.deadline_ms or 0.0), "Batcher")
            return future.result()
        except BaseException:
            future.cancel()
            raise
        finally:
            del future, request, data

    def _submitted(
        self, data: Sequence[Any], deadline_ms: float | None, waits: bool = False
    ) -> Request:
        with annotate_error("Batcher"):
            if deadline_ms is None:
                deadline_ms = self.deadline_ms
            else:
                deadline_ms = _milliseconds(deadline_ms, "deadline_ms")
            return self._engine.submit(as_samples(data), deadline_ms, waits)

    def _time_left(self, request: Request) -> float | None:
        """The seconds until the deadline; None without one."""
        if request.deadline is None:
            return None
        left = request.deadline - self._engine.clock()
        return None if left > threading.TIMEOUT_MAX else max(0.0, left)

    def warm_up(self, *data: Any) -> None:
        """Call the function, in this thread, for batches of one and of `max_batch` samples that all
        are `data`, so that kernels are compiled, and the times of batches known, before the first
        request. Raises what the function raises."""
        settings, clock = self._engine.settings, self._engine.clock
        with annotate_error("Batcher"):
            samples = as_samples(data)
        for size in sorted({1, settings.max_batch}):
            for _ in range(2):  # the first call may compile
                future = RequestFuture(_nothing)
                requests = [Request(k, samples, future, 0.0, None) for k in range(size)]
                began = clock()
                outcomes, _ = run(settings.function, requests, isolate=False)
                seconds = clock() - began
                error = outcomes[0].error
                try:
                    if error is not None:
                        raise error
                finally:
                    del error, outcomes, requests, future
            self._engine.measured(size, seconds)

    def stats(self) -> BatcherStats:
        """What was done so far, as a dict; see `BatcherStats`."""
        return self._engine.stats()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._engine.closed

    def close(self, timeout: float | None = 5.0, drain: bool = False) -> bool:
        """Take no further requests, and stop the threads. Done at the end of a block, `with
        Batcher(fn) as batcher:`, and at the end of the process.

        Requests that wait get BatcherClosed; with `drain`, they are answered first. Requests whose
        batch is running get their results. What is not done after `timeout` seconds (None: no
        limit) gets BatcherClosed, and a function that never returns is left behind.

        Returns whether all threads have ended.
        """
        return self._engine.close(timeout, drain)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def __del__(self, finalizer_thread: FinalizerThread = finalizer_thread) -> None:
        engine = getattr(self, "_engine", None)  # missing if the arguments were wrong
        if engine is not None and not engine.closed:
            finalizer_thread.post(engine.retire)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(Batcher, self.fn, **self._options), ()

    def __repr__(self) -> str:
        name = getattr(self.fn, "__qualname__", None) or repr(self.fn)
        told = self.stats()
        state = "closed" if self.closed else f"{told['queued']} queued, {told['running']} running"
        return f"<Batcher of {name}, {state}>"


async def _done(future: Future[Any], seconds: float | None) -> bool:
    """Wait until a future is done, at most so many seconds. Returns whether it is."""
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed, and nobody waits
            loop.call_soon_threadsafe(_set, waiter)

    future.add_done_callback(wake)
    timer = None if seconds is None else loop.call_later(seconds, _set, waiter)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()
    return future.done()


def _set(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _nothing() -> None:
    pass


def _milliseconds(value: Any, argument: str, zero: bool = False) -> float:
    """A time that a user gives. zero: whether it may be 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OperatorTypeError(
            argument=argument, expected="a number of milliseconds", got=describe(value)
        ) from None
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise wrong_value(argument, f"{'at least' if zero else 'more than'} 0", f"{number:g}")
    return number


def _flag(value: Any, argument: str) -> bool:
    if not isinstance(value, bool):
        raise OperatorTypeError(argument=argument, expected="True or False", got=describe(value))
    return value
