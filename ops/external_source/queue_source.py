"""An external source without a source: its batches are fed, by `Pipeline.feed_input`."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.source import Source

from .batch_converter import BatchConverter, one_size, restored, stored, with_unread
from .callback_state import counted


class StarvedError(op.OperatorRuntimeError):
    """Nothing was fed. What the other sources have for this batch waits for it."""

    again = True


class QueueSource(Source):
    """Queues of fed batches, one for each output."""

    whole = True

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._converter = BatchConverter(arguments)
        self._blocking: bool = arguments["blocking"]
        self._repeat_last: bool = arguments["repeat_last"]
        self._queues: list[deque[op.Batch]] = [
            deque() for _ in range(arguments["num_outputs"] or 1)
        ]
        self._last: tuple[op.Batch, ...] | None = None
        self._changed = threading.Condition()
        self._demanded = -1
        self._position = 0
        self._closed = False

    @property
    def num_outputs(self) -> int:
        return len(self._queues)

    def accept(self, item: Any, output: int, batch_size: int, layout: str | None) -> op.Batch:
        """The item as a batch that can be fed. Raises OperatorTypeError or OperatorValueError."""
        batch = self._converter.fed(item, output, layout)
        one_size((batch,), batch_size)
        return batch

    def feed(self, output: int, batch: op.Batch) -> None:
        """Put a batch that was accepted behind those that wait already."""
        if not self._reads(output):
            return
        with self._changed:
            self._queues[output].append(batch)
            self._changed.notify_all()

    def _reads(self, output: int) -> bool:
        return self.used is None or output in self.used

    def _awaited(self) -> list[deque[op.Batch]]:
        """The queues of the outputs that somebody reads."""
        return [queue for output, queue in enumerate(self._queues) if self._reads(output)]

    def waiting(self) -> int:
        """Complete items that were fed and not yet read."""
        with self._changed:
            return min(map(len, self._awaited()))

    def _taken(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        """What was fed next, as soon as it is there, or `_last`. Raises StopIteration at the end,
        StarvedError, and OperatorValueError for batches of different sizes."""
        with self._changed:
            awaited = self._awaited()
            while not all(awaited):
                if self._closed or pool.cancelled:
                    raise StopIteration
                if self._demanded >= self.turn and not self._blocking:
                    if self._repeat_last and self._last is not None and not any(self._queues):
                        return self._last
                    raise self._starved()
                self._changed.wait(0.5)
            return with_unread(
                [
                    queue.popleft() if self._reads(output) else None
                    for output, queue in enumerate(self._queues)
                ],
                batch_size,
            )

    def read(self, batch_size: int, pool: op.WorkerPool) -> tuple[op.Batch, ...]:
        batches = self._taken(batch_size, pool)
        if batches is self._last:
            return batches
        size = len(batches[0])
        positions = np.arange(self._position, self._position + size, dtype=np.int64)
        self._position += size
        for batch in batches:
            names = batch.provenance.names if batch.provenance else None
            batch.provenance = op.Provenance(positions, names)
        self._last = batches if self._repeat_last else None
        return batches

    def _starved(self) -> op.OperatorRuntimeError:
        missing = [
            index for index, queue in enumerate(self._queues) if self._reads(index) and not queue
        ]
        of = "" if len(self._queues) == 1 else f" (output {missing[0]})"
        return StarvedError(
            f"there is no data for this batch{of}: call feed_input before each run, give the data "
            "to run by name, or use blocking=True to wait for a thread that feeds"
        )

    def demand(self, number: int) -> None:
        with self._changed:
            if number > self._demanded:
                self._demanded = number
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed, self._last = True, None
            for queue in self._queues:
                queue.clear()
            self._changed.notify_all()

    def get_state(self) -> dict[str, Any]:
        state = {"position": self._position, "fixed": self._converter.get_state()}
        if self._repeat_last and self._last is not None:
            state["last"] = stored(self._last)
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        try:
            position, fixed = counted(state["position"]), self._converter.read_state(state["fixed"])
            last = restored(state.get("last", ()), position)
            if len(last) not in (0, len(self._queues)):
                raise ValueError(f"it has {len(last)} outputs")
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise op.OperatorValueError(f"this is not the state of a source: {error}") from None
        self._position, self._converter.fixed, self._last = position, fixed, last or None
