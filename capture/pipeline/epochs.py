"""Epochs of readers, counted in batches: for iterators, and for reading that ends with an epoch."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from gradiva.eager.readers.source import Source

__all__ = ["Epochs", "LastBatchPolicy", "Shards", "begin_of"]


class LastBatchPolicy(enum.Enum):
    """What to do with the last batch of an epoch, where the samples do not fill it.

    FILL: it is full; the stream of samples just goes on. DROP: it is left out. PARTIAL: it is
    smaller. With seven samples and batches of two, the reader not padding: FILL ends with [7, 1]
    and goes on with [2, 3]; DROP ends with [5, 6], PARTIAL with [7], and both go on with [1, 2].
    """

    FILL = 0
    DROP = 1
    PARTIAL = 2


@dataclass(frozen=True)
class Shards:
    """The shards of a data set, of which one is read.

    size: samples of the data set; number, first: how many shards, and which is read in epoch 0;
    moving: the next shard is read in each epoch; padded: repeats make all shards equally long.
    """

    size: int
    number: int
    first: int
    moving: bool
    padded: bool

    @staticmethod
    def of(reader: Source) -> Shards:
        """Those of a reader, as it describes itself."""
        meta = reader.meta() or {}
        return Shards(
            meta["epoch_size"],
            meta["number_of_shards"],
            meta["shard_id"],
            not meta["stick_to_shard"],
            bool(meta["pad_last_batch"]),
        )

    def length(self, epoch: int) -> int:
        """Samples in an epoch, without repeats."""
        shard = (self.first + (epoch if self.moving else 0)) % self.number
        return self.size * (shard + 1) // self.number - self.size * shard // self.number

    def batches(self, epochs: int, batch_size: int, policy: LastBatchPolicy) -> int:
        """How many batches so many epochs have together.

        It depends on the data set and not on the shard: processes that read a shard each, and wait
        for each other after each batch, come to the end together.
        """
        longest = -(-self.size // self.number)
        if policy is LastBatchPolicy.DROP:
            return epochs * (self.size // self.number // batch_size)
        if policy is LastBatchPolicy.PARTIAL or self.padded:
            return epochs * -(-longest // batch_size)
        # What the last batch of an epoch has read of the next one is not read there again.
        read = -(-epochs * self.size // self.number) if self.moving else epochs * longest
        return -(-read // batch_size)

    def end_by_themselves(self, batch_size: int, policy: LastBatchPolicy) -> bool:
        """Whether the batches of an epoch are read without regard to its end."""
        if policy is LastBatchPolicy.FILL:
            return True
        # The last of the padded batches is cut. Of a short shard it may be nothing but padding.
        longest = -(-self.size // self.number)
        empty = batch_size > 1 and longest % batch_size == 1 and self.size % self.number > 0
        return policy is LastBatchPolicy.PARTIAL and self.padded and not empty


def begin_of(batch: int, batches: int, length: int, batch_size: int) -> int:
    """The first sample of a batch in an epoch of so many batches and samples, none of them empty.

    The last batches of a short shard are smaller, so that it has as many as the others. Batches of
    one sample cannot be smaller: then the last one is empty.
    """
    if batch_size == 1:
        return min(batch, length)
    return max(0, min(batch * batch_size, length - (batches - batch)))


@dataclass(frozen=True)
class Epochs:
    """Says how many samples to read next, so that each epoch is `batches` batches.

    others: further readers of the pipeline; those that stand where `source` stands, like one of
    masks beside one of images, go to the next epoch together with it. drop: read full batches, and
    leave out the rest of the epoch. Otherwise batches are as `begin_of` has it; padded: the last
    one is filled with repeats, which are to be cut off.
    """

    source: Source
    others: Sequence[Source]
    batch_size: int
    batches: int
    drop: bool
    padded: bool

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
        batch = min(index // self.batch_size, self.batches - 1)
        while batch + 1 < self.batches and self._begin_of(batch + 1) <= index:
            batch += 1
        if self.padded and batch + 1 == self.batches:
            return self.batch_size
        return self._begin_of(batch + 1) - index

    def _begin_of(self, batch: int) -> int:
        length = self.source.shard_length() or 0
        return begin_of(batch, self.batches, length, self.batch_size)

    def _owes_an_empty_batch(self, turn: int) -> bool:
        """Whether the epoch, all of which was read, has one more batch than samples."""
        if self.drop or self.padded or self.batch_size > 1:
            return False
        return (self.source.shard_length() or 0) < self.batches and (turn + 1) % self.batches == 0

    def _skip_epoch(self) -> None:
        place = _place(self.source)
        for reader in (self.source, *self.others):
            if reader is self.source or _place(reader) == place:
                reader.skip_epoch()


def _place(reader: Source) -> tuple[int, int]:
    """How many samples of its epoch a reader has read, and how many are left."""
    left = reader.remaining() or 0
    return (reader.epoch_length() or 0) - left, left
