"""What happened when, in which thread: the events of one pipeline while it is being traced.

`active` is None unless a trace is being recorded. Code that can be traced asks for no more than
that, and hands over when something began once it is done. Times are those of
`time.perf_counter_ns`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .errors import OperatorRuntimeError

__all__ = ["Event", "Recording", "record"]

active: Recording | None = None
"""The trace that is being recorded, one at a time in a process."""


class Event(NamedTuple):
    """phase: "X" for what takes time, "C" for a count; begin, end: in nanoseconds."""

    phase: str
    kind: str
    name: str
    begin: int
    end: int
    thread: int
    facts: dict[str, Any]


class Recording:
    """Events of all threads that work for `owner`, the worker pool of a pipeline.

    Appending to a list is atomic: no lock is needed.
    """

    def __init__(self, owner: Any, ready: int) -> None:
        self.owner = owner
        self.events: list[Event] = []
        self.threads: dict[int, str] = {}
        self.begin = time.perf_counter_ns()
        self.end: int | None = None
        self.current = "range"
        """The operator that the worker threads are busy with."""
        self.made = ready
        """Batches put into the queue: the number of the batch that is being made."""
        self.first: int | None = None
        """The number of the first batch that was wholly made in sight."""

    now = staticmethod(time.perf_counter_ns)

    def start(self, name: str) -> int:
        """Say which operator the worker threads serve from now on; returns the time."""
        self.current = name
        return time.perf_counter_ns()

    def done(self, owner: Any, kind: str, name: str, began: int, **facts: Any) -> None:
        """Something that began at `began`, in the calling thread, has just ended."""
        if kind == "batch" and self.first is None and owner is self.owner:
            self.first = self.made
        self._add(owner, "X", kind, name, began, facts)

    def call(self, owner: Any, kind: str, name: str, began: int, outputs: tuple[Any, ...]) -> None:
        """A source was read or an operator run: `outputs` are its batches."""
        size = max(map(len, outputs), default=0)
        nbytes = sum(batch.nbytes for batch in outputs)
        self._add(
            owner, "X", kind, name, began, {"batch": self.made, "samples": size, "bytes": nbytes}
        )

    def range(self, owner: Any, began: int, first: int, end: int) -> None:
        """A thread of the pool has done its share of an operator: samples first to end - 1."""
        facts = {"first": first, "samples": end - first}
        self._add(owner, "X", "range", self.current, began, facts)

    def put(self, owner: Any, length: int) -> None:
        """A batch was put into the queue, which now holds `length`. Called under its lock."""
        if owner is self.owner:
            self._count(owner, length)
            self.made += 1

    def taken(self, owner: Any, began: int, length: int) -> None:
        """A batch was taken from the queue; began: of the wait for it, 0 if there was none."""
        if began:
            self._add(owner, "X", "wait", "wait: the queue is empty", began, {})
        self._count(owner, length)

    def _count(self, owner: Any, length: int) -> None:
        self._add(owner, "C", "queue", "batches ready", self.now(), {"batches": length})

    def _add(
        self, owner: Any, phase: str, kind: str, name: str, began: int, facts: dict[str, Any]
    ) -> None:
        if owner is not self.owner:
            return
        ended = self.now() if phase == "X" else began
        thread = threading.get_ident()
        if thread not in self.threads:
            self.threads[thread] = threading.current_thread().name
        began = max(began, self.begin)
        self.events.append(Event(phase, kind, name, began, ended, thread, facts))


@contextmanager
def record(owner: Any, ready: int) -> Iterator[Recording]:
    """Record what is done for `owner` in the block; `ready` batches are waiting at its start.

    Raises OperatorRuntimeError if another trace is being recorded.
    """
    global active
    recording = Recording(owner, ready)
    with _lock:
        if active is not None:
            raise OperatorRuntimeError("another trace is being recorded in this process")
        active = recording
    try:
        yield recording
    finally:
        active = None
        recording.end = time.perf_counter_ns()


_lock = threading.Lock()
