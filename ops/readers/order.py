"""The endless stream of a reader: which sample stands at which position.

Position = epoch x size + index in the epoch's order. The order of an epoch is one permutation of
the whole data set, a function of (seed, epoch), taken before sharding, so it does not depend on
batch size, threads or shards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox

_PADDING = 1 << 62
"""Repeats that fill a last batch get positions above this one, so no two samples share one."""


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


@dataclass
class Order:
    """Walks over the stream. The public fields are fixed; `epoch` and `index` are the place.

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
    epoch: int = 0
    index: int = 0

    def __post_init__(self) -> None:
        if self.num_shards < 1:
            raise op.wrong_value("num_shards", "at least 1", self.num_shards)
        if not 0 <= self.shard_id < self.num_shards:
            raise op.wrong_value(
                "shard_id", f"from 0 to num_shards - 1 = {self.num_shards - 1}", self.shard_id
            )
        if self.size < self.num_shards:
            raise op.OperatorValueError(
                f"{self.num_shards} shards of {self.size} samples: there are more shards than "
                "samples, some would be empty",
                argument="num_shards",
            )
        self._order: tuple[int, op.Int64Array] | None = None

    @property
    def shard(self) -> int:
        """The shard that is read in the current epoch."""
        moved = 0 if self.stick_to_shard else self.epoch
        return (self.shard_id + moved) % self.num_shards

    @property
    def bounds(self) -> tuple[int, int]:
        """First and last + 1 index, in the epoch's order, of the current shard."""
        return (
            self.size * self.shard // self.num_shards,
            self.size * (self.shard + 1) // self.num_shards,
        )

    @property
    def length(self) -> int:
        """Samples in the current epoch of this shard; the same for all shards if padded."""
        begin, end = self.bounds
        return -(-self.size // self.num_shards) if self.pad else end - begin

    def _permutation(self) -> op.Int64Array:
        if self._order is None or self._order[0] != self.epoch:
            self._order = (self.epoch, permutation(self.seed, self.epoch, self.size))
        return self._order[1]

    def _take(self, count: int) -> tuple[op.Int64Array, op.Int64Array]:
        begin, end = self.bounds
        places = np.arange(begin + self.index, begin + self.index + count, dtype=np.int64)
        self.index += count
        positions = self.epoch * self.size + places
        over = places >= end
        if over.any():
            turn = self.epoch * self.num_shards + self.shard
            positions[over] = _PADDING + (turn << 32) + places[over]
            places[over] = end - 1
        samples = self._permutation()[places] if self.shuffle else places
        return samples, positions

    def skip_epoch(self) -> None:
        """Go to the start of the next epoch."""
        self.epoch += 1
        self.index = 0

    def take(self, count: int) -> tuple[op.Int64Array, op.Int64Array]:
        """Sample numbers and positions of the next `count` samples, across epochs."""
        parts = []
        while count:
            left = self.length - self.index
            if left <= 0:
                self.skip_epoch()
                continue
            # A padded epoch ends with a full batch.
            part = count if self.pad and left < count else min(left, count)
            parts.append(self._take(part))
            count -= part
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        samples, positions = zip(*parts, strict=True)
        return np.concatenate(samples), np.concatenate(positions)

    def take_in_epoch(self, count: int) -> tuple[op.Int64Array, op.Int64Array]:
        """Like `take`, but not past the end of the epoch; StopIteration when it is reached."""
        left = self.length - self.index
        if left <= 0:
            self.skip_epoch()
            raise StopIteration
        return self._take(count if self.pad else min(left, count))

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

    def get_state(self) -> dict[str, int]:
        return {"epoch": self.epoch, "index": self.index, "size": self.size, "seed": self.seed}

    def set_state(self, state: dict[str, Any]) -> None:
        try:
            epoch, index, size, seed = (int(state[k]) for k in ("epoch", "index", "size", "seed"))
            if epoch < 0 or index < 0:
                raise ValueError("negative")
        except (KeyError, TypeError, ValueError) as error:
            raise op.OperatorValueError(
                f"this is not the state of a reader: {state!r} ({error})"
            ) from None
        if size != self.size:
            raise op.OperatorValueError(
                "the state belongs to other data",
                expected=f"a data set of {self.size} samples",
                got=f"one of {size}",
            )
        if seed != self.seed:
            self._order = None
        self.epoch, self.index, self.seed = epoch, index, seed
