"""The bytes of a part, which the loop of requests delivers and other threads wait for."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from gradiva.eager.support.lazy_import import lazy_module

from .ranges import Data

if TYPE_CHECKING:
    from concurrent import futures
else:
    futures = lazy_module("concurrent.futures")

__all__ = ["Arrival"]

_lock = threading.Lock()
"""For all of them: it is held for a few instructions."""


class Arrival:
    """As a future of `concurrent.futures`, of which each has a lock, a condition and a dozen of
    objects more: for small objects a tenth of the CPU, with what the garbage collector does."""

    __slots__ = ("_data", "_done", "_error", "_gates")

    def __init__(self) -> None:
        self._data: Data = b""
        self._error: BaseException | None = None
        self._done = False
        self._gates: tuple[threading.Lock, ...] = ()
        """One for each thread that waits."""

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return isinstance(self._error, futures.CancelledError)

    def cancel(self) -> None:
        """Nothing will come, unless it is there."""
        self._finish(b"", futures.CancelledError())

    def set_result(self, data: Data) -> None:
        self._finish(data, None)

    def set_exception(self, error: BaseException) -> None:
        self._finish(b"", error)

    def _finish(self, data: Data, error: BaseException | None) -> None:
        """The first end counts."""
        with _lock:
            if self._done:
                return
            self._data, self._error, self._done = data, error, True
            gates, self._gates = self._gates, ()
        for gate in gates:
            gate.release()

    def _wait(self, timeout: float | None) -> None:
        with _lock:
            if self._done:
                return
            gate = threading.Lock()
            gate.acquire()
            self._gates = (*self._gates, gate)
        if not gate.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError

    def result(self, timeout: float | None = None) -> Data:
        """The bytes, when they are there. Raises what came in their place, `CancelledError` of
        `concurrent.futures`, TimeoutError after so many seconds."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._data

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What came in place of bytes, `CancelledError` where it was cancelled."""
        if not self._done:
            self._wait(timeout)
        return self._error


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
