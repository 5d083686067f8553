"""Plans: which sample of a data set stands at which place of an epoch.

A plan is a pure function of seed and epoch: it knows no place (that is `Cursor`), no files and no
batch size. The order of an epoch is one permutation of the whole data set, taken before sharding,
so it does not depend on batch size, threads or shards.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox

__all__ = ["Plan", "ShardedPlan", "permutation"]

_PADDING = 1 << 62
"""Repeats that fill a last batch get positions above this one, so no two samples share one."""


class Plan(Protocol):
    """Epochs of samples. `start` and `stop` are places in an epoch, as in `range`.

    fills: the last batch of an epoch is filled up, so `stop` may lie beyond the epoch's length.
    """

    @property
    def fills(self) -> bool: ...

    def length(self, epoch: int) -> int:
        """Samples in an epoch."""

    def own_length(self, epoch: int) -> int:
        """Samples in an epoch without the repeats that pad it."""

    def indices(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        """Which samples of the data set stand there."""

    def positions(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        """Their places in the endless stream of all epochs; no two samples share one."""

    def whole(self) -> Plan:
        """The plan of all shards together, without padding."""

    def of_process(self, world: int, rank: int) -> Plan:
        """That of one of so many processes that read the same data."""

    def meta(self) -> dict[str, int]:
        """Sizes of the epoch and its shards."""

    def state(self) -> dict[str, int]:
        """What the plan is a function of, as plain data."""

    def restored(self, state: dict[str, Any]) -> Plan:
        """The plan that had this state. Raises OperatorValueError if the data were others."""


@op.jit
def _sort_keys(seed: Any, epoch: Any, keys: Any) -> None:
    for index in range(keys.size):
        a, b, _, _ = philox(
            np.uint32(index), np.uint32(0xFFFFFFFF), np.uint64(epoch), np.uint64(seed)
        )
        keys[index] = (np.uint64(a) << np.uint64(32)) | np.uint64(b)


def permutation(seed: int, epoch: int, size: int) -> op.Int64Array:
    """The order of an epoch: indices sorted by Philox keys (ties keep their order)."""
    keys = np.empty(size, np.uint64)
    _sort_keys(np.uint64(seed), np.uint64(epoch), keys)
    return np.argsort(keys, kind="stable").astype(np.int64)


@dataclass(frozen=True)
class ShardedPlan:
    """One shard of a data set, in its order or shuffled.

    size: samples in the data set; shuffle: permute each epoch; stick_to_shard: keep to one shard,
    instead of moving to the next one each epoch; pad: repeat the last sample so that all shards
    have epochs of one length and all batches are full.
    """

    size: int
    seed: int
    shuffle: bool = False
    num_shards: int = 1
    shard_id: int = 0
    stick_to_shard: bool = False
    pad: bool = False
    _kept: dict[int, op.Int64Array] = field(default_factory=dict, compare=False, repr=False)
    """The permutations of the epochs that were asked for last: two, where an epoch ends."""

    def __post_init__(self) -> None:
        if self.num_shards < 1:
            raise op.OperatorValueError(
                argument="num_shards", expected="at least 1", got=str(self.num_shards)
            )
        if not 0 <= self.shard_id < self.num_shards:
            raise op.OperatorValueError(
                argument="shard_id",
                expected=f"from 0 to num_shards - 1 = {self.num_shards - 1}",
                got=str(self.shard_id),
            )
        if self.size < self.num_shards:
            raise op.OperatorValueError(
                f"{self.num_shards} shards of {self.size} samples: there are more shards than "
                "samples, some would be empty",
                argument="num_shards",
            )

    @property
    def fills(self) -> bool:
        return self.pad

    def shard(self, epoch: int) -> int:
        """The shard that is read in an epoch."""
        moved = 0 if self.stick_to_shard else epoch
        return (self.shard_id + moved) % self.num_shards

    def bounds(self, epoch: int) -> tuple[int, int]:
        """First and last + 1 index, in the epoch's order, of the shard."""
        shard = self.shard(epoch)
        return (self.size * shard // self.num_shards, self.size * (shard + 1) // self.num_shards)

    def own_length(self, epoch: int) -> int:
        begin, end = self.bounds(epoch)
        return end - begin

    def length(self, epoch: int) -> int:
        """The same for all shards if padded."""
        return -(-self.size // self.num_shards) if self.pad else self.own_length(epoch)

    def _permutation(self, epoch: int) -> op.Int64Array:
        found = self._kept.get(epoch)
        if found is None:
            found = permutation(self.seed, epoch, self.size)
            if len(self._kept) > 1:
                self._kept.clear()
            self._kept[epoch] = found
        return found

    def indices(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        begin, end = self.bounds(epoch)
        places = np.minimum(np.arange(begin + start, begin + stop, dtype=np.int64), end - 1)
        return self._permutation(epoch)[places] if self.shuffle else places

    def positions(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        """Epoch x size + index in the epoch's order."""
        begin, end = self.bounds(epoch)
        places = np.arange(begin + start, begin + stop, dtype=np.int64)
        turn = epoch * self.num_shards + self.shard(epoch)
        repeats = _PADDING + (turn << 32) + places
        return np.where(places < end, epoch * self.size + places, repeats)

    def whole(self) -> ShardedPlan:
        return replace(self, num_shards=1, shard_id=0, pad=False, _kept={})

    def of_process(self, world: int, rank: int) -> ShardedPlan:
        return replace(self, num_shards=world, shard_id=rank, _kept={})

    def meta(self) -> dict[str, int]:
        padded = -(-self.size // self.num_shards) * self.num_shards
        return {
            "epoch_size": self.size,
            "epoch_size_padded": padded if self.pad else self.size,
            "number_of_shards": self.num_shards,
            "shard_id": self.shard_id,
            "pad_last_batch": int(self.pad),
            "stick_to_shard": int(self.stick_to_shard),
        }

    def state(self) -> dict[str, int]:
        return {"size": self.size, "seed": self.seed}

    def restored(self, state: dict[str, Any]) -> ShardedPlan:
        size, seed = int(state["size"]), int(state["seed"])
        if size != self.size:
            raise op.OperatorValueError(
                "the state belongs to other data",
                expected=f"a data set of {self.size} samples",
                got=f"one of {size}",
            )
        return self if seed == self.seed else replace(self, seed=seed, _kept={})
