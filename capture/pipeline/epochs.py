"""Epochs of readers, counted in batches: for iterators, and for reading that ends with an epoch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gradiva.ops.readers.core.source import LastBatchPolicy, Source, begin_of

__all__ = ["Epochs", "LastBatchPolicy", "Shards", "begin_of"]


@dataclass(frozen=True)
class Shards:
    """The shards of a data set, of which one is read.

    size: samples of an epoch, and `sizes` of each, where epochs differ; number, first: how many
    shards, and which is read in epoch 0; moving: the next shard is read in each epoch; padded:
    repeats make all shards equally long.
    """

    size: int
    number: int
    first: int
    moving: bool
    padded: bool
    sizes: Callable[[int], int] | None = None
    counted: Callable[[int], int] | None = None
    """How many batches an epoch has, where the reader decides how large they are."""
    unit: int = 1
    """Shards are cut between groups of so many samples."""
    shared: Source | None = None
    """The reader, where it shares each step of an epoch with those of the other shards."""

    @staticmethod
    def of(reader: Source, batch_size: int) -> Shards:
        """Those of a reader, as it describes itself."""
        meta = reader.meta() or {}
        return Shards(
            meta["epoch_size"],
            meta["number_of_shards"],
            meta["shard_id"],
            not meta["stick_to_shard"],
            bool(meta["pad_last_batch"]),
            functools.cache(reader.whole_length) if reader.uneven else None,
            _counting(reader, batch_size),
            reader.unit,
            None if reader.shared_steps is None else reader,
        )

    def _longest(self, size: int) -> int:
        """Samples of the longest shard."""
        units = -(-size // self.unit)
        return min(-(-units // self.number) * self.unit, size)

    def _size(self, epoch: int) -> int:
        return self.size if self.sizes is None else self.sizes(epoch)

    def length(self, epoch: int) -> int:
        """Samples in an epoch, without repeats."""
        if self.shared is not None:
            return int(self.shared.shared_steps.own_length(epoch))
        shard, size = (self.first + (epoch if self.moving else 0)) % self.number, self._size(epoch)
        units = -(-size // self.unit)
        begin, end = (units * one // self.number * self.unit for one in (shard, shard + 1))
        return min(end, size) - begin

    def batches(self, epochs: int, batch_size: int, policy: LastBatchPolicy) -> int:
        """How many batches so many epochs have together.

        It depends on the data set and not on the shard: processes that read a shard each, and wait
        for each other after each batch, come to the end together.
        """
        if self.counted is not None:
            return sum(map(self.counted, range(epochs)))
        # (samples of an epoch, epochs of so many)
        sizes = [(self.size, epochs)]
        if self.sizes is not None:
            sizes = [(self.sizes(epoch), 1) for epoch in range(epochs)]
        if policy is LastBatchPolicy.DROP:
            shortest = [(size // self.unit // self.number * self.unit, n) for size, n in sizes]
            return sum(many * (size // batch_size) for size, many in shortest)
        if policy is LastBatchPolicy.PARTIAL or self.padded:
            longest = [(self._longest(size), many) for size, many in sizes]
            return sum(many * -(-size // batch_size) for size, many in longest)
        # What the last batch of an epoch has read of the next one is not read there again.
        read = sum(many * self._longest(size) for size, many in sizes)
        if self.moving:
            read = -(-sum(many * size for size, many in sizes) // self.number)
        return -(-read // batch_size)

    def end_by_themselves(self, batch_size: int, policy: LastBatchPolicy) -> bool:
        """Whether the batches of an epoch are read without regard to its end."""
        if policy is LastBatchPolicy.FILL or self.counted is not None:
            return True
        if self.sizes is not None:
            return False
        # The last of the padded batches is cut. Of a short shard it may be nothing but padding.
        longest = self._longest(self.size)
        empty = batch_size > 1 and longest % batch_size == 1 and self.size % self.number > 0
        return policy is LastBatchPolicy.PARTIAL and self.padded and not empty


def _counting(reader: Source, batch_size: int) -> Callable[[int], int] | None:
    """What counts the batches of an epoch, where the reader decides how large they are. An epoch
    that is read from a place in it counts as a whole one."""
    plan = reader.shared_steps
    if plan is not None:
        return functools.cache(lambda epoch: int(plan.steps(epoch, batch_size)))
    if reader.batches(0, batch_size) is None:
        return None
    return functools.cache(lambda epoch: reader.batches(epoch, batch_size) or 0)


@dataclass(frozen=True)
class Epochs:
    """Says how many samples to read next, so that so many epochs have `until` batches together.

    others: further readers of the pipeline; those that stand where `source` stands, like one of
    masks beside one of images, go to the next epoch together with it. drop: read full batches, and
    leave out the rest of the epoch. Otherwise batches are as `begin_of` has it; padded: the last
    one is filled with repeats, which are to be cut off.
    """

    source: Source
    others: Sequence[Source]
    batch_size: int
    until: Callable[[int], int]
    drop: bool
    padded: bool

    @property
    def batches(self) -> int:
        """Of the epoch that is read."""
        return self.until(self.source.epoch + 1) - self.until(self.source.epoch)

    def next_size(self, turn: int) -> int:
        """The size of the next batch; moves the readers to the next epoch where one has ended.

        turn: number of the batch, counted from the first epoch.
        """
        index, left = _place(self.source)
        if left <= 0 or (self.drop and index // self.batch_size >= self.batches):
            if self._owes_an_empty_batch(turn):
                return 0
            self._skip_epoch()
            index = 0
        if self.drop:
            return self.batch_size
        batches = self.batches
        batch = self._batch_at(index, batches)
        if self.padded and batch + 1 == batches:
            return self.batch_size
        return self._begin_of(batch + 1, batches) - index

    def _batch_at(self, index: int, batches: int) -> int:
        """The number, in the epoch, of the batch that begins at this sample."""
        batch = min(index // self.batch_size, batches - 1)
        if self.drop:
            return batch
        while batch + 1 < batches and self._begin_of(batch + 1, batches) <= index:
            batch += 1
        return batch

    def next_step(self) -> int:
        """The number of the batch whose size `next_size` has told, counted from the first epoch."""
        index, _ = _place(self.source)
        return self.until(self.source.epoch) + self._batch_at(index, self.batches)

    def _begin_of(self, batch: int, batches: int) -> int:
        length = self.source.shard_length() or 0
        return begin_of(batch, batches, length, self.batch_size)

    def _owes_an_empty_batch(self, turn: int) -> bool:
        """Whether the epoch, all of which was read, has one more batch than samples."""
        if self.drop or self.padded or self.batch_size > 1:
            return False
        last = self.until(self.source.epoch + 1)
        return (self.source.shard_length() or 0) < self.batches and turn + 1 == last

    def _skip_epoch(self) -> None:
        place = _place(self.source)
        for reader in (self.source, *self.others):
            if reader is self.source or _place(reader) == place:
                reader.skip_epoch()


def _place(reader: Source) -> tuple[int, int]:
    """How many samples of its epoch a reader has read, and how many are left."""
    left = reader.remaining() or 0
    return (reader.epoch_length() or 0) - left, left
