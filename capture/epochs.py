"""Batches that end where an epoch of a reader ends, for iterators that count epochs."""

from __future__ import annotations

from dataclasses import dataclass

from gradiva.eager.source import Source

__all__ = ["Epochs", "Shards"]


@dataclass(frozen=True)
class Shards:
    """How long the epochs of one shard are.

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
        """Samples in an epoch."""
        if self.padded:
            return self.longest
        shard = (self.first + (epoch if self.moving else 0)) % self.number
        return self.size * (shard + 1) // self.number - self.size * shard // self.number

    @property
    def longest(self) -> int:
        if self.padded or (self.moving and self.number > 1):
            return -(-self.size // self.number)
        return self.length(0)

    @property
    def shortest(self) -> int:
        if not self.padded and self.moving and self.number > 1:
            return self.size // self.number
        return self.length(0)


@dataclass(frozen=True)
class Epochs:
    """Says how many samples to read next, so that each epoch is `batches` batches and none empty.

    drop: read full batches, and leave out the rest of the epoch. Otherwise the last batches of a
    short shard are made smaller, so that all shards have equally many.
    """

    source: Source
    batch_size: int
    batches: int
    drop: bool

    def next_size(self) -> int:
        """The size of the next batch; moves the reader to the next epoch where one has ended."""
        length, left = self.source.epoch_length() or 0, self.source.remaining() or 0
        done = (length - left) // self.batch_size
        if left <= 0 or (self.drop and done >= self.batches):
            self.source.skip_epoch()
            left, done = self.source.epoch_length() or 0, 0
        if self.drop:
            return self.batch_size
        later = max(0, self.batches - done - 1)
        return max(1, min(self.batch_size, left - later))
