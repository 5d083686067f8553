"""Plans: which sample of a data set stands at which place of an epoch.

A plan is a pure function of seed and epoch: it knows no place (that is `Cursor`) and no files. The
order of an epoch is made of the whole data set, before sharding, so it does not depend on batch
size, threads or shards (`order.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gradiva.eager import extension as op

from .order import Order, Shuffled

__all__ = ["PADDING", "Plan", "ShardedPlan", "check_full_batch"]

PADDING = 1 << 62
"""Repeats that fill a last batch get positions above this one, so no two samples share one."""


MOST_AT_ONCE = 1 << 24
"""Samples of a batch that is full whatever the size of the data set."""


def check_full_batch(count: int) -> None:
    """Raise OperatorValueError for a batch that is full at any price."""
    if count > MOST_AT_ONCE:
        raise op.wrong_value(
            "batch_size", f"at most {MOST_AT_ONCE} samples, where all batches are full", count
        )


def earlier(epoch: int, length: Callable[[int], int], counted: dict[int, int]) -> int:
    """The sum of the lengths of all epochs before this one; `counted` keeps sums."""
    begun = max((one for one in counted if one <= epoch), default=0)
    total = counted.get(begun, 0)
    for one in range(begun, epoch):
        total += length(one)
    counted[epoch] = total
    return total


class Plan(Protocol):
    """Epochs of samples. `start` and `stop` are places in an epoch, as in `range`.

    fills: the last batch of an epoch is filled up, so `stop` may lie beyond the epoch's length.
    bucketed: it says how large each batch is.
    """

    @property
    def fills(self) -> bool: ...

    @property
    def bucketed(self) -> bool: ...

    def length(self, epoch: int) -> int:
        """Samples in an epoch."""

    def own_length(self, epoch: int) -> int:
        """Samples in an epoch without the repeats that pad it."""

    def indices(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        """Which samples of the data set stand there."""

    def positions(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        """Their places in the endless stream of all epochs; no two samples share one."""

    def indices_at(self, positions: op.Int64Array) -> op.Int64Array:
        """Which samples of the data set have these positions, in any shard. Raises
        OperatorValueError for positions that no sample has, such as of repeats."""

    def stop(self, epoch: int, start: int, count: int) -> int:
        """Where the batch ends that begins at `start`; it has at most `count` samples."""

    def batches(self, epoch: int, count: int) -> int:
        """How many batches of at most `count` samples an epoch has."""

    def steps(self, epoch: int, count: int) -> int:
        """How many batches of at most `count` samples an epoch has in the shard with the most of
        them: the same for all shards."""

    def step_at(self, epoch: int, start: int, count: int) -> int:
        """How many batches of an epoch come before the one that begins at `start`."""

    def numbers(self, positions: op.Int64Array, counted: dict[int, int]) -> op.Int64Array:
        """How many samples of all shards come before those at these positions, since the beginning.
        counted: where the samples of earlier epochs are kept, if these differ."""

    def for_batches(self, count: int, start: int) -> Plan:
        """The plan for batches of at most `count` samples, of whose epoch `start` samples were
        read. Raises OperatorValueError where these were read in other batches."""

    def fitted(self, count: int, epoch: int, index: int) -> tuple[Plan, int]:
        """The plan for batches of at most `count` samples, and the place in it, for one who is at
        a place of an epoch. Raises OperatorValueError as `for_batches`."""

    def placed(self, epoch: int, place: int, turn: int = 0) -> tuple[Plan, int]:
        """The plan, and the place in it, for one who goes on where a state says. turn: the worker
        that takes the first step from there."""

    def told(self, epoch: int, index: int) -> int:
        """What a state says of a place."""

    def whole(self) -> Plan:
        """The plan of all shards together, without padding."""

    def batch_of(self, epoch: int, place: int, count: int, across: bool) -> tuple[int, int]:
        """Where the batch of `count` samples begins that has this place of an epoch of all shards:
        its epoch, and the place there in its shard, negative where that is not known. across:
        whether batches continue into the next epoch."""

    def of_process(self, world: int, rank: int) -> Plan:
        """That of one of so many processes that read the same data."""

    def meta(self) -> dict[str, int]:
        """Sizes of the epoch and its shards."""

    def state(self, epoch: int) -> dict[str, Any]:
        """What the plan is a function of, as plain data; and what shows that an epoch, which is
        being read, is the same."""

    def restored(self, state: dict[str, Any]) -> Plan:
        """The plan that had this state. Raises OperatorValueError if the data were others."""


@dataclass(frozen=True)
class ShardedPlan:
    """One shard of an order.

    size: samples in the data set; stick_to_shard: keep to one shard, instead of moving to the next
    one each epoch; pad: repeat the last sample so that all shards have epochs of one length and all
    batches are full. order: by default the data set itself, or with `shuffle` its permutations.
    """

    size: int
    seed: int
    shuffle: bool = False
    num_shards: int = 1
    shard_id: int = 0
    stick_to_shard: bool = False
    pad: bool = False
    order: Order = None  # type: ignore[assignment]  # see __post_init__
    count: int | None = None
    """The most samples that its batches have, where it depends on that."""

    def __post_init__(self) -> None:
        if self.num_shards < 1:
            raise op.wrong_value("num_shards", "at least 1", self.num_shards)
        if not 0 <= self.shard_id < self.num_shards:
            raise op.wrong_value(
                "shard_id", f"from 0 to num_shards - 1 = {self.num_shards - 1}", self.shard_id
            )
        if self.order is None:
            object.__setattr__(self, "order", Shuffled(self.size, self.seed, self.shuffle))
        self._check_shards(self.order.length(0))

    def _check_shards(self, length: int) -> None:
        """Raise OperatorValueError where a shard of an epoch would be empty."""
        unit = self.order.unit
        if length < self.num_shards * unit and self.num_shards > 1:
            what = "samples" if unit == 1 else f"groups of {unit} samples"
            raise op.OperatorValueError(
                f"{self.num_shards} shards of {length // unit} {what}: there are more shards than "
                f"{what.partition(' ')[0]}, some would be empty",
                argument="num_shards",
            )

    @property
    def shares_steps(self) -> bool:
        """Whether the shards share each step of an epoch."""
        return False

    @property
    def fills(self) -> bool:
        return self.pad

    @property
    def bucketed(self) -> bool:
        return self.order.grouped

    def shard(self, epoch: int) -> int:
        """The shard that is read in an epoch."""
        moved = 0 if self.stick_to_shard else epoch
        return (self.shard_id + moved) % self.num_shards

    def bounds(self, epoch: int) -> tuple[int, int]:
        """First and last + 1 place, in the epoch's order, of the shard."""
        shard, length, unit = self.shard(epoch), self.order.length(epoch), self.order.unit
        units = -(-length // unit)
        self._check_shards(length)
        begin, end = (units * one // self.num_shards * unit for one in (shard, shard + 1))
        return begin, min(end, length)

    def own_length(self, epoch: int) -> int:
        begin, end = self.bounds(epoch)
        return end - begin

    def length(self, epoch: int) -> int:
        """The same for all shards if padded."""
        if not self.pad:
            return self.own_length(epoch)
        length, unit = self.order.length(epoch), self.order.unit
        units = -(-length // unit)
        return min(-(-units // self.num_shards) * unit, length)

    def places(self, epoch: int, start: int, stop: int) -> tuple[op.Int64Array, op.Int64Array]:
        """Places in the epoch's order; and 0, or for repeats a number that no other repeat of the
        epoch has."""
        begin, end = self.bounds(epoch)
        places = np.arange(begin + start, begin + stop, dtype=np.int64)
        if begin + stop <= end:
            return places, np.zeros(len(places), np.int64)
        return np.minimum(places, end - 1), np.where(places < end, 0, places)

    def indices(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        return self.order.indices(epoch, self.places(epoch, start, stop)[0])

    def positions(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        """Epoch x stride + place in the epoch's order."""
        places, repeats = self.places(epoch, start, stop)
        if not len(repeats) or repeats[-1] == 0:
            return epoch * self.order.stride + places
        turn = epoch * self.num_shards + self.shard(epoch)
        return np.where(
            repeats == 0, epoch * self.order.stride + places, PADDING + (turn << 32) + repeats
        )

    def indices_at(self, positions: op.Int64Array) -> op.Int64Array:
        stride = self.order.stride
        found = np.full(len(positions), -1, np.int64)
        epochs = positions // stride
        for epoch in np.unique(epochs[positions >= 0]).tolist():
            places = positions - epoch * stride
            there = (epochs == epoch) & (places < self.order.length(epoch))
            found[there] = self.order.indices(epoch, places[there])
        if (found < 0).any():
            raise op.wrong_value(
                "positions",
                "positions that samples have",
                int(positions[int(np.flatnonzero(found < 0)[0])]),
            )
        return found

    def stop(self, epoch: int, start: int, count: int) -> int:
        left = self.length(epoch) - start
        if not self.fills:
            return start + min(left, count)
        check_full_batch(count)
        return start + count  # a padded epoch ends with a full batch

    def batches(self, epoch: int, count: int) -> int:
        return -(-self.length(epoch) // count)

    def steps(self, epoch: int, count: int) -> int:
        length, unit = self.order.length(epoch), self.order.unit
        units = -(-length // unit)
        return -(-min(-(-units // self.num_shards) * unit, length) // count)

    def step_at(self, epoch: int, start: int, count: int) -> int:
        return start // count

    def numbers(self, positions: op.Int64Array, counted: dict[int, int]) -> op.Int64Array:
        order, stride = self.order, self.order.stride
        repeats = positions >= PADDING
        turns = (positions - PADDING) >> 32
        epochs = np.where(repeats, turns // self.num_shards, positions // stride)
        found: op.Int64Array = positions - epochs * stride
        for epoch in np.unique(epochs).tolist():
            here = epochs == epoch
            if (repeats & here).any():  # of the last sample of the shard
                length = self.length(epoch)
                found[repeats & here] = self.places(epoch, length - 1, length)[0]
            if order.uneven:
                found[here] += earlier(epoch, order.length, counted)
            else:
                found[here] += epoch * order.length(0)
        return found

    def for_batches(self, count: int, start: int) -> ShardedPlan:
        order = self.order.for_batches(count)
        return self if order is self.order else self.in_batches(count, start, order=order)

    def in_batches(self, count: int, start: int, **changes: Any) -> ShardedPlan:
        """The plan for these batches, where it depends on them."""
        if start and self.count is not None:
            raise op.OperatorValueError(
                "an epoch goes on with batches as it was begun",
                argument="batch_size",
                expected=str(self.count),
                got=str(count),
            )
        return replace(self, count=count, **changes)

    def fitted(self, count: int, epoch: int, index: int) -> tuple[ShardedPlan, int]:
        return self.for_batches(count, index), index

    def placed(self, epoch: int, place: int, turn: int = 0) -> tuple[ShardedPlan, int]:
        return self, place

    def told(self, epoch: int, index: int) -> int:
        return index

    def whole(self) -> ShardedPlan:
        return ShardedPlan(self.size, self.seed, self.shuffle, order=self.order)

    def batch_of(self, epoch: int, place: int, count: int, across: bool) -> tuple[int, int]:
        units = -(-self.order.length(epoch) // self.order.unit)
        unit, shards = place // self.order.unit, self.num_shards
        shard = ((unit + 1) * shards - 1) // units  # the last whose first unit is not behind
        first = place - units * shard // shards * self.order.unit
        if self.fills or not across:
            return epoch, first
        moved = 0 if self.stick_to_shard else epoch
        own = self.of_process(shards, (shard - moved) % shards)
        before = sum(map(own.own_length, range(epoch)))
        first = (before + first) // count * count
        while first < before:
            epoch -= 1
            before -= own.own_length(epoch)
        return epoch, first - before

    def of_process(self, world: int, rank: int) -> ShardedPlan:
        return replace(self, num_shards=world, shard_id=rank, **self.fresh())

    def meta(self) -> dict[str, int]:
        size = self.order.length(0)
        padded = -(-size // self.num_shards) * self.num_shards
        return {
            "epoch_size": size,
            "epoch_size_padded": padded if self.pad else size,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": int(self.pad),
            "stick_to_shard": int(self.stick_to_shard),
        }

    def state(self, epoch: int) -> dict[str, Any]:
        found = self.order.state(epoch)
        return found if self.count is None else {**found, "batch": self.count}

    def restored(self, state: dict[str, Any]) -> ShardedPlan:
        if "bucket" in state and not self.bucketed and int(state["index"]):
            raise op.OperatorValueError(
                "the state belongs to a reader with buckets",
                argument="bucket",
                expected=str(state["bucket"]),
                got="None",
            )
        shared = state.get("sharding") == "interleaved" and self.num_shards > 1
        if shared and int(state["index"]):
            raise op.OperatorValueError(
                "the state counts the samples of all readers that share an epoch, step by step",
                argument="sharding",
                expected="'interleaved', as in the state",
                got="'contiguous'",
            )
        order = self.order.restored(state)
        count = state.get("batch")
        found = self if count is None else self.for_batches(int(count), 0)
        if order is self.order:
            return found
        order = order if count is None else order.for_batches(int(count))
        return replace(found, seed=int(state["seed"]), order=order, **found.fresh())

    def fresh(self) -> dict[str, Any]:
        """What is not kept for another order."""
        return {}
