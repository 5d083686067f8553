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


place = threading.local()
"""What the calling thread works for: `batch`, counted from the pipeline's first, and `operator`."""


def batch_of_thread() -> int:
    """The number of the batch that the calling thread works for; 0 outside of pipelines."""
    return getattr(place, "batch", 0)


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

    Appending to a list is atomic, as is setting an item of a dictionary: that takes no lock.
    """

    def __init__(self, owner: Any, taken: int) -> None:
        self.owner = owner
        self.events: list[Event] = []
        self.threads: dict[int, str] = {}
        self.begin = time.perf_counter_ns()
        self.end: int | None = None
        self.first: int | None = None
        """The number of the first batch that was wholly made in sight."""
        self._taken = taken

    now = staticmethod(time.perf_counter_ns)

    def number(self) -> int:
        """The number of the batch that the calling thread works for: 0 is the next to be taken."""
        return getattr(place, "batch", self._taken) - self._taken

    def begun(self, owner: Any) -> int:
        """The calling thread begins to make a batch; returns the time."""
        if owner is self.owner:
            number = self.number()
            with _lock:  # several threads may begin
                if self.first is None or number < self.first:
                    self.first = number
        return time.perf_counter_ns()

    def start(self, name: str) -> int:
        """Say which operator the calling thread runs from now on; returns the time."""
        place.operator = name
        return time.perf_counter_ns()

    def done(self, owner: Any, kind: str, name: str, began: int, **facts: Any) -> None:
        """Something that began at `began`, in the calling thread, has just ended."""
        self._add(owner, "X", kind, name, began, facts)

    def call(self, owner: Any, kind: str, name: str, began: int, outputs: tuple[Any, ...]) -> None:
        """A source was read or an operator run: `outputs` are its batches."""
        size = max(map(len, outputs), default=0)
        nbytes = sum(batch.nbytes for batch in outputs)
        facts = {"batch": self.number(), "samples": size, "bytes": nbytes}
        self._add(owner, "X", kind, name, began, facts)

    def origin(self) -> tuple[str, int]:
        """The operator and the batch that the calling thread works for."""
        return getattr(place, "operator", "range"), self.number()

    def range(self, owner: Any, origin: tuple[str, int], began: int, first: int, end: int) -> None:
        """A thread of the pool has done its share of an operator: samples first to end - 1."""
        operator, batch = origin
        facts = {"batch": batch, "first": first, "samples": end - first}
        self._add(owner, "X", "range", operator, began, facts)

    def put(self, owner: Any, length: int) -> None:
        """A batch was put into the queue, which now holds `length`. Called under its lock."""
        self._count(owner, length)

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
def record(owner: Any, taken: int) -> Iterator[Recording]:
    """Record what is done for `owner` in the block; `taken` batches were taken before.

    Raises OperatorRuntimeError if another trace is being recorded.
    """
    global active
    recording = Recording(owner, taken)
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
