"""A worker process: it runs one task after the other, and writes the results into shared memory.

A thread reads the connection. When the connection ends, the main process has ended or has closed
the pool, and the worker ends immediately, even inside of the user's callable.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from gradiva.eager.random.default_generator import default

from .channel import MessageKind, Received, Stream, send
from .fork_hygiene import close_in_forks, die_with_parent
from .shared_memory import Segment, aligned
from .stacks import write_stack_into

__all__ = ["CONTROL", "Work", "flush_all", "serve", "spawned"]

CONTROL = np.dtype([("calls", np.int64), ("task", np.int64), ("sample", np.int64)])
"""The progress of a worker: the number of calls so far, of the task, and of the sample in the batch
or -1."""

_GRACE = 0.3  # seconds in which a worker that was asked to stop may end by itself

Note = Callable[[int], None]


class Work(Protocol):
    """A source in a worker. It is inherited or unpickled there."""

    def run(
        self, request: dict[str, Any], keep: Callable[[np.ndarray[Any, Any]], int], note: Note
    ) -> dict[str, Any]:
        """The reply, of plain values. keep: takes an array, and returns the number by which the
        reply names it. note: to be called before each call of the user's, with its sample."""
        ...


def spawned(connection: socket.socket, parent: int | None) -> None:
    """The main function of a worker that is a new interpreter. parent: see `die_with_parent`."""
    if parent is not None:
        die_with_parent(parent)
    default.be_as_parent()  # a fork server may have the library loaded
    serve(connection, None)


def serve(connection: socket.socket, works: Sequence[Work] | None) -> None:
    """Process messages until the connection ends. works: None if they come in the first message."""
    # Ctrl+C reaches all processes of a terminal: the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    close_in_forks(connection)
    try:
        _Worker(connection, works).run()
    except OSError:
        os._exit(1)  # the main process has ended


class _Worker:
    def __init__(self, connection: socket.socket, works: Sequence[Work] | None) -> None:
        self._connection = connection
        self._works = works
        self._slots: dict[int, Segment] = {}
        self._tasks: queue.SimpleQueue[Received | None] = queue.SimpleQueue()
        self._granted: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._page: Segment | None = None
        self._control: Any = None

    def run(self) -> None:
        threading.Thread(target=self._listen, name="gradiva-listen", daemon=True).start()
        while (received := self._tasks.get()) is not None:
            kind, message, fds = received
            if kind == MessageKind.SETUP:
                self._set_up(message, fds)
            else:
                self._do(message)
            flush_all()

    def _listen(self) -> None:
        stream = Stream(self._connection)
        try:
            while (received := stream.next()) is not None:
                kind, message, fds = received
                if kind == MessageKind.STOP:
                    self._tasks.put(None)
                    threading.Event().wait(_GRACE)
                    break
                if kind == MessageKind.SLOT:
                    self._slots[message["slot"]] = Segment(message["bytes"], fds[0])
                    if message["asked"]:
                        self._granted.put(None)
                elif kind == MessageKind.REFUSED:
                    self._granted.put(message["why"])
                else:
                    self._tasks.put(received)
        finally:
            os._exit(0)

    def _set_up(self, message: dict[str, Any], fds: list[int]) -> None:
        self._page = Segment(CONTROL.itemsize, fds[0])
        self._control = self._page.array(CONTROL, (1,))[0]
        write_stack_into(self._page)
        kind, answer = MessageKind.READY, dict[str, Any]()
        if self._works is None:
            segment = Segment(message["bytes"], fds[1])
            try:
                # From the master that made this process; nothing is unpickled the other way.
                data = segment.array(np.dtype(np.uint8), (message["bytes"],)).tobytes()
                self._works = pickle.loads(data)
            except BaseException:  # noqa: BLE001  the master raises it
                kind, answer = MessageKind.UNUSABLE, {"why": traceback.format_exc(limit=-4)}
            segment.close()
        send(self._connection, kind, answer)

    def _do(self, message: dict[str, Any]) -> None:
        arrays: list[np.ndarray[Any, Any]] = []
        self._control["sample"] = -1
        self._control["task"] = message["task"]

        def keep(array: np.ndarray[Any, Any]) -> int:
            arrays.append(array)
            return len(arrays) - 1

        try:
            assert self._works is not None
            reply = self._works[message["source"]].run(message["request"], keep, self._note)
        except BaseException:  # noqa: BLE001  a fault of the library's; the user's are replies
            reply, arrays = {"fault": traceback.format_exc()}, []
        places, total = [], 0
        for array in arrays:
            places.append([array.dtype.str, list(array.shape), total])
            total = aligned(total + array.nbytes)
        slot = message["slot"]
        if total > self._slots[slot].nbytes:
            send(self._connection, MessageKind.NEED, {"task": message["task"], "bytes": total})
            why = self._granted.get()
            if why is not None:
                reply, places, arrays = {"refused": why}, [], []
        segment = self._slots[slot]
        for array, (_, shape, offset) in zip(arrays, places, strict=True):
            np.copyto(segment.array(array.dtype, shape, offset), array)
        done = {"task": message["task"], "reply": reply, "arrays": places}
        send(self._connection, MessageKind.DONE, done)

    def _note(self, sample: int) -> None:
        self._control["sample"] = sample
        self._control["calls"] += 1


def flush_all() -> None:
    """Write buffered output, which must not be written a second time by a child."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
