"""The event loop for requests: a thread of its own in each process. And work in other threads, of
which it learns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    import asyncio
    from concurrent import futures
else:
    asyncio = lazy_module("asyncio")
    futures = lazy_module("concurrent.futures")

T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""By process. After a fork the parent's loop stays here: closing it would disturb the parent."""


def storage_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process."""
    with _lock:
        found = _loops.get(os.getpid())
        if found is None:
            found = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=found.run_forever, name="gradiva-storage", daemon=True).start()
        return found


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


class InThread(Generic[T]):
    """Work in one of these threads. done: called in the loop with the result, or with what went
    wrong."""

    def __init__(
        self,
        work: Callable[[], T],
        threads: futures.ThreadPoolExecutor,
        loop: asyncio.AbstractEventLoop,
        done: Callable[[T | Exception], None],
    ) -> None:
        self._loop = loop
        self._done: Callable[[T | Exception], None] | None = done
        self._running = threads.submit(self._run, work)

    def _run(self, work: Callable[[], T]) -> None:
        result: T | Exception
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  for who waits
            result = error
        except BaseException as error:  # noqa: BLE001  such as a panic of compiled code
            result = OSError(f"{type(error).__name__}: {error}")
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._over, result)

    def _over(self, result: T | Exception) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(result)

    def cancel(self) -> None:
        """Nobody wants the result any more. For the loop."""
        self._running.cancel()
        self._over(InterruptedError("nobody waits for it"))
