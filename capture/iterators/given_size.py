"""`GivenSize`: epochs with a given number of samples, regardless of the readers."""

from __future__ import annotations

from dataclasses import dataclass

from gradiva.capture.pipeline.epochs import LastBatchPolicy


@dataclass(frozen=True)
class GivenSize:
    """Epochs of `size` samples of so many pipelines together, in turns of a batch of each.

    padded: each epoch begins with a batch of its own under FILL, too, where otherwise the last
    batch of an epoch is counted into the next one, as far as it is not of this one.
    """

    size: int
    pipelines: int
    batch_size: int
    policy: LastBatchPolicy
    padded: bool

    @property
    def _turn(self) -> int:
        """The number of samples in a turn."""
        return self.pipelines * self.batch_size

    def batches(self, epochs: int) -> int:
        """The number of turns in this many epochs together."""
        if self.policy is LastBatchPolicy.DROP:
            return epochs * (self.size // self._turn)
        if self.policy is LastBatchPolicy.PARTIAL or self.padded:
            return epochs * -(-self.size // self._turn)
        # Every epoch has at least one turn, so epochs that are smaller than a turn have one each.
        return max(epochs, -(-epochs * self.size // self._turn))

    @property
    def dropped(self) -> bool:
        """Whether a turn is read between two epochs and not returned in either."""
        return self.policy is LastBatchPolicy.DROP and self.size % self._turn > 0

    def most(self, turn: int, pipeline: int) -> int:
        """The number of samples of a batch that belong to the epoch. turn: counted from the first
        one of the epoch."""
        if self.policy is not LastBatchPolicy.PARTIAL:
            return self.batch_size
        left = self.size - turn * self._turn - pipeline * self.batch_size
        return min(max(left, 0), self.batch_size)

    def place(self, before: int) -> tuple[int, int, bool]:
        """The epoch, the turn in it, and whether a turn is to be dropped, after this many batches
        of a pipeline."""
        epoch = 0
        while True:
            length = self.batches(epoch + 1) - self.batches(epoch)
            if before < length or not length:
                return epoch, before, False
            if before == length:
                return epoch + 1, 0, self.dropped
            before -= length + self.dropped
            epoch += 1
