"""The number of batches in the epochs of an iterator, and the current epoch."""

from __future__ import annotations

from gradiva.capture.pipeline.epochs import LastBatchPolicy, begin_of

from .iterator_facts import IteratorFacts


class IteratorEpochs(IteratorFacts):
    """The part of an iterator that counts."""

    def __len__(self) -> int:
        """Batches in this epoch. It is the same in all epochs, unless the policy is FILL and
        nothing pads. 0 if it is not known, without `reader_name` and `size`."""
        if not self._is_counted:
            return 0
        if self._shards and self._shards[0].counted is not None:
            return self._shards[0].counted(self._epoch)
        return self._until(self._epoch + 1) - self._until(self._epoch)

    @property
    def _is_counted(self) -> bool:
        """Whether the number of batches in an epoch is known."""
        return bool(self._shards) or self._given is not None

    def _until(self, epochs: int) -> int:
        """The number of batches of each pipeline in this many epochs."""
        if self._given is not None:
            return self._given.batches(epochs)
        return self._shards[0].batches(epochs, self.batch_size, self._policy)

    def _over(self) -> bool:
        """Whether the epoch has no more batches."""
        return self._is_counted and self._done >= len(self)

    def _most(self, number: int) -> int | None:
        """The number of samples to which the next batch of a pipeline must be cut; None for no
        cut."""
        if self._given is not None:
            most = self._given.most(self._done, number)
            return None if most == self.batch_size else most
        if self._policy is not LastBatchPolicy.PARTIAL or not self._shards:
            return None
        shards, batches = self._shards[number], len(self)
        if shards.counted is not None:
            return None
        if not shards.padded or self._done + 1 < batches:
            return None
        length = shards.length(self._epoch)
        return length - begin_of(batches - 1, batches, length, self.batch_size)

    def _begin_at(self, epoch: int) -> None:
        """Go to the start of an epoch of the reader, before the first batch is made."""
        for pipe in self._pipes:
            pipe._built().begin_at(epoch, self._until(epoch))
        self._epoch, self._done = epoch, 0

    def _begin_epoch(self) -> None:
        self._epoch += 1
        filled = bool(self._shards) and self._policy is LastBatchPolicy.FILL
        while filled and not len(self):
            self._epoch += 1  # all of it has been read already
