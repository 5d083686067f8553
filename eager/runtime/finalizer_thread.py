"""Closes resources that nothing refers to any more, in a thread of its own.

A finalizer runs at any moment and in any thread: also in a thread that holds a lock, or that
another thread waits for. So no finalizer of gradiva waits, takes a lock or joins a thread. It posts
what is to be closed to this thread.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from .threads import started

_MOST: Final = 16
"""The number of posted calls above which `catch_up` waits."""


class FinalizerThread:
    """A thread that calls what finalizers post, in order. `ready` starts it."""

    def __init__(self) -> None:
        self._posted: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]]]
        self._begin()

    def _begin(self) -> None:
        self._posted = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ready(self) -> None:
        """Start the thread if necessary. Called where an object with a finalizer is made: a
        finalizer cannot start threads."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = started(self._serve, "gradiva-closer", self._posted)

    def post(self, close: Callable[..., object], *arguments: Any) -> None:
        """Have `close(*arguments)` called soon. Does not wait, and is reentrant."""
        self._posted.put((close, arguments))

    def catch_up(self, timeout: float = 5.0) -> None:
        """Wait while there are many posted calls: a loop that makes and drops objects must not be
        faster than this thread. Not for callers that hold a lock, nor for finalizers."""
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
            except Exception as error:  # noqa: BLE001  the other calls must run in any case
                threading.excepthook(
                    threading.ExceptHookArgs(
                        (type(error), error, error.__traceback__, threading.current_thread())
                    )
                )
            del close, arguments  # a waiting thread must not keep the last resource alive

    def after_fork(self) -> None:
        """Called in the child of a fork, which has no such thread; the posted calls belong to the
        parent."""
        self._begin()


finalizer_thread: Final = FinalizerThread()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=finalizer_thread.after_fork)
