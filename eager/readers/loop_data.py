"""A reader's data as loops take them: batches, also ahead of a captured loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gradiva.eager.runtime.worker_pool import WorkerPool, default_pool
from gradiva.eager.types.device import CPU

from .read_ahead import ReadAhead
from .source import Source

__all__ = ["LoopData", "read_batches"]


class Looped(Protocol):
    """A reader."""

    operator: Any
    _learned: dict[str, Any]
    _ahead: ReadAhead
    _names: Sequence[str] | None
    _moved: bool


class LoopData:
    """A reader's data as a captured loop reads them."""

    def __init__(
        self, reader: Looped, source: Source, batch_size: int | None, pool: WorkerPool | None
    ) -> None:
        self.pool = pool
        self.name = reader.operator.name
        self.memory = reader._learned
        self.ahead = reader._ahead
        self.names = reader._names
        self._reader = reader
        self._source = source
        self._batch_size = batch_size

    @property
    def any_thread(self) -> bool:
        return self._source.any_thread

    def read(self) -> tuple[Any, ...]:
        return read_batches(self._source, self._batch_size, self.pool)

    def mark(self) -> Any:
        return self._source.mark()

    def rewind(self, mark: Any, undelivered: list[Any]) -> None:
        self._source.rewind(mark)

    def claim(self) -> None:
        self._reader._moved = True


def read_batches(
    source: Source, batch_size: int | None, pool: WorkerPool | None
) -> tuple[Any, ...]:
    """The next batches of an epoch, where they are wanted; without a size, of the next sample that
    can be read."""
    while True:
        batches = source.read_epoch(batch_size or 1, pool or default_pool())
        if batch_size is not None or len(batches[0]):
            if source.device is CPU:
                return batches
            return tuple(batch.to_device(source.device) for batch in batches)
