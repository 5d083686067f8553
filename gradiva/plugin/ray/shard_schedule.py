"""`ShardSchedule`: which samples of an epoch a trainer gets in a step. This is arithmetic only:
each trainer computes its own share without communication.

With interleaved sharding, the samples of all trainers up to a step are a prefix of the epoch's
order. So one number says what was consumed, and a run can continue with any number of trainers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gradiva.capture.pipeline.epochs import LastBatchPolicy, begin_of
from gradiva.eager.support.errors import OperatorValueError, wrong_type, wrong_value
from gradiva.ops.readers.core.source import EpochPart

__all__ = ["SHARDINGS", "EpochPosition", "ShardSchedule"]

SHARDINGS = ("interleaved", "contiguous")


@dataclass(frozen=True)
class EpochPosition:
    """The position after `step` steps in an epoch, where steps are counted from sample `begin`
    on."""

    epoch: int = 0
    begin: int = 0
    step: int = 0


@dataclass(frozen=True)
class ShardSchedule:
    """`world_size` trainers, each with batches of `batch_size`.

    policy: of the last step, where fewer samples are left than all trainers take. FILL repeats the
    last sample of the epoch; DROP leaves these samples out; PARTIAL deals them evenly, so that
    batches are smaller, and empty where there are fewer samples than trainers. All trainers have
    equally many steps.
    sharding: "interleaved", or "contiguous" for shards one after the other, as readers have them;
    then `moving` says that trainers go on to the next shard in each epoch, and shards are cut
    between groups of `unit` samples.
    """

    batch_size: int
    world_size: int
    policy: LastBatchPolicy = LastBatchPolicy.FILL
    sharding: str = "interleaved"
    moving: bool = True
    unit: int = 1

    @property
    def global_batch(self) -> int:
        """The number of samples in a step of all trainers."""
        return self.batch_size * self.world_size

    def steps(self, length: int, begin: int = 0) -> int:
        """The number of steps from sample `begin` to the end of an epoch of `length` samples."""
        if self.sharding == "interleaved":
            left, whole = length - begin, self.global_batch
        elif self.policy is LastBatchPolicy.DROP:
            left, whole = self._least(length), self.batch_size
        else:
            left, whole = self._most(length), self.batch_size
        return left // whole if self.policy is LastBatchPolicy.DROP else -(-left // whole)

    def part(self, place: EpochPosition, rank: int, length: int) -> EpochPart:
        """What the trainer `rank` gets in the step at this position."""
        if self.sharding == "contiguous":
            return self._of_shard(place, rank, length)
        first = place.begin + place.step * self.global_batch
        left = length - first
        if left < self.global_batch and self.policy is LastBatchPolicy.PARTIAL:
            start, stop = (first + left * one // self.world_size for one in (rank, rank + 1))
        else:
            start, stop = (first + self.batch_size * one for one in (rank, rank + 1))
        return EpochPart(place.epoch, start, stop)

    def _of_shard(self, place: EpochPosition, rank: int, length: int) -> EpochPart:
        size = self.batch_size
        start, stop = (step * size for step in (place.step, place.step + 1))
        if self.policy is LastBatchPolicy.PARTIAL:
            shard = (rank + (place.epoch if self.moving else 0)) % self.world_size
            own, steps = self._own(length, shard), self.steps(length)
            start, stop = (begin_of(place.step + one, steps, own, size) for one in (0, 1))
        return EpochPart(place.epoch, start, stop, rank, self.world_size)

    def _own(self, length: int, shard: int) -> int:
        """The number of samples of a shard."""
        units = -(-length // self.unit)
        begin, end = (units * one // self.world_size * self.unit for one in (shard, shard + 1))
        return min(end, length) - begin

    def _least(self, length: int) -> int:
        return length // self.unit // self.world_size * self.unit

    def _most(self, length: int) -> int:
        units = -(-length // self.unit)
        return min(-(-units // self.world_size) * self.unit, length)

    def consumed(self, place: EpochPosition, length: int) -> int:
        """The number of samples of the epoch that were delivered before this position, repeats not
        counted."""
        return min(place.begin + place.step * self.global_batch, length)

    def state(self, place: EpochPosition) -> dict[str, Any]:
        """The position as plain data: the same for all trainers."""
        return {
            "epoch": place.epoch,
            "step": place.step,
            "begin": place.begin,
            "batch_size": self.batch_size,
            "world_size": self.world_size,
            "sharding": self.sharding,
            "policy": self.policy.name,
        }

    def resumed(self, state: dict[str, Any], length: int) -> EpochPosition:
        """The position at which to continue, from the result of `state` for any number of trainers.

        length: the number of samples in the epoch of the state. Raises OperatorTypeError if `state`
        is not a state; OperatorValueError for contiguous shards and another number of trainers or
        another batch size.
        """
        try:
            place = EpochPosition(*(_count(state[name]) for name in ("epoch", "begin", "step")))
            before = replace(
                self,
                batch_size=_count(state["batch_size"], 1),
                world_size=_count(state["world_size"], 1),
                policy=LastBatchPolicy[state["policy"]],
            )
            sharding = state["sharding"]
        except (KeyError, TypeError, ValueError) as error:
            raise wrong_type(
                "state_dict", "what `state_dict` returned", f"{state!r} ({error!r})"
            ) from None
        if sharding != self.sharding:
            raise OperatorValueError(
                argument="sharding", expected=f"{sharding!r}, as in the state", got=self.sharding
            )
        if place.step >= before.steps(length, place.begin):
            return EpochPosition(place.epoch + 1)
        if self.sharding == "contiguous":
            self._require("batch_size", before.batch_size, self.batch_size)
            self._require("world_size", before.world_size, self.world_size)
        elif before.global_batch != self.global_batch:
            return EpochPosition(place.epoch, before.consumed(place, length))
        return place

    def _require(self, name: str, was: int, now: int) -> None:
        if was != now:
            raise wrong_value(
                name,
                f"{was}, as in the state",
                str(now),
                "with shards one after the other an epoch goes on as it was begun; "
                'sharding="interleaved" goes on with any number of trainers',
            )


def _count(value: Any, least: int = 0) -> int:
    """A number from a state. Raises TypeError and ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    if value < least:
        raise ValueError(f"{value} is less than {least}")
    return value
