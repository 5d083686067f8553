"""Runners: threads that run graphs on batches that were read for them, in turns.

A batch has parts that one thread does alone: headers, shapes, arguments, the wait for its last
samples. While one runner is there, the workers go on with the batch of another.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from .threads import started

__all__ = ["Runners"]

Work: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]


class Runners:
    """Threads that run the submitted work, first in, first out. They start on first use.

    name: of the threads, `gradiva-<name>-0` and so on; count: their number. Finished work is not
    referenced any more: the object whose method it was may refer to the runners.
    """

    def __init__(self, name: str, count: int = 2) -> None:
        self._name, self._count = name, count
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self.threads: list[threading.Thread] = []

    def put(self, work: Callable[..., None], *arguments: Any) -> None:
        """Submit `work(*arguments)`. It must not raise."""
        self._waiting.put((work, arguments))
        if not self.threads:
            for index in range(self._count):
                thread = started(_serve, f"gradiva-{self._name}-{index}", self._waiting)
                # Not earlier: the thread that stops the runners joins the threads in this list.
                self.threads.append(thread)

    def stop(self, timeout: float | None = None) -> None:
        """Let the threads finish the submitted work, and end. timeout: seconds to wait for that."""
        for _ in self.threads:
            self._waiting.put(None)
        until = None if timeout is None else time.monotonic() + timeout
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(None if until is None else max(until - time.monotonic(), 0.0))


def _serve(waiting: queue.SimpleQueue[Work | None]) -> None:
    while (found := waiting.get()) is not None:
        work, arguments = found
        work(*arguments)
        del found, work, arguments  # a waiting thread must not keep the last batch's buffers alive
