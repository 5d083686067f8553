"""The bytes of a part, which the event loop delivers and other threads wait for."""

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
"""One lock for all of them: it is held for a few instructions only."""


class Arrival:
    """Like a future of `concurrent.futures`. Each of those has a lock, a condition and a dozen more
    objects: for small files a tenth of the CPU time, including the garbage collector."""

    __slots__ = ("_data", "_done", "_error", "_gates")

    def __init__(self) -> None:
        self._data: Data = b""
        self._error: BaseException | None = None
        self._done = False
        self._gates: tuple[threading.Lock, ...] = ()
        """One lock for each waiting thread."""

    def done(self) -> bool:
        return self._done

    def cancelled(self) -> bool:
        return isinstance(self._error, futures.CancelledError)

    def cancel(self) -> None:
        """Cancel, unless the bytes are there."""
        self._finish(b"", futures.CancelledError())

    def set_result(self, data: Data) -> None:
        self._finish(data, None)

    def set_exception(self, error: BaseException) -> None:
        self._finish(b"", error)

    def _finish(self, data: Data, error: BaseException | None) -> None:
        """Only the first result counts."""
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
        """Wait for the bytes. Raises the error that came instead, `CancelledError` of
        `concurrent.futures`, or TimeoutError after this many seconds."""
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._data

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error that came instead of the bytes; `CancelledError` if it was cancelled."""
        if not self._done:
            self._wait(timeout)
        return self._error


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
