"""What an iterator answers about itself, also under the names that subclasses have read for years:
those of the attributes of DALI's iterators. They may be assigned, without effect here."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from gradiva.capture.pipeline.epochs import LastBatchPolicy, Shards
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    annotate_error,
    frameless,
)
from gradiva.eager.support.overridable import overridable

from .given_size import GivenSize


class IteratorFacts:
    """The part of an iterator that changes nothing."""

    _pipes: list[Pipeline]
    _names: list[Any]
    _shards: list[Shards]
    _policy: LastBatchPolicy
    _resets: bool
    _given: GivenSize | None
    _reader_name: str | None
    _prepare_first_batch: bool
    _epoch: int
    _done: int

    @property
    def batch_size(self) -> int:
        return self._pipes[0].max_batch_size

    @property
    def size(self) -> int:
        """Samples in this epoch of all pipelines together, as far as it is known; else -1."""
        if self._given is not None:
            return self._given.size
        if not self._shards:
            return -1
        return sum(shards.length(self._epoch) for shards in self._shards)

    @frameless
    def checkpoints(self) -> list[bytes]:
        """What `Pipeline.checkpoint` returns, of each pipeline, after the last batch that the
        iterator has returned. An iterator over pipelines that are made from them goes on there,
        also in the middle of an epoch. Raises OperatorValueError without `enable_checkpointing`."""
        if not self._enable_checkpointing:
            with annotate_error(f"{type(self).__name__}.checkpoints"):
                raise OperatorValueError(
                    "the pipelines were made without enable_checkpointing=True"
                )
        return [pipe.checkpoint() for pipe in self._pipes]

    def __reduce__(self) -> NoReturn:
        with annotate_error(type(self).__name__):
            raise OperatorTypeError(
                "an iterator cannot be sent to another process: its pipelines have threads and "
                "memory here. Make it where it is used; in the workers of a DataLoader "
                "gradiva.plugin.pytorch.IterableDataset does that"
            )

    @overridable
    def output_map(self) -> list[Any]:
        """The names of the outputs."""
        return list(self._names)

    @overridable
    def _output_categories(self) -> set[Any]:
        return set(self._names)

    @overridable
    def _num_gpus(self) -> int:
        return len(self._pipes)

    @overridable
    def _first_batch(self) -> None:
        """None: the first batch waits in the pipeline."""
        return

    @overridable
    def _auto_reset(self) -> str:
        return "yes" if self._resets else "no"

    @overridable
    def _last_batch_policy(self) -> LastBatchPolicy:
        return self._policy

    @overridable
    def _last_batch_padded(self) -> bool:
        if self._given is not None:
            return self._given.padded
        return self._reader_name is not None and self._shards[0].padded

    @overridable
    def _size(self) -> int:
        """Samples of an epoch of the shard that is the largest, by the policy in whole batches; the
        `size` that was given; or -1."""
        if self._reader_name is None:
            return -1 if self._given is None else self._given.size
        shards, batch_size = self._shards[0], self.batch_size
        if self._policy is LastBatchPolicy.DROP:
            return shards.size // shards.number
        longest = math.ceil(shards.size / shards.number)
        return longest if shards.padded else math.ceil(longest / batch_size) * batch_size

    @overridable
    def _counter(self) -> int:
        """Samples that this epoch has given; without a reader's name, of all pipelines."""
        together = 1 if self._reader_name is not None else len(self._pipes)
        return self._done * self.batch_size * together

    @overridable
    def _size_no_pad(self) -> int:
        return self._first_shards().size

    @overridable
    def _shards_num(self) -> int:
        return self._first_shards().number

    @overridable
    def _shards_id(self) -> Any:
        """The shard that each pipeline reads in this epoch."""
        self._first_shards()
        moved = [one.first + (self._epoch if one.moving else 0) for one in self._shards]
        return np.array(moved, np.int64) % self._shards[0].number

    @overridable
    def _is_stick_to_shard(self) -> bool:
        return not self._first_shards().moving

    @overridable
    def _shard_sizes_per_gpu(self) -> Any:
        """The samples of each shard of the data set."""
        first = self._first_shards()
        ends = first.size * np.arange(first.number + 1, dtype=np.int64) // first.number
        return np.diff(ends)

    @overridable
    def _ever_consumed(self) -> bool:
        return self._epoch > 0 or self._done > 0

    @overridable
    def _enable_checkpointing(self) -> bool:
        return self._pipes[0].enable_checkpointing

    def _first_shards(self) -> Shards:
        """Those of the reader. Raises AttributeError without one."""
        if self._reader_name is None:
            raise AttributeError("the iterator follows no reader: it was given no `reader_name`")
        return self._shards[0]
