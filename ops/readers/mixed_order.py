"""The order of a mixture: at each place one of several orders goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.schedules.schedule import Schedule
from gradiva.ops.readers.core.order import Order, kept, seed_of
from gradiva.ops.readers.sampling.checks import Floats
from gradiva.ops.readers.sampling.draws import SOURCES, uniforms
from gradiva.ops.readers.sampling.sampled_order import MOST_SAMPLES

_FAR = 1 << 32
"""Between the positions of epochs, whose length may differ."""
_AGAIN = 1 << 20
"""Between the epochs of a reader that is read several times in one epoch of the mixture."""


@dataclass(frozen=True)
class MixedOrder:
    """Orders whose data sets lie one after the other in one of `size` samples.

    weights: with what probability each goes on; they sum up to 1, or are those that a schedule has
    for each epoch. stop: an epoch ends where the
    "first" of them has ended, or "all" have; else it has so many samples, and each order goes on
    where the epoch before has left it. count: of batches that come from one order each; None where
    each place is drawn by itself.
    """

    orders: tuple[Order, ...]
    sizes: tuple[int, ...]
    seed: int
    weights: tuple[float, ...] | Schedule
    stop: str | int
    per_batch: bool = False
    count: int | None = None
    _kept: dict[int, op.Int64Array] = field(default_factory=dict, compare=False, repr=False)
    _begins: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """Epoch and place of each order, at the beginning of an epoch of the mixture."""

    @property
    def size(self) -> int:
        """Samples in all data sets together."""
        return sum(self.sizes)

    @property
    def stride(self) -> int:
        return _FAR

    @property
    def unit(self) -> int:
        return self.count or 1

    @property
    def grouped(self) -> bool:
        return self.per_batch

    @property
    def uneven(self) -> bool:
        return not isinstance(self.stop, int)

    def shares(self, epoch: int) -> tuple[float, ...]:
        """The weights of an epoch. Raises OperatorValueError for those of a schedule that are
        none."""
        if not isinstance(self.weights, Schedule):
            return self.weights
        found = self.weights.at(epoch)
        if len(found) != len(self.orders) or min(found) < 0 or not any(found):
            expected = "numbers from 0 on for each reader, one of them above 0"
            raise op.wrong_value("weights", expected, f"{found} in epoch {epoch}")
        return normalized(found)

    def length(self, epoch: int) -> int:
        return self.stop if isinstance(self.stop, int) else len(self._epoch(epoch))

    def indices(self, epoch: int, places: op.Int64Array) -> op.Int64Array:
        return self._epoch(epoch)[places]

    def for_batches(self, count: int) -> MixedOrder:
        if not self.per_batch or count == self.count:
            return self
        return replace(self, count=count, _kept={}, _begins={})

    def _epoch(self, epoch: int) -> op.Int64Array:
        return kept(self._kept, epoch, lambda: self._made(epoch))

    def _made(self, epoch: int) -> op.Int64Array:
        if isinstance(self.stop, int):
            drawn, begins, step = self._draw(epoch, self.stop), self._begin(epoch), 1
        else:
            drawn, step = self._drawn_to_the_end(epoch), _AGAIN
            begins = [(epoch, 0)] * len(self.orders)
        found = np.empty(len(drawn), np.int64)
        first = 0
        for number, order in enumerate(self.orders):
            places = np.flatnonzero(drawn == number)
            found[places] = first + _stream(order, *begins[number], len(places), step)
            first += self.sizes[number]
        return found

    def _draw(self, epoch: int, length: int) -> np.ndarray[Any, Any]:
        """Which order goes on at each place."""
        group = max(1, min(self.unit, length))
        return np.repeat(self._draw_groups(epoch, -(-length // group)), group)[:length]

    def _draw_groups(self, epoch: int, groups: int) -> np.ndarray[Any, Any]:
        """Which order goes on in each batch, or at each place."""
        weights = self.shares(epoch)
        sums = np.cumsum(weights)
        chosen = uniforms(self.seed, epoch, SOURCES, 0, groups) * sums[-1]
        found: np.ndarray[Any, Any] = np.searchsorted(sums, chosen, side="right")
        return found.clip(max=np.flatnonzero(weights)[-1])

    def _drawn_to_the_end(self, epoch: int) -> np.ndarray[Any, Any]:
        """As `_draw`, as far as the epoch goes."""
        weights = self.shares(epoch)
        lengths = {
            number: order.length(epoch)
            for number, order in enumerate(self.orders)
            if weights[number]
        }
        expected = [length / weights[number] for number, length in lengths.items()]
        last = min if self.stop == "first" else max
        if last(expected) > MOST_SAMPLES:
            raise op.wrong_value(
                "weights",
                f"an epoch of at most {MOST_SAMPLES} samples",
                f"about {last(expected):.3g}, until readers that are seldom drawn have ended",
            )
        group = self.unit
        groups = int(last(expected) * 1.1) // group + 100
        while True:
            drawn = self._draw_groups(epoch, groups)
            end = last(
                _end(np.flatnonzero(drawn == number), length, group) or groups * group + 1
                for number, length in lengths.items()
            )
            if end > 2 * MOST_SAMPLES:
                raise op.wrong_value(
                    "batch_size", f"an epoch of at most {MOST_SAMPLES} samples", self.count
                )
            if end <= groups * group:
                return np.repeat(drawn[: -(-end // group)], min(group, end))[:end]
            groups *= 2

    def _begin(self, epoch: int) -> list[tuple[int, int]]:
        found = self._begins.get(epoch)
        if found is not None:
            return found
        assert isinstance(self.stop, int)
        known = max((one for one in self._begins if one < epoch), default=0)
        begins = self._begins.get(known) or [(0, 0)] * len(self.orders)
        for passed in range(known, epoch):
            counts = np.bincount(self._draw(passed, self.stop), minlength=len(self.orders))
            begins = [
                _after(order, *begin, int(count))
                for order, begin, count in zip(self.orders, begins, counts, strict=True)
            ]
        self._begins[epoch] = begins
        return begins

    @property
    def description(self) -> str:
        """What the mixture is, without its readers."""
        per = "batch" if self.per_batch else "sample"
        if isinstance(self.weights, Schedule):
            weights = self.weights.rule.fingerprint
        else:
            weights = f"[{', '.join(float(weight).hex() for weight in self.weights)}]"
        return f"mix(weights={weights}, stop={self.stop!r}, per={per!r})"

    def state(self, epoch: int) -> dict[str, Any]:
        places = [(epoch, 0)] * len(self.orders)
        if isinstance(self.stop, int):
            places = self._begin(epoch)
        return {
            "size": self.size,
            "seed": self.seed,
            "mix": self.description,
            "readers": [
                {"epoch": first, "place": place, **order.state(first)}
                for order, (first, place) in zip(self.orders, places, strict=True)
            ],
        }

    def restored(self, state: dict[str, Any]) -> MixedOrder:
        seed, said = seed_of(state, self.size), state.get("mix")
        if said != self.description or len(state["readers"]) != len(self.orders):
            raise op.OperatorValueError(
                "the state belongs to another mixture", expected=str(said), got=self.description
            )
        orders = tuple(
            order.restored(own) for order, own in zip(self.orders, state["readers"], strict=True)
        )
        begins = {}
        if isinstance(self.stop, int):
            places = [(int(own["epoch"]), int(own["place"])) for own in state["readers"]]
            if min(min(pair) for pair in places) < 0:
                raise ValueError("negative")
            begins = {int(state["epoch"]): places}
        return replace(self, orders=orders, seed=seed, _kept={}, _begins=begins)


def _end(groups: op.Int64Array, length: int, group: int) -> int | None:
    """The place behind so many samples that stand in these groups, if these are enough."""
    passed = (length - 1) // group
    if passed >= len(groups):
        return None
    return int(groups[passed]) * group + length - passed * group


def _stream(order: Order, epoch: int, place: int, count: int, step: int) -> op.Int64Array:
    """The next samples of an order from a place on, and then of later epochs."""
    parts = [np.empty(0, np.int64)]
    while count:
        stop = min(order.length(epoch), place + count)
        parts.append(order.indices(epoch, np.arange(place, stop, dtype=np.int64)))
        count -= stop - place
        epoch, place = epoch + step, 0
    return np.concatenate(parts)


def _after(order: Order, epoch: int, place: int, count: int) -> tuple[int, int]:
    """Where an order is after so many samples."""
    while place + count >= order.length(epoch):
        count -= order.length(epoch) - place
        epoch, place = epoch + 1, 0
    return epoch, place + count


def normalized(weights: Sequence[float] | Floats) -> tuple[float, ...]:
    """Weights that sum up to 1."""
    given = np.asarray(weights, np.float64)
    given = given / given.max()
    return tuple((given / given.sum()).tolist())
