"""Tasks for worker processes, and the slots in shared memory for their results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradiva.eager.support.errors import OperatorRuntimeError

from .shared_memory import Segment, aligned

_LEAST = 1 << 20
_DTYPE = re.compile(r"[<>|=][biuf][1248]")
_MOST_AXES = 32


class WorkerError(OperatorRuntimeError):
    """A worker process has ended, or had to be stopped. Its task can be submitted again."""

    again = True


class BadReplyError(Exception):
    """An invalid reply."""


class Slot:
    """A place for the result of one task. It can grow."""

    def __init__(self, number: int, nbytes: int, samples: int) -> None:
        self.number = number
        self.samples = samples
        self.segment = Segment(nbytes)
        self.version = 0

    def grow(self, nbytes: int) -> None:
        """Room for `nbytes`, and some more. Raises OperatorRuntimeError."""
        old, self.segment = self.segment, Segment(nbytes + nbytes // 4)
        self.version += 1
        old.close()


class Slots:
    """The slots of one source: as many as it has had concurrent tasks.

    samples: the most samples of a task; hint: bytes of a sample, or None.
    """

    def __init__(self, samples: int, hint: int | None) -> None:
        self._samples = max(samples, 1)
        self._nbytes = max(_LEAST, aligned(hint or 0) * self._samples)
        self._free: list[Slot] = []
        self.all: list[Slot] = []

    def take(self, numbers: Any) -> Slot:
        """A free slot, or a new one with the next of `numbers`. Raises OperatorRuntimeError."""
        if not self._free:
            self.all.append(Slot(next(numbers), self._nbytes, self._samples))
            return self.all[-1]
        return self._free.pop()

    def give_back(self, slot: Slot) -> None:
        self._free.append(slot)

    def close(self) -> None:
        for slot in self.all:
            with suppress(BufferError):  # it is being read, and is freed with the last view
                slot.segment.close()


class Task:
    """One request to one source.

    first, count: the samples of the batch that it is about (count 0: a whole batch).
    generation: for a source that is pinned to one worker, which process of it is meant.
    what: a text for errors, which follows "in the call for".
    """

    def __init__(
        self, source: int, request: dict[str, Any], what: str, generation: int = 0
    ) -> None:
        self.number = -1
        self.source = source
        self.request = request
        self.what = what
        self.generation = generation
        self.pid = 0
        self.slot: Slot | None = None
        self.finished = False
        self.cancelled = False
        self.stale = False
        """The worker of this generation has ended."""
        self.error: OperatorRuntimeError | None = None
        self.reply: dict[str, Any] = {}
        self._places: Sequence[Any] = ()

    def finish(self, reply: Any, places: Any) -> None:
        """Process the reply. Raises BadReplyError."""
        if not isinstance(reply, dict) or not isinstance(places, list):
            raise BadReplyError("its result has no known form")
        for place in places:
            _check(place)
        self.reply, self._places = reply, places

    def array(self, number: Any) -> np.ndarray[Any, Any]:
        """A view of one array of the result. Raises BadReplyError."""
        assert self.slot is not None
        try:
            dtype, shape, offset = self._places[number]
            return self.slot.segment.array(np.dtype(dtype), shape, offset)
        except (IndexError, TypeError, ValueError) as error:
            raise BadReplyError(f"an array of its result is not there: {error}") from None


def _check(place: Any) -> None:
    ok = isinstance(place, list) and len(place) == 3
    if ok:
        dtype, shape, offset = place
        ok = (
            isinstance(dtype, str)
            and _DTYPE.fullmatch(dtype) is not None
            and isinstance(shape, list)
            and len(shape) <= _MOST_AXES
            and all(type(extent) is int and extent >= 0 for extent in shape)
            and type(offset) is int
            and offset >= 0
        )
    if not ok:
        raise BadReplyError("its result has no known form")
