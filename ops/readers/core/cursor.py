"""The place of a reader in the endless stream of samples that a plan makes, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.provenance import Progress

from .plan import Plan, ShardedPlan, check_full_batch, earlier

__all__ = ["Cursor", "PlanProgress"]

MOST_EPOCHS = 1 << 31
"""So many have positions in 64 bits, in data sets of as many samples."""
_MOST_EMPTY = 1 << 12
"""Epochs without samples, one after the other."""


@dataclass
class Cursor:
    """Walks over the epochs of a plan. `index` is the place in `epoch`."""

    plan: Plan
    epoch: int = 0
    index: int = 0

    @property
    def length(self) -> int:
        """Samples in the current epoch."""
        return self.plan.length(self.epoch)

    @property
    def next_begin(self) -> int:
        """The next epoch of which nothing was read."""
        return self.epoch + (self.index > 0)

    @property
    def next_place(self) -> tuple[int, int]:
        """Epoch and place of the sample that is read next."""
        if self.index < self.length:
            return self.epoch, self.index
        return self.epoch + 1, 0

    def _take(self, stop: int) -> tuple[op.Int64Array, op.Int64Array]:
        place = self.epoch, self.index, stop
        self.index = stop
        return self.plan.indices(*place), self.plan.positions(*place)

    def skip_epoch(self) -> None:
        """Go to the start of the next epoch."""
        self.epoch += 1
        self.index = 0

    def _next_epoch(self) -> None:
        """Go to the start of the next epoch that has samples. Raises OperatorValueError if so many
        have none."""
        for _ in range(_MOST_EMPTY):
            self.skip_epoch()
            if self.length:
                return
        raise op.OperatorValueError("the epochs have no batch for this process")

    def fit(self, count: int) -> None:
        """Be read in batches of at most `count` samples. Raises OperatorValueError where that is
        not possible in the middle of an epoch."""
        self.plan, self.index = self.plan.fitted(count, self.epoch, self.index)

    def take(self, count: int) -> tuple[op.Int64Array, op.Int64Array]:
        """Sample numbers and positions of the next `count` samples, across epochs; of buckets, the
        next batch."""
        check_full_batch(count)
        asked, parts = count, []
        while count:
            if self.index >= self.length:
                self._next_epoch()
            self.fit(asked)
            before = self.index
            parts.append(self._take(self.plan.stop(self.epoch, before, count)))
            if self.plan.bucketed:
                break
            count -= self.index - before
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if len(parts) == 1:
            return parts[0]
        samples, positions = zip(*parts, strict=True)
        return np.concatenate(samples), np.concatenate(positions)

    def take_in_epoch(self, count: int) -> tuple[op.Int64Array, op.Int64Array]:
        """Like `take`, but not past the end of the epoch; StopIteration when it is reached."""
        if self.index >= self.length:
            self.skip_epoch()
            raise StopIteration
        self.fit(count)
        return self._take(self.plan.stop(self.epoch, self.index, count))

    def coming(self, count: int) -> op.Int64Array:
        """The next samples, without going on."""
        return replace(self).walk(count)

    def walk(self, count: int) -> op.Int64Array:
        """The next `count` samples, whatever batches they are in."""
        if not self.plan.bucketed:
            return self.take(count)[0]
        parts = [np.empty(0, np.int64)]
        while count:
            if self.index >= self.length:
                self._next_epoch()
            part = min(count, self.length - self.index)
            parts.append(self.plan.indices(self.epoch, self.index, self.index + part))
            self.index += part
            count -= part
        return np.concatenate(parts)

    def get_state(self) -> dict[str, Any]:
        index = self.plan.told(self.epoch, self.index)
        return {"epoch": self.epoch, "index": index, **self.plan.state(self.epoch)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a place that `get_state` returned. Raises OperatorValueError."""
        try:
            epoch, index = int(state["epoch"]), int(state["index"])
            if not (0 <= epoch < MOST_EPOCHS and 0 <= index < MOST_EPOCHS**2):
                raise ValueError("there is no such place")
            plan, index = self.plan.restored(state).placed(epoch, index)
        except op.GradivaError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise op.OperatorValueError(
                f"this is not the state of a reader: {state!r} ({error})"
            ) from None
        self.plan, self.epoch, self.index = plan, epoch, index


class PlanProgress(Progress):
    """A function of the place of a batch: of epoch, `start` in it and the size of batches, `count`.

    Steps are counted in epochs that end with a batch: as many for each as the shard with the most
    samples needs, so that all shards count alike. A negative `start` is not known. counted: what is
    kept of epochs that differ in length, the batches and the samples of earlier ones.
    """

    __slots__ = ("_count", "_counted", "_plan", "_start")

    def __init__(
        self,
        plan: Plan,
        place: tuple[int, int],
        count: int,
        counted: tuple[dict[int, int], dict[int, int]],
    ) -> None:
        super().__init__(place[0])
        self._plan, self._start, self._count, self._counted = plan, place[1], count, counted

    @property
    def step(self) -> int:
        if self.known_step is None:
            if self._start < 0:
                raise op.OperatorRuntimeError(
                    "the step of one sample is not known where batches are buckets"
                )
            self.known_step = self._before() + self._plan.step_at(
                self.epoch or 0, self._start, self._count
            )
        return self.known_step

    def _before(self) -> int:
        plan, epoch = self._plan, self.epoch or 0
        even = isinstance(plan, ShardedPlan) and not plan.order.uneven and not plan.bucketed
        if even:
            return epoch * plan.steps(0, self._count)
        return earlier(epoch, lambda one: plan.steps(one, self._count), self._counted[0])

    def numbers(self, positions: op.Int64Array) -> op.Int64Array:
        return self._plan.numbers(positions, self._counted[1])

    def in_epoch(self, step: int) -> PlanProgress:
        """That of the batch with this number in its epoch."""
        return self.at_step(self._before() + step)

    def at_step(self, step: int) -> PlanProgress:
        made = PlanProgress(self._plan, (self.epoch or 0, self._start), self._count, self._counted)
        made.known_step = step
        return made
