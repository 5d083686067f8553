"""Processes that share each step of an epoch: each sample once, whoever goes on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradiva
from gradiva.ops.readers.core.cursor import Cursor
from gradiva.ops.readers.core.plan import PADDING, ShardedPlan
from gradiva.ops.readers.sampling.bucket import Bucket
from gradiva.ops.readers.sampling.sampling_arguments import buckets_of
from gradiva.ops.readers.sharding.interleaved import InterleavedPlan, interleaved
from gradiva.ops.readers.sharding.layouts import Share
from gradiva.ops.readers.sharding.shard_schedule import LastBatchPolicy
from tests.tiers import is_quick

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL
SIZE = 97


def plain() -> ShardedPlan:
    return ShardedPlan(SIZE, 5, True)


def bucketed() -> ShardedPlan:
    sizes = np.random.default_rng(1).integers(1, 50, SIZE).astype(np.float64)
    return buckets_of(Bucket(sizes, max_tokens=120, window=40), plain(), lambda key: None)


def reader(**arguments: Any) -> Any:
    return gradiva.readers.File(files=[__file__] * SIZE, seed=3, **arguments)


def plan_of(made: Any) -> ShardedPlan:
    found = made._source._cursor.plan
    assert isinstance(found, ShardedPlan)
    return found


def pairs() -> ShardedPlan:
    labels = [number // 4 for number in range(SIZE)]
    return plan_of(reader(labels=labels, sampler=gradiva.samplers.PK(2, 3)))


def weighted() -> ShardedPlan:
    weights = np.arange(SIZE) % 5
    return plan_of(reader(random_shuffle=True, sampler="weighted", weights=weights))


def uneven() -> ShardedPlan:
    def some(epoch: int, rng: np.random.Generator) -> Any:
        return rng.permutation(SIZE)[: 60 + 7 * epoch]

    return plan_of(reader(sampler=some))


def mixture(**arguments: Any) -> ShardedPlan:
    parts = [reader(random_shuffle=True), reader()]
    return plan_of(gradiva.readers.Mix(readers=parts, weights=[0.7, 0.3], seed=1, **arguments))


PLANS: dict[str, Callable[[], ShardedPlan]] = {
    "plain": plain,
    "buckets": bucketed,
    "pairs": pairs,
    "weighted": weighted,
    "uneven": uneven,
    "mix": lambda: mixture(stop="all"),
    "mixed batches": lambda: mixture(stop=80, per="batch"),
}
DECIDING = {"buckets", "mixed batches"}
"""They decide how large batches are, so that an epoch goes on with the same."""


class Fleet(NamedTuple):
    """Trainers with workers. size: of a batch; alike: of a step of all trainers."""

    world: int
    workers: int
    size: int
    alike: int | None = None

    def plans(
        self, common: ShardedPlan, policy: LastBatchPolicy, begin: tuple[int, int]
    ) -> list[list[InterleavedPlan]]:
        return [
            [
                interleaved(
                    common,
                    Share(rank, self.world, worker, self.workers, self.alike),
                    policy,
                    self.size,
                    begin,
                )
                for worker in range(self.workers)
            ]
            for rank in range(self.world)
        ]

    def run(
        self,
        common: ShardedPlan,
        policy: LastBatchPolicy,
        begin: tuple[int, int],
        most: int | None = None,
    ) -> tuple[list[list[int]], tuple[int, int]]:
        """The positions of each step of the rest of an epoch, at most so many; and the state."""
        plans = self.plans(common, policy, begin)
        cursors = [[Cursor(plan, *begin[:1]) for plan in of_trainer] for of_trainer in plans]
        left = sum(plan.batches(begin[0], self.size) for plan in plans[0])
        assert [sum(plan.batches(begin[0], self.size) for plan in one) for one in plans] == (
            [left] * self.world
        )
        steps: list[list[int]] = []
        state = begin
        for step in range(left if most is None else min(most, left)):
            found: list[int] = []
            for trainer in cursors:
                cursor = trainer[step % self.workers]
                assert cursor.plan.step_at(cursor.epoch, cursor.index, self.size) == (
                    plans[0][0].begun_steps(begin[0]) + step
                )
                found += cursor.take_in_epoch(self.size)[1].tolist()
            steps.append(found)
        places = {min(_told(cursor) for cursor in trainer) for trainer in cursors}
        assert len(places) == 1, "the state is the same on all ranks"
        state = places.pop()
        return steps, state


def _told(cursor: Cursor) -> tuple[int, int]:
    found: dict[str, Any] = cursor.get_state()
    assert found["sharding"] == "interleaved"
    return found["epoch"], found["index"]


def wanted(common: ShardedPlan, epoch: int) -> Counter[int]:
    plan = ShardedPlan(common.size, common.seed, order=common.order)
    return Counter(plan.positions(epoch, 0, plan.length(epoch)).tolist())


def flat(steps: list[list[int]]) -> list[int]:
    return [position for step in steps for position in step if position < PADDING]


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 30))]
)
def test_random_changes(name: str, seed: int) -> None:
    """Trainers and workers come and go in the middle of epochs: each sample of each epoch once,
    and the same samples up to each state as without changes."""
    drawn = random.Random(f"{name} {seed}")
    policy = drawn.choice([FILL, PARTIAL])
    common, begin = PLANS[name](), (0, 0)
    count = drawn.choice([2, 6, 12])
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for _ in range(100):
        if name not in DECIDING and begin[1]:
            count = drawn.choice([1, 2, 3, 6])
        fleet = Fleet(drawn.randint(1, 8), drawn.choice([1, 2, 3]), count)
        steps, state = fleet.run(common.for_batches(count, 0), policy, begin, drawn.randint(0, 4))
        seen[begin[0]] += flat(steps)
        length = common.order.length(begin[0]) if name != "mixed batches" else 80
        if state[1] >= length:
            state = begin[0] + 1, 0
        begin = state
        if begin[0] == 3:
            break
    whole = common.for_batches(count, 0)
    for epoch in range(begin[0]):
        assert Counter(seen[epoch]) == wanted(whole, epoch)


FEW = [name if name == "plain" else pytest.param(name, marks=pytest.mark.full) for name in PLANS]


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("policy", LastBatchPolicy)
def test_equal_steps_of_one_global_batch(name: str, policy: LastBatchPolicy) -> None:
    """Bit by bit for all divisors, with any number of workers, and where a state is continued."""
    common = PLANS[name]()
    expected: list[list[int]] | None = None
    for world in (1, 2, 3, 4, 8):
        for workers in (1, 3):
            fleet = Fleet(world, workers, 24 // world, 24)
            steps, _ = fleet.run(common, policy, (1, 0))
            expected = steps if expected is None else expected
            if name == "buckets" and policy is FILL:  # there, as many repeats as empty batches
                assert [flat([one]) for one in steps] == [flat([one]) for one in expected]
            else:
                assert steps == expected
            taken = world % (len(steps) + 1)
            begun, state = fleet.run(common, policy, (1, 0), taken)
            rest, _ = Fleet(24 // world, 2, world, 24).run(common, policy, state)
            assert [flat([one]) for one in begun + rest] == [flat([one]) for one in expected]


def test_no_batch_is_empty() -> None:
    """Unless fewer samples than trainers are left, or batches are of one sample."""
    for size in range(9, 80, 9 if is_quick() else 1):
        common = ShardedPlan(size, 5, True)
        for world in range(1, 9):
            for count in (2, 3, 5):
                for plans in Fleet(world, 1, count).plans(common, PARTIAL, (0, 0)):
                    layout = plans[0].layout(0)
                    sizes = np.diff([0, *layout.stops.tolist()])
                    assert (layout.places >= 0).all()
                    assert (sizes <= count).all()
                    assert layout.regular + len(sizes) == -(-size // (world * count))


def test_empty_batches_are_batches() -> None:
    """All trainers have equally many steps, also for two samples."""
    plans = Fleet(3, 1, 4).plans(ShardedPlan(20, 5), PARTIAL, (0, 18))
    taken = [Cursor(plan, 0).take_in_epoch(4)[0].tolist() for (plan,) in plans]
    assert taken == [[], [18], [19]]


def test_walking_ahead() -> None:
    """As a reader does that fetches what comes."""
    (plan,) = Fleet(4, 1, 3).plans(plain(), PARTIAL, (0, 0))[1]
    cursor = Cursor(plan)
    coming = cursor.coming(40)
    found: list[int] = []
    while len(found) < 40:
        found += cursor.take(3)[0].tolist()
    assert coming.tolist() == found[:40]


def test_no_batch_at_all() -> None:
    (plan,) = Fleet(3, 1, 50).plans(plain(), DROP, (0, 0))[0]
    with pytest.raises(gradiva.OperatorValueError, match="no batch for this process"):
        Cursor(plan).take(50)


def test_states_of_the_other_kind() -> None:
    other = Cursor(plain().of_process(2, 1))
    other.take(5)
    mine = Cursor(Fleet(2, 1, 5).plans(plain(), PARTIAL, (0, 0))[1][0])
    with pytest.raises(gradiva.OperatorValueError, match="shards lie one after the other"):
        mine.set_state(other.get_state())
    mine.take(5)
    with pytest.raises(gradiva.OperatorValueError, match="share an epoch, step by step"):
        other.set_state(mine.get_state())
    # A reader of the whole data set goes on after what all have read.
    alone = Cursor(plain())
    alone.set_state(mine.get_state())
    assert alone.index == 10
    assert set(mine.get_state()) == {"epoch", "index", "size", "seed", "sharding"}


def test_an_epoch_in_other_buckets() -> None:
    """Other batches would have other samples: those that were begun are gone on with."""

    def begun(world: int, count: int) -> Cursor:
        return Cursor(Fleet(world, 1, count).plans(bucketed(), PARTIAL, (0, 0))[0][0])

    cursor = begun(2, 6)
    cursor.take(6)
    state = cursor.get_state()
    other = begun(3, 6)
    other.set_state(state)
    assert (
        other.take(6)[1][0] == Cursor(bucketed().for_batches(6, 0), 0, state["index"]).take(6)[1][0]
    )
    other.set_state(state)
    with pytest.raises(gradiva.OperatorValueError, match="goes on with batches as it was begun"):
        other.take(2)


def test_a_large_data_set() -> None:
    """Its layout is a few numbers."""
    common = ShardedPlan(10_000_000, 5)
    plan = interleaved(common, Share(3, 8, 1, 4), PARTIAL, 64, (2, 5_000_192))
    layout = plan.layout(2)
    assert layout.regular > 2000
    assert len(layout.places) <= 128
