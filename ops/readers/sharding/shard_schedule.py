"""`ShardSchedule`: which samples of an epoch a trainer gets in a step. This is arithmetic only:
each trainer computes its own share without communication.

With interleaved sharding, the samples of all trainers up to a step are a prefix of the epoch's
order. So one number says what was consumed, and a run can continue with any number of trainers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gradiva.eager import extension as op
from gradiva.ops.readers.core.source import EpochPart, LastBatchPolicy, begin_of

__all__ = ["EpochPosition", "LastBatchPolicy", "ShardSchedule"]


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
    batches are smaller. If fewer samples than trainers would be left, the last two steps have about
    equally many, so that no batch is empty, unless there are no two steps, or batches are of one
    sample. All trainers have equally many steps.
    sharding: "interleaved", or "contiguous" for shards one after the other, as readers have them;
    then `moving` says that trainers go on to the next shard in each epoch. unit: shards, and
    smaller batches, are cut between groups of so many samples. alike: steps are the same for any
    number of trainers that divides the samples of a step: with PARTIAL, the last two steps also
    have about equally many samples where those that are left would not fill half of a step.
    """

    batch_size: int
    world_size: int
    policy: LastBatchPolicy = LastBatchPolicy.FILL
    sharding: str = "interleaved"
    moving: bool = True
    unit: int = 1
    alike: bool = False

    @property
    def global_batch(self) -> int:
        """The number of samples in a step of all trainers."""
        return self.batch_size * self.world_size

    def steps(self, length: int, begin: int = 0) -> int:
        """The number of steps from sample `begin` to the end of an epoch of `length` samples."""
        if self.sharding == "interleaved":
            left, whole = max(0, length - begin), self.global_batch
        elif self.policy is LastBatchPolicy.DROP:
            left, whole = self._least(length), self.batch_size
        else:
            left, whole = self._most(length), self.batch_size
        return left // whole if self.policy is LastBatchPolicy.DROP else -(-left // whole)

    def full_steps(self, length: int, begin: int = 0) -> int:
        """How many of these steps have a full batch for each trainer, without repeats."""
        full, rest = divmod(max(0, length - begin), self.global_batch)
        return full - (full > 0 and self._evens_out(rest))

    def _evens_out(self, rest: int) -> bool:
        """Whether the last two steps share their samples, of which the last would have `rest`."""
        few = rest < self.world_size and self.batch_size > 1
        if self.alike:
            few = 2 * rest < self.global_batch
        return rest > 0 and few and self.policy is LastBatchPolicy.PARTIAL

    def span(self, step: int, begin: int, length: int) -> tuple[int, int]:
        """The places in the epoch of the first sample of a step, and behind its last one, of all
        trainers together; of interleaved shards. Steps are counted from sample `begin` on."""
        whole, full = self.global_batch, self.full_steps(length, begin)
        first = begin + step * whole
        if step < full:
            return first, first + whole
        first = begin + full * whole
        if length - first <= whole:
            return min(first, length) + (step - full) * whole, length
        middle = first + -(-(length - first) // (2 * self._group)) * self._group
        return (first, middle) if step == full else (middle, length)

    @property
    def _group(self) -> int:
        """Smaller batches are cut between groups of so many samples, if full ones are."""
        return 1 if self.batch_size % self.unit else self.unit

    def part(self, place: EpochPosition, rank: int, length: int) -> EpochPart:
        """What the trainer `rank` gets in the step at this position."""
        if self.sharding == "contiguous":
            return self._of_shard(place, rank, length)
        first, last = self.span(place.step, place.begin, length)
        if last - first < self.global_batch and self.policy is LastBatchPolicy.PARTIAL:
            group = self._group
            groups = -(-(last - first) // group)
            start, stop = (
                min(first + groups * one // self.world_size * group, last)
                for one in (rank, rank + 1)
            )
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
        counted; of interleaved shards. At the end of an epoch those that were dropped count."""
        if place.step >= self.steps(length, place.begin):
            return length
        return self.span(place.step, place.begin, length)[0]

    def state(self, place: EpochPosition, length: int) -> dict[str, Any]:
        """The position as plain data: the same for all trainers. length: of the epoch."""
        found: dict[str, Any] = {
            "epoch": place.epoch,
            "step": place.step,
            "begin": place.begin,
            "batch_size": self.batch_size,
            "world_size": self.world_size,
            "sharding": self.sharding,
            "policy": self.policy.name,
        }
        if self.sharding == "interleaved":
            found["samples"] = self.consumed(place, length)
        return found

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
            # Older states do not have it: there, all steps but the last one were full.
            full = min(place.begin + place.step * before.global_batch, length)
            samples = _count(state.get("samples", full))
        except (KeyError, TypeError, ValueError) as error:
            raise op.wrong_type(
                "state_dict", "what `state_dict` returned", f"{state!r} ({error!r})"
            ) from None
        if sharding != self.sharding:
            raise op.OperatorValueError(
                argument="sharding", expected=f"{sharding!r}, as in the state", got=self.sharding
            )
        if place.step >= before.steps(length, place.begin):
            return EpochPosition(place.epoch + 1)
        if self.sharding == "contiguous":
            self._require("batch_size", before.batch_size, self.batch_size)
            self._require("world_size", before.world_size, self.world_size)
        elif self.consumed(place, length) != samples:
            return EpochPosition(place.epoch, samples)
        return place

    def _require(self, name: str, was: int, now: int) -> None:
        if was != now:
            raise op.wrong_value(
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
