"""Iterators over pipelines, epoch by epoch: what the iterators of frameworks stand on."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradiva.eager.batch import Batch
from gradiva.eager.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorTypeError,
    OperatorValueError,
    blaming,
    describe,
    frameless,
)

from .epochs import Epochs, Shards
from .iterator_options import check_auto_reset, check_names, check_pipelines, reader_of
from .pipeline import Pipeline
from .run_apis import PipelineAPIType
from .running import Outputs

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LastBatchPolicy", "PipelineIterator"]


class LastBatchPolicy(enum.Enum):
    """What becomes of the last batch of an epoch, where the samples do not fill it.

    FILL: it is full; the stream of samples just goes on. DROP: it is left out. PARTIAL: it is
    smaller. With seven samples and batches of two, the reader not padding: FILL ends with [7, 1]
    and goes on with [2, 3]; DROP ends with [5, 6], PARTIAL with [7], and both go on with [1, 2].
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


class PipelineIterator:
    """Loops over one or several pipelines; each turn gives a dict of batches for each of them.

    pipelines: built or not; several are for several shards. output_map: a name for each output.
    size: samples of an epoch of one pipeline; -1: until the pipeline raises StopIteration.
    reader_name: the reader whose epochs count, instead of `size`; then each epoch has exactly the
        samples of the shard, and `len` batches, never an empty one: of shards that differ in size
        the shorter have smaller last batches (but with batches of one sample, one fewer).
    auto_reset: go on with the next epoch when a new loop begins ("yes" or True); else `reset` does.
    last_batch_policy: see `LastBatchPolicy`. fill_last_batch: its old spelling, True or False for
        FILL or PARTIAL. last_batch_padded: accepted; the reader's `pad_last_batch` decides.
    prepare_first_batch: make the first batch at once, so that errors show here. It does not count
        as handed out: a checkpoint taken before the loop begins before it.

    Raises OperatorTypeError or OperatorValueError for arguments that make no sense.
    """

    def __init__(
        self,
        pipelines: Pipeline | Sequence[Pipeline],
        output_map: Sequence[Any],
        size: int = -1,
        reader_name: str | None = None,
        auto_reset: bool | str = False,
        fill_last_batch: bool | None = None,
        last_batch_padded: bool = False,
        last_batch_policy: LastBatchPolicy = LastBatchPolicy.FILL,
        prepare_first_batch: bool = True,
    ) -> None:
        with blaming(type(self).__name__):
            self._pipes = check_pipelines(pipelines)
            self._names = check_names(output_map, self._pipes)
            self._auto_reset = check_auto_reset(auto_reset)
            if fill_last_batch is not None:
                last_batch_policy = (
                    LastBatchPolicy.FILL if fill_last_batch else LastBatchPolicy.PARTIAL
                )
            if not isinstance(last_batch_policy, LastBatchPolicy):
                raise OperatorTypeError(
                    argument="last_batch_policy",
                    expected="a LastBatchPolicy",
                    got=describe(last_batch_policy),
                )
            if size != -1 and reader_name is not None:
                raise OperatorValueError("`size` and `reader_name` say the same: give one")
            if size != -1 and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
                raise OperatorValueError(
                    argument="size", expected="a positive number, or -1", got=describe(size)
                )
            self._policy = last_batch_policy
            self._shards: list[Shards] = []
            self._size = size
            self._batches: int | None = None
            if reader_name is not None:
                self._follow(reader_name)
            elif size > 0:
                self._batches = self._count(size, size)
        self._epoch = self._done = 0
        self._waiting: list[Outputs] = []
        """Batches of this turn that were made before one was to be asked for again."""
        self._ended = False
        self._go_on()
        if prepare_first_batch and self._batches != 0:
            try:
                for pipe in self._pipes:
                    pipe._look(PipelineAPIType.ITERATOR)
            except StopIteration:
                with blaming(type(self).__name__):
                    raise OperatorRuntimeError("the pipeline has no data at all") from None

    @property
    def batch_size(self) -> int:
        return self._pipes[0].max_batch_size

    @property
    def size(self) -> int:
        """Samples in an epoch of all pipelines together, as far as it is known; else -1."""
        if self._shards:
            return sum(shards.length(0) for shards in self._shards)
        return self._size * len(self._pipes) if self._size > 0 else -1

    def __len__(self) -> int:
        """Batches in an epoch. Raises OperatorTypeError if the size is not known."""
        if self._batches is None:
            raise OperatorTypeError(
                "the length is known with `reader_name` or `size` only",
                operator=type(self).__name__,
            )
        return self._batches

    def _count(self, longest: int, shortest: int) -> int:
        if self._policy is LastBatchPolicy.DROP:
            return shortest // self.batch_size
        return math.ceil(longest / self.batch_size)

    def _follow(self, reader_name: str) -> None:
        """Let batches end with the epochs of this reader."""
        sources = [reader_of(pipe, reader_name) for pipe in self._pipes]
        self._shards = [Shards.of(source) for source in sources]
        self._batches = self._count(
            max(shards.longest for shards in self._shards),
            min(shards.shortest for shards in self._shards),
        )
        uneven = len({shards.length(0) for shards in self._shards}) > 1
        if uneven and self.batch_size == 1 and self._policy is LastBatchPolicy.PARTIAL:
            raise OperatorValueError(
                "the shards differ in size, so with batches of one sample one has fewer batches",
                argument="pipelines",
                expected="larger batches, another policy, or readers with pad_last_batch=True",
                got="batch_size=1",
            )
        for pipe, source in zip(self._pipes, sources, strict=True):
            padded = bool((source.meta() or {})["pad_last_batch"])
            drop = self._policy is LastBatchPolicy.DROP
            if drop or (self._policy is LastBatchPolicy.PARTIAL and not padded):
                pipe._follow(Epochs(source, pipe.max_batch_size, self._batches, drop))

    def __iter__(self) -> Self:
        return self

    def next(self) -> list[dict[Any, Any]]:
        """The next batches. Raises StopIteration at the end of the epoch."""
        return self.__next__()

    @frameless
    def __next__(self) -> list[dict[Any, Any]]:
        if self._ended or self._over():
            self._end()
        outputs = self._waiting
        try:
            for pipe in self._pipes[len(outputs) :]:
                most = self._last_size(len(outputs))
                outputs.append(pipe._run_for(PipelineAPIType.ITERATOR, most))
        except StopIteration:
            outputs.clear()
            self._end()
        except GradivaError as error:
            if not getattr(error, "again", False):
                # It is one of the epoch's batches, though a lost one.
                outputs.clear()
                self._done += 1
            raise
        self._waiting = []
        self._done += 1
        return [
            {
                name: self._convert(name, batch)
                for name, batch in zip(self._names, batches, strict=True)
            }
            for batches in outputs
        ]

    def _over(self) -> bool:
        """Whether the epoch has no further batch."""
        return self._batches is not None and self._done >= self._most()

    def _most(self) -> int:
        """Batches in this epoch, where the length is known."""
        assert self._batches is not None
        if self._policy is LastBatchPolicy.PARTIAL and self._shards:
            return min(self._batches, max(shards.length(self._epoch) for shards in self._shards))
        return self._batches

    def _go_on(self) -> None:
        """Go to the place in the epoch from which pipelines made of checkpoints go on."""
        before = {pipe._begun_at() for pipe in self._pipes}
        if len(before) > 1:
            with blaming(type(self).__name__):
                raise OperatorValueError(
                    "the pipelines go on from checkpoints after different numbers of batches",
                    argument="pipelines",
                    expected="checkpoints that were made together",
                    got=", ".join(map(str, sorted(before))),
                )
        self._done = before.pop()
        while self._batches and self._over():
            self._done -= self._most()
            self._epoch += 1

    def _last_size(self, number: int) -> int | None:
        """To how many samples the last batch of a pipeline must be cut; None: not at all."""
        if self._policy is not LastBatchPolicy.PARTIAL or self._batches is None:
            return None
        if self._done + 1 != self._batches:
            return None
        before = (self._batches - 1) * self.batch_size
        if self._shards:
            shards = self._shards[number]
            return shards.longest - before if shards.padded else None
        return self._size - before

    def _end(self) -> None:
        self._ended = True
        if self._auto_reset:
            self.reset()
        raise StopIteration

    def reset(self) -> None:
        """Begin the next epoch. In the middle of an epoch it has no effect."""
        if not (self._ended or self._over()):
            return
        for pipe in self._pipes:
            pipe.reset()
        self._ended = False
        self._done = 0
        self._epoch += 1

    def _convert(self, name: Any, batch: Batch) -> Any:
        """What is handed out for a batch of the output `name`: one array with a leading axis."""
        return batch.as_array()
