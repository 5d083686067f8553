"""Orders: the samples of whole epochs, before they are dealt to shards.

Without a sampler that is the data set, or one permutation of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import philox
from gradiva.eager.types.arrays import I64Vector, U64Vector

T = TypeVar("T")


class Order(Protocol):
    """The samples of whole epochs, before they are dealt to shards.

    stride: how far the positions of two epochs lie apart; unit: shards are cut between groups of so
    many samples; grouped: each group is a batch;
    uneven: epochs differ in length.
    """

    @property
    def stride(self) -> int: ...

    @property
    def unit(self) -> int: ...

    @property
    def grouped(self) -> bool: ...

    @property
    def uneven(self) -> bool: ...

    def length(self, epoch: int) -> int:
        """Samples in an epoch."""

    def indices(self, epoch: int, places: op.Int64Array) -> op.Int64Array:
        """Which samples of the data set stand at these places of an epoch."""

    def for_batches(self, count: int) -> Order:
        """The order for batches of so many samples."""

    def state(self, epoch: int) -> dict[str, Any]:
        """As of a plan."""

    def restored(self, state: dict[str, Any]) -> Order:
        """As of a plan."""


@op.jit
def _sort_keys(seed: np.uint64, epoch: np.uint64, keys: U64Vector) -> None:
    """Fill `keys` with random words of 64 bits, one for each sample."""
    for index in range(keys.size):
        a, b, _, _ = philox(
            np.uint32(index), np.uint32(0xFFFFFFFF), np.uint64(epoch), np.uint64(seed)
        )
        keys[index] = (np.uint64(a) << np.uint64(32)) | np.uint64(b)


_MANY: Final = 1 << 18
"""Samples whose keys are worth sorting by parts: it takes a third of the time."""
_TOGETHER: Final = 32
"""Samples of a part, about."""


@op.jit
def _sorted_by(
    keys: U64Vector, shift: np.uint64, stops: I64Vector, found: U64Vector, order: I64Vector
) -> None:
    """Fill `order` with the indices of the keys, sorted. The keys are random: their first bits
    divide them into parts of about one size, which are sorted by insertion. stops: zeros, one for
    each part and one more; found: space for the sorted keys."""
    for index in range(keys.size):
        stops[(keys[index] >> shift) + np.uint64(1)] += 1
    for part in range(1, stops.size):
        stops[part] += stops[part - 1]
    for index in range(keys.size):
        key = keys[index]
        first = key >> shift
        place = stops[first]
        stops[first] = place + 1
        found[place], order[place] = key, index
    begin = 0
    for part in range(stops.size - 1):
        for place in range(begin + 1, stops[part]):
            key, number, hole = found[place], order[place], place
            while hole > begin and found[hole - 1] > key:
                found[hole], order[hole] = found[hole - 1], order[hole - 1]
                hole -= 1
            found[hole], order[hole] = key, number
        begin = stops[part]


def permutation(seed: int, epoch: int, size: int) -> op.Int64Array:
    """The order of an epoch: indices sorted by Philox keys (ties keep their order)."""
    keys = np.empty(size, np.uint64)
    _sort_keys(np.uint64(seed), np.uint64(epoch), keys)
    if size < _MANY:
        return np.argsort(keys, kind="stable").astype(np.int64)
    bits = (size // _TOGETHER).bit_length()
    stops, order = np.zeros((1 << bits) + 1, np.int64), np.empty(size, np.int64)
    _sorted_by(keys, np.uint64(64 - bits), stops, np.empty_like(keys), order)
    return order


@dataclass(frozen=True)
class Shuffled:
    """Each sample once, permuted in each epoch or not."""

    size: int
    seed: int
    shuffle: bool = False
    _kept: dict[int, op.Int64Array] = field(default_factory=dict, compare=False, repr=False)
    """The permutations of the epochs that were asked for last: two, where an epoch ends."""

    @property
    def stride(self) -> int:
        return self.size

    @property
    def unit(self) -> int:
        return 1

    @property
    def grouped(self) -> bool:
        return False

    @property
    def uneven(self) -> bool:
        return False

    def length(self, epoch: int) -> int:
        return self.size

    def indices(self, epoch: int, places: op.Int64Array) -> op.Int64Array:
        if not self.shuffle:
            return places
        return kept(self._kept, epoch, lambda: permutation(self.seed, epoch, self.size))[places]

    def for_batches(self, count: int) -> Shuffled:
        return self

    def state(self, epoch: int) -> dict[str, Any]:
        return {"size": self.size, "seed": self.seed}

    def restored(self, state: dict[str, Any]) -> Shuffled:
        if "sampler" in state:
            raise op.OperatorValueError(
                "the state belongs to a reader with a sampler",
                argument="sampler",
                expected=str(state["sampler"]),
                got="None",
            )
        seed = seed_of(state, self.size)
        return self if seed == self.seed else replace(self, seed=seed, _kept={})


def kept(found: dict[int, T], epoch: int, make: Callable[[], T]) -> T:
    """What was made for an epoch, of which the last two are kept: both, where one ends."""
    made = found.get(epoch)
    if made is None:
        made = make()
        if len(found) > 1:
            found.clear()
        found[epoch] = made
    return made


def seed_of(state: dict[str, Any], size: int) -> int:
    """The seed in a state. Raises OperatorValueError for that of a data set of another size."""
    found, seed = int(state["size"]), int(state["seed"])
    if found != size:
        raise op.OperatorValueError(
            "the state belongs to other data",
            expected=f"a data set of {size} samples",
            got=f"one of {found}",
        )
    if not 0 <= seed < 1 << 64:
        raise op.OperatorValueError(
            "the state has no seed", expected="an unsigned integer of 64 bits", got=seed
        )
    return seed
