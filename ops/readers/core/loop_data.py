"""A reader's data as loops take them: batches, also ahead of a captured loop, and how many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from gradiva.eager.runtime.worker_pool import WorkerPool, default_pool
from gradiva.eager.support.errors import OperatorTypeError, user_location
from gradiva.eager.types.device import CPU

from .read_ahead import ReadAhead
from .source import Names, Source

__all__ = [
    "DescribedSource",
    "LoopData",
    "LoopLength",
    "SizedIterator",
    "known_length",
    "read_batches",
]


class SizedIterator(Iterator[Any], Protocol):
    """A loop over a reader: an iterator that knows how many turns it has."""

    def __len__(self) -> int:
        """The number of its turns, from its first one to the end of the epoch."""


class Looped(Protocol):
    """A reader."""

    operator: Any
    name: str
    arguments: dict[str, Any]
    _learned: dict[str, Any]
    _ahead: ReadAhead
    _names: Names
    _moved: bool


class LoopLength:
    """How many batches (or samples, without a batch size) a loop delivers from its first one to the
    end of the epoch. Before its first one it begins where the source is."""

    def __init__(self, source: Source, batch_size: int | None) -> None:
        self._source = source
        self._batch_size = batch_size or 1
        self._begun: tuple[int, int | None, int | None] | None = None

    def begin(self) -> None:
        """The loop takes its first batch: what it delivers does not change any more."""
        if self._begun is None:
            self._begun = self._place()

    def _place(self) -> tuple[int, int | None, int | None]:
        source = self._source
        return source.epoch, source.remaining(), source.epoch_length()

    def count(self) -> int | None:
        """The number, or None where it is not known: of a source without an end, and in the middle
        of an epoch whose batches are buckets."""
        epoch, left, length = self._begun or self._place()
        whole = self._source.batches(epoch, self._batch_size)
        if whole is not None and left != length:
            plan = self._source.shared_steps
            return (
                None if plan is None else int(plan.batches_from(epoch, (length or 0) - (left or 0)))
            )
        if whole is not None:
            return whole
        return None if left is None else -(-max(left, 0) // self._batch_size)


def known_length(count: int | None, name: str) -> int:
    """What `len` of a loop is. Raises OperatorTypeError, which `len` of nothing else would be."""
    if count is None:
        raise OperatorTypeError(
            "how long this loop is, is not known", operator=name, location=user_location()
        )
    return count


class DescribedSource(NamedTuple):
    """The source of a reader, the arguments that it was made from, and the name it was given."""

    source: Source
    given: dict[str, Any]
    name: str | None


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
        self._length = LoopLength(source, batch_size)

    @property
    def described(self) -> DescribedSource:
        reader = self._reader
        name = None if reader.name == reader.operator.name else reader.name
        return DescribedSource(self._source, reader.arguments, name)

    @property
    def any_thread(self) -> bool:
        return self._source.any_thread

    def read(self) -> tuple[Any, ...]:
        self._length.begin()
        return read_batches(self._source, self._batch_size, self.pool)

    def count(self) -> int | None:
        return self._length.count()

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
            for batch in batches:
                if batch.valid is not None:
                    batch.valid = None  # the user gets it, who sees no masks
            if source.device is CPU:
                return batches
            return tuple(batch.to_device(source.device) for batch in batches)
