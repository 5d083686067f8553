"""Closing what nothing refers to any more, in a thread of its own.

A finalizer runs at any moment and in any thread: in one that holds a lock, or that another thread
waits for. So no finalizer of gradiva waits, takes a lock or joins a thread. It posts what is to be
closed here, and the closer does the rest.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from .threads import started

__all__ = ["Closer", "closer"]

_MOST: Final = 16
"""Closings that may wait before the thread that makes more of them waits, too."""


class Closer:
    """A thread that calls what finalizers post, in order. `ready` starts it."""

    def __init__(self) -> None:
        self._posted: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]]
        self._begin()

    def _begin(self) -> None:
        self._posted = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ready(self) -> None:
        """Have the thread running. Called where something is made that a finalizer will post: a
        finalizer cannot start threads."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = started(self._serve, "gradiva-closer", self._posted)

    def post(self, close: Callable[..., object], *arguments: Any) -> None:
        """Have `close(*arguments)` called soon. Does not wait, and may interrupt itself."""
        self._posted.put((close, arguments))

    def catch_up(self, timeout: float = 5.0) -> None:
        """Wait while much is to be closed: who makes and drops things in a loop must not be faster
        than the closer. Not for callers that hold a lock, nor for finalizers."""
        until = time.monotonic() + timeout
        while (
            self._posted.qsize() > _MOST
            and time.monotonic() < until
            and threading.current_thread() is not self._thread
        ):
            time.sleep(0.001)

    def _serve(
        self, posted: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]]
    ) -> None:
        while True:
            close, arguments = posted.get()
            try:
                close(*arguments)
            except Exception as error:  # noqa: BLE001  the others must be closed all the same
                threading.excepthook(
                    threading.ExceptHookArgs(
                        (type(error), error, error.__traceback__, threading.current_thread())
                    )
                )
            del close, arguments  # a waiting thread must not keep what it has closed

    def after_fork(self) -> None:
        """In the child, which has no such thread; what was posted is the parent's."""
        self._begin()


closer: Final = Closer()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=closer.after_fork)
