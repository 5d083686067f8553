"""The plan of a process that shares each step of an epoch with others.

Step t of W trainers takes the next W x batch samples of the epoch's order, and trainer r the r-th
part of them. With N workers, worker w makes the batches of steps w, w + N and so on. So the samples
of all steps so far are a prefix of the epoch, and the state is one number, the same in all
processes: training goes on from there with any other numbers of trainers and workers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.order import kept
from gradiva.ops.readers.core.plan import PADDING, ShardedPlan
from gradiva.ops.readers.sampling.bucket_plan import BucketPlan

from .layouts import ALONE, Batches, Layout, Share, cut_layout, even_layout
from .shard_schedule import LastBatchPolicy, ShardSchedule

__all__ = ["InterleavedPlan", "interleaved", "of_reader"]


@dataclass(frozen=True)
class InterleavedPlan(ShardedPlan):
    """One share of the epochs of `common`, the plan of all processes together.

    policy: of the last step of an epoch. begin: an epoch that is read from a place on, where a
    state has left it, and the worker whose turn it is there; all others are read from their start.
    """

    common: ShardedPlan = None  # type: ignore[assignment]  # see `interleaved`
    share: Share = ALONE
    policy: LastBatchPolicy = LastBatchPolicy.PARTIAL
    begin: tuple[int, int, int] = (0, 0, 0)
    _kept: dict[int, Layout] = field(default_factory=dict, compare=False, repr=False)

    def _check_shards(self, length: int) -> None:
        """Raise OperatorValueError for fewer samples than trainers."""
        if length < self.num_shards:
            raise op.OperatorValueError(
                f"{self.num_shards} shards of {length} samples: there are more shards than "
                "samples, some would be empty",
                argument="num_shards",
            )

    @property
    def shares_steps(self) -> bool:
        return True

    @property
    def fills(self) -> bool:
        return False

    @property
    def bucketed(self) -> bool:
        return True

    @property
    def own_batches(self) -> bool:
        """Whether the reader decides how large batches are."""
        return self.common.bucketed

    @property
    def size_of_batches(self) -> int:
        return self.count or 1

    def schedule(self) -> ShardSchedule:
        """The arithmetic of its steps, where all batches are of one size."""
        share = self.share
        size = self.size_of_batches
        alike = share.global_batch is not None
        return ShardSchedule(size, share.world_size, self.policy, unit=self.order.unit, alike=alike)

    def layout(self, epoch: int) -> Layout:
        """The batches of this process in an epoch."""
        return kept(self._kept, epoch, lambda: self._laid_out(epoch))

    def _laid_out(self, epoch: int) -> Layout:
        length, share = self.order.length(epoch), self.share
        begin, turn = self.begin[1:] if epoch == self.begin[0] else (0, 0)
        if not self.own_batches:
            return even_layout(self.schedule(), share, turn, begin, length)
        return cut_layout(self._own_batches(epoch), share, turn, begin, length, self.policy)

    def _own_batches(self, epoch: int) -> Batches:
        common = self.common
        if isinstance(common, BucketPlan):
            return Batches(*common.batches_of(epoch))
        length, unit = self.order.length(epoch), common.order.unit
        ends = np.arange(unit, length, unit, dtype=np.int64)
        return Batches(np.append(ends, length), _alike)

    def batches_from(self, epoch: int, index: int) -> int:
        """The batches of this process from an index on."""
        layout = self.layout(epoch)
        return layout.batches - layout.step(index)

    def _steps_from(self, epoch: int, begin: int) -> int:
        """The steps of all trainers from a place on."""
        if not self.own_batches:
            return self.schedule().steps(self.order.length(epoch), begin)
        return self._own_batches(epoch).steps(self.share, begin, self.policy)

    def places(self, epoch: int, start: int, stop: int) -> tuple[op.Int64Array, op.Int64Array]:
        places, repeats = self.layout(epoch).taken(start, stop)
        if isinstance(self.common, BucketPlan):
            places = self.common.order_places(epoch, places)
        return places, repeats

    def positions(self, epoch: int, start: int, stop: int) -> op.Int64Array:
        places, repeats = self.places(epoch, start, stop)
        own = epoch * self.order.stride + places
        return np.where(repeats == 0, own, PADDING + (epoch << 32) + repeats)

    def numbers(self, positions: op.Int64Array, counted: dict[int, int]) -> op.Int64Array:
        repeats = positions >= PADDING
        if repeats.any():  # each counts as the last sample of its epoch
            epochs, stride = (positions - PADDING) >> 32, self.order.stride
            last = [epoch * stride + self.order.length(epoch) - 1 for epoch in epochs.tolist()]
            positions = np.where(repeats, np.array(last, np.int64), positions)
        return self.common.numbers(positions, counted)

    def own_length(self, epoch: int) -> int:
        return self.layout(epoch).own

    def length(self, epoch: int) -> int:
        return self.layout(epoch).samples

    def stop(self, epoch: int, start: int, count: int) -> int:
        return self.layout(epoch).stop(start)

    def batches(self, epoch: int, count: int) -> int:
        return self.layout(epoch).batches

    def begun_steps(self, epoch: int) -> int:
        """How many steps of all trainers come before the place where the epoch is read from."""
        if epoch != self.begin[0] or not self.begin[1]:
            return 0
        return self._steps_from(epoch, 0) - self._steps_from(epoch, self.begin[1])

    def steps(self, epoch: int, count: int) -> int:
        return self._steps_from(epoch, 0)

    def step_at(self, epoch: int, start: int, count: int) -> int:
        share, turn = self.share, self.begin[2] if epoch == self.begin[0] else 0
        own = self.layout(epoch).step(start) * share.workers
        return self.begun_steps(epoch) + (share.worker - turn) % share.workers + own

    def place(self, epoch: int, batches: int) -> int:
        """The state in an epoch after so many batches of this process: how many samples of all
        trainers come before its next step."""
        return self.layout(epoch).place(batches)

    def step_of(self, epoch: int, place: int) -> int | None:
        """The number, in the whole epoch, of the step that has a place of it; None where that is
        not known."""
        if self.own_batches:
            return None
        schedule, length = self.schedule(), self.order.length(epoch)
        step = min(place // schedule.global_batch, schedule.steps(length) - 1)
        while step and schedule.span(step, 0, length)[0] > place:
            step -= 1
        return step + (schedule.span(step, 0, length)[1] <= place)

    def batch_of(self, epoch: int, place: int, count: int, across: bool) -> tuple[int, int]:
        return epoch, -1

    def whole(self) -> ShardedPlan:
        return self.common.whole()

    def of_process(self, world: int, rank: int) -> InterleavedPlan:
        """That of another trainer, without workers."""
        share = Share(rank, world, 0, 1, self.share.global_batch)
        return interleaved(self.common, share, self.policy, self.count, self.begin[:2])

    def of_worker(self, workers: int, worker: int) -> InterleavedPlan:
        """That of a worker of this trainer."""
        share = self.share._replace(worker=worker, workers=workers)
        return interleaved(self.common, share, self.policy, self.count, self.begin[:2])

    def placed(self, epoch: int, place: int, turn: int = 0) -> tuple[InterleavedPlan, int]:
        return replace(self, begin=(epoch, place, turn), _kept={}), 0

    def told(self, epoch: int, index: int) -> int:
        return self.place(epoch, self.layout(epoch).step(index))

    def fitted(self, count: int, epoch: int, index: int) -> tuple[InterleavedPlan, int]:
        if count == self.count:
            return self, index
        place = self.place(epoch, self.layout(epoch).step(index))
        inside = 0 < place < self.order.length(epoch)
        common = self.common.for_batches(self.share.global_batch or count, place if inside else 0)
        share = self.share
        made = interleaved(common, share, self.policy, count, (epoch, place), share.worker)
        return made, 0

    def for_batches(self, count: int, start: int) -> InterleavedPlan:
        if count != self.count and start:
            raise op.OperatorValueError(
                "a loop goes on with batches as it was begun",
                argument="batch_size",
                expected=str(self.count),
                got=str(count),
            )
        return self.fitted(count, *self.begin[:2])[0] if count != self.count else self

    def meta(self) -> dict[str, int]:
        fills = int(self.policy is LastBatchPolicy.FILL)
        return {**super().meta(), "stick_to_shard": 1, "pad_last_batch": fills}

    def state(self, epoch: int) -> dict[str, Any]:
        return {**self.common.state(epoch), "sharding": "interleaved"}

    def restored(self, state: dict[str, Any]) -> InterleavedPlan:
        if state.get("sharding") != "interleaved" and int(state["index"]):
            raise op.OperatorValueError(
                "the state belongs to a reader whose shards lie one after the other, and counts "
                "the samples of one of them: finish its epoch with as many readers",
                argument="sharding",
                expected="'contiguous', as in the state",
                got="'interleaved'",
            )
        common = self.common.restored({**state, "sharding": None})
        count = self.count
        if "batch" in state and self.share.global_batch is None:
            count = int(state["batch"])
        return interleaved(common, self.share, self.policy, count)

    def fresh(self) -> dict[str, Any]:
        return {"_kept": {}}


def of_reader(plan: ShardedPlan, given: dict[str, Any], count: int | None) -> InterleavedPlan:
    """The plan of a reader that shares each step with others, from the one of its shard. given: its
    arguments; count: samples of a batch."""
    policy = LastBatchPolicy.FILL if given["pad_last_batch"] else LastBatchPolicy.PARTIAL
    return interleaved(whole_of(plan), Share(plan.shard_id, plan.num_shards), policy, count)


def whole_of(plan: ShardedPlan) -> ShardedPlan:
    """The plan of all shards together, in their batches."""
    return replace(plan.of_process(1, 0), pad=False)


def _alike(start: int, stop: int) -> float:
    """The cost of a sample, where all cost as much."""
    return 1.0


def interleaved(
    common: ShardedPlan,
    share: Share,
    policy: LastBatchPolicy,
    count: int | None = None,
    begin: tuple[int, int] = (0, 0),
    turn: int = 0,
) -> InterleavedPlan:
    """The share of a process in the epochs of a plan of one shard. count: samples of a batch."""
    if count is not None:
        inside = 0 < begin[1] < common.order.length(begin[0])
        common = common.for_batches(share.global_batch or count, begin[1] if inside else 0)
    return InterleavedPlan(
        common.size,
        common.seed,
        common.shuffle,
        share.world_size,
        share.rank,
        order=common.order,
        count=count,
        common=common,
        share=share,
        policy=policy,
        begin=(*begin, turn),
    )
