"""The plan of a shard that is read in buckets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.order import kept
from gradiva.ops.readers.core.plan import ShardedPlan

from .bucket import Bucket, steps_of
from .checks import Floats
from .draws import BATCHES, keys


class _Layout(NamedTuple):
    """An epoch of a shard. stops: where its batches end, in `places`; repeats: as of a plan; most:
    the batches of the shard that has the most."""

    places: op.Int64Array
    repeats: op.Int64Array
    stops: op.Int64Array
    most: int


@dataclass(frozen=True)
class BucketPlan(ShardedPlan):
    """One shard of an order, in batches of samples of about one size.

    All shards take a batch in each step, which cost about as much. Shards have equally many batches
    up to one, and with `pad` equally many. Positions are those without buckets.
    sizes: of each sample of the data set, and a digest, `held`; mixed: the order of the batches is
    random.
    """

    bucket: Bucket = field(default_factory=Bucket)
    sizes: Floats = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    mixed: bool = False
    held: str = ""
    _kept: dict[int, _Layout] = field(default_factory=dict, compare=False, repr=False)

    @property
    def fills(self) -> bool:
        return False

    @property
    def bucketed(self) -> bool:
        return True

    def _layout(self, epoch: int) -> _Layout:
        return kept(self._kept, epoch, lambda: self._made(epoch))

    def _made(self, epoch: int) -> _Layout:
        length, shards, own = self.order.length(epoch), self.num_shards, self.shard(epoch)
        self._check_shards(length)
        sizes = self.sizes[self.order.indices(epoch, np.arange(length, dtype=np.int64))]
        most = min(self.count or length, self.bucket.max_batch or length)
        windows = max(1, length // self.bucket.window)
        parts: list[op.Int64Array] = []
        left: list[op.Int64Array] = []
        turn = first = 0
        for window in range(windows):
            begin, end = length * window // windows, length * (window + 1) // windows
            order = begin + np.argsort(sizes[begin:end], kind="stable")
            batches = self.bucket.cut(sizes[order], most)
            steps, rest = steps_of(batches, sizes[order], shards)
            if self.mixed:
                chosen = keys(self.seed, epoch, BATCHES, first, len(steps))
                steps = [steps[place] for place in np.argsort(chosen, kind="stable").tolist()]
            first += len(steps)
            for step in steps:
                # Shards take turns at the larger samples of a step.
                start, stop = step[(own + turn) % shards]
                parts.append(order[start:stop])
                turn += 1
            left.append(order[rest])
        # What did not suffice for all shards: batches of one sample, at the end of the epoch.
        single = np.concatenate(left)
        most = len(parts) + -(-len(single) // shards)
        parts += [single[place : place + 1] for place in range(own, len(single), shards)]
        repeats = np.zeros(sum(map(len, parts)) + 1, np.int64)
        if self.pad and 0 < len(single) % shards <= own:
            parts.append(single[-1:])
            repeats[-1] = length + own
        stops = np.cumsum([len(part) for part in parts], dtype=np.int64)
        places = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
        repeats = repeats[-len(places) :] if repeats[-1] else repeats[: len(places)]
        return _Layout(places, repeats, stops, most)

    def batches_of(self, epoch: int) -> tuple[op.Int64Array, Callable[[int, int], float]]:
        """Where the batches of an epoch end; and the largest size of a sample between two of its
        places."""
        layout, order, sizes = self._layout(epoch), self.order, self.sizes

        def largest(start: int, stop: int) -> float:
            return float(sizes[order.indices(epoch, layout.places[start:stop])].max())

        return layout.stops, largest

    def order_places(self, epoch: int, places: op.Int64Array) -> op.Int64Array:
        """Places of the epoch without buckets, by those in buckets."""
        found: op.Int64Array = self._layout(epoch).places[places]
        return found

    def own_length(self, epoch: int) -> int:
        return int(np.count_nonzero(self._layout(epoch).repeats == 0))

    def length(self, epoch: int) -> int:
        return len(self._layout(epoch).places)

    def batches(self, epoch: int, count: int) -> int:
        return len(self._layout(epoch).stops)

    def steps(self, epoch: int, count: int) -> int:
        return self._layout(epoch).most

    def step_at(self, epoch: int, start: int, count: int) -> int:
        return int(np.searchsorted(self._layout(epoch).stops, start, side="right"))

    def batch_of(self, epoch: int, place: int, count: int, across: bool) -> tuple[int, int]:
        return epoch, -1

    def places(self, epoch: int, start: int, stop: int) -> tuple[op.Int64Array, op.Int64Array]:
        layout = self._layout(epoch)
        return layout.places[start:stop], layout.repeats[start:stop]

    def stop(self, epoch: int, start: int, count: int) -> int:
        stops = self._layout(epoch).stops
        return int(stops[np.searchsorted(stops, start, side="right")])

    def for_batches(self, count: int, start: int) -> BucketPlan:
        if count == self.count:
            return self
        found = self.in_batches(count, start, _kept={})
        assert isinstance(found, BucketPlan)
        return found

    def fresh(self) -> dict[str, Any]:
        return {"_kept": {}}

    def state(self, epoch: int) -> dict[str, Any]:
        said = {"bucket": self.bucket.description, "sizes": self.held}
        return {**super().state(epoch), **said}

    def restored(self, state: dict[str, Any]) -> BucketPlan:
        said = state.get("bucket")
        if said != self.bucket.description and (said is not None or int(state["index"])):
            raise op.OperatorValueError(
                "the state belongs to a reader with other buckets",
                argument="bucket",
                expected=str(said),
                got=self.bucket.description,
            )
        if said is not None and state["sizes"] != self.held and int(state["index"]):
            raise op.OperatorValueError(
                "the state belongs to data whose samples had other sizes", argument="bucket"
            )
        found = super().restored(state)
        assert isinstance(found, BucketPlan)
        return found
