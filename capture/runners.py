"""Runners: two threads that run graphs on batches that were read for them, in turns.

A batch has parts that one thread does alone: headers, shapes, arguments, the wait for its last
samples. While one runner is there, the workers go on with the batch of the other.
"""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Runners", "weakly"]

_COUNT = 2


class Runners:
    """Threads that call `work` with what is put, first in, first out. They start on first use.

    `work` must not raise. name: of the threads, `gradiva-<name>-0` and so on.
    """

    def __init__(self, work: Callable[..., None], name: str) -> None:
        self._work = work
        self._name = name
        self._waiting: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []

    def put(self, *arguments: Any) -> None:
        """Have `work(*arguments)` called soon."""
        self._waiting.put(arguments)
        if not self.threads:
            for index in range(_COUNT):
                thread = threading.Thread(
                    target=_serve,
                    args=(self._waiting, self._work),
                    name=f"gradiva-{self._name}-{index}",
                    daemon=True,
                )
                thread.start()
                # Not before: whoever stops the runners joins what stands here.
                self.threads.append(thread)

    def stop(self, timeout: float | None = None) -> None:
        """Let the threads do what was put, and end. timeout: seconds to wait for that."""
        for _ in self.threads:
            self._waiting.put(None)
        until = None if timeout is None else time.monotonic() + timeout
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(None if until is None else max(until - time.monotonic(), 0.0))


def _serve(waiting: queue.SimpleQueue[tuple[Any, ...] | None], work: Callable[..., None]) -> None:
    while (arguments := waiting.get()) is not None:
        work(*arguments)
        del arguments  # a waiting thread must not keep the last batch's buffers alive


def weakly(method: weakref.WeakMethod[Any]) -> Callable[..., None]:
    """A function that calls the method for as long as there is its object."""

    def call(*arguments: Any) -> None:
        bound = method()
        if bound is not None:
            bound(*arguments)

    return call
