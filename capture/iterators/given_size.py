"""`GivenSize`: epochs of a number of samples that the user says, whatever the pipelines read."""

from __future__ import annotations

from dataclasses import dataclass

from gradiva.capture.pipeline.epochs import LastBatchPolicy

__all__ = ["GivenSize"]


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
        """Samples of a turn."""
        return self.pipelines * self.batch_size

    def batches(self, epochs: int) -> int:
        """How many turns so many epochs have together."""
        if self.policy is LastBatchPolicy.DROP:
            return epochs * (self.size // self._turn)
        if self.policy is LastBatchPolicy.PARTIAL or self.padded:
            return epochs * -(-self.size // self._turn)
        # No epoch is without a turn, so those that are smaller than one have one each.
        return max(epochs, -(-epochs * self.size // self._turn))

    @property
    def dropped(self) -> bool:
        """Whether a turn is read between two epochs and returned in none."""
        return self.policy is LastBatchPolicy.DROP and self.size % self._turn > 0

    def most(self, turn: int, pipeline: int) -> int:
        """How many samples of a batch belong to the epoch. turn: counted from its first one."""
        if self.policy is not LastBatchPolicy.PARTIAL:
            return self.batch_size
        left = self.size - turn * self._turn - pipeline * self.batch_size
        return min(max(left, 0), self.batch_size)

    def place(self, before: int) -> tuple[int, int, bool]:
        """The epoch, the turn in it, and whether a dropped turn is due, after so many batches of a
        pipeline."""
        epoch = 0
        while True:
            length = self.batches(epoch + 1) - self.batches(epoch)
            if before < length or not length:
                return epoch, before, False
            if before == length:
                return epoch + 1, 0, self.dropped
            before -= length + self.dropped
            epoch += 1
