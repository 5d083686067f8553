"""Batches in order, each once, whatever becomes of the loaders; on simulated machines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.ops.readers.core.source import EpochPart
from gradiva.ops.readers.sharding.shard_schedule import EpochPosition, ShardSchedule
from gradiva.plugin.ray.batch_fetcher import BatchFetcher
from tests.tiers import examples

from .simulated import Machines, Simulated, places_of


def parts(count: int, size: int = 2) -> Iterator[EpochPart]:
    return (EpochPart(0, size * one, size * (one + 1)) for one in range(count))


def delivered(fetcher: BatchFetcher) -> list[int]:
    return [place for made in fetcher for place in places_of(made)]


@settings(max_examples=examples(200), deadline=None)
@given(
    machines=st.integers(1, 6),
    ahead=st.integers(1, 5),
    count=st.integers(0, 40),
    deaths=st.sampled_from([0.0, 0.1, 0.4]),
    seed=st.integers(0, 99),
    slow=st.booleans(),
)
def test_each_once_in_order(
    machines: int, ahead: int, count: int, deaths: float, seed: int, slow: bool
) -> None:
    there = Machines(machines, seed, deaths, slow=[0] if slow and machines > 1 else ())
    fetcher = BatchFetcher(Simulated(there), parts(count), ahead, timeout=1e6, deaths=1000)
    assert delivered(fetcher) == list(range(2 * count))
    waits = fetcher.waits
    assert (waits.batches, waits.samples) == (count, 2 * count)
    assert sum(batches for batches, _ in waits.loaders.values()) == count
    assert waits.resent == 0 if not deaths else waits.resent >= 0


def test_slow_loaders_are_not_waited_for() -> None:
    there = Machines(3, slow=[1])
    fetcher = BatchFetcher(Simulated(there), parts(30), 3)
    assert delivered(fetcher) == list(range(60))
    assert fetcher.waits.doubled
    assert there.time < 100  # of one of the slow loader's batches
    patient = Machines(3, slow=[1])
    assert delivered(BatchFetcher(Simulated(patient), parts(30), 3, hedge_factor=None)) == list(
        range(60)
    )
    assert patient.time > there.time


def test_a_trainer_that_pauses_has_no_slow_loaders() -> None:
    """What was made meanwhile, while it saved its state or evaluated, is not asked for again."""
    there = Machines(2)
    fetcher = BatchFetcher(Simulated(there), parts(60), 4)
    found: list[int] = []
    for made in fetcher:
        found += places_of(made)
        if len(found) % 20 == 0:
            there.time += 1000.0
    assert found == list(range(120))
    assert (fetcher.waits.doubled, there.asked) == (0, 60)


def test_the_budget_of_bytes() -> None:
    """Batches have 16 bytes: three at a time fit into 50, after the first."""
    there = Machines(4)
    fetcher = BatchFetcher(Simulated(there), parts(20), 8, max_bytes=50)
    fetcher.begin()
    assert there.asked == 1
    next(fetcher)
    assert there.asked == 4  # three are under way
    tight = Machines(4)
    fetcher = BatchFetcher(Simulated(tight), parts(20), 8, max_bytes=1)
    for number in range(20):
        next(fetcher)
        assert tight.asked == min(number + 2, 20)


def test_work_is_shared() -> None:
    """Trainers that begin with different loaders keep all of them busy."""
    there = Machines(10)
    all_of_them = [BatchFetcher(Simulated(there), parts(30), 2, turn=2 * rank) for rank in range(5)]
    for fetcher in all_of_them:
        fetcher.begin()
    for _ in range(30):
        for fetcher in all_of_them:
            next(fetcher)
    assert sum(there.answered) == 150
    assert min(there.answered) >= 5


def test_a_batch_that_kills() -> None:
    """It is an error of its own; the others come."""
    there = Machines(3, fatal=[8])
    fetcher = BatchFetcher(Simulated(there), parts(10), 3, deaths=4)
    found: list[int] = []
    errors = []
    while True:
        try:
            found += places_of(next(fetcher))
        except StopIteration:
            break
        except gradiva.OperatorRuntimeError as error:
            errors.append(str(error))
    assert found == [*range(8), *range(10, 20)]
    (text,) = errors
    assert "4 loaders died" in text
    assert "the samples 8 to 9 of epoch 0" in text


def test_all_are_gone() -> None:
    there = Machines(2, deaths=1.0, pause=None)
    fetcher = BatchFetcher(Simulated(there), parts(10), 3)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"no loader is left .*: all machines"):
        next(fetcher)


def test_the_limit_of_waiting() -> None:
    there = Machines(1, slow=[0])
    fetcher = BatchFetcher(Simulated(there), parts(3), 1, timeout=5)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"5 seconds.*loaders \[0\] are at it"):
        next(fetcher)
    assert 5 <= there.time < 7
    patient = fetcher  # the same batch is waited for, and comes
    patient._timeout = 1000
    assert delivered(patient) == list(range(6))
    lost = Machines(1, deaths=1.0, pause=1e9)
    fetcher = BatchFetcher(Simulated(lost), parts(3), 1, timeout=5)
    with pytest.raises(gradiva.OperatorRuntimeError, match="all loaders are lost, and none"):
        next(fetcher)


class Training:
    """Trainers in steps, each with its own arithmetic and its own requests; its state is saved
    every few steps, and it falls back to that when a trainer is lost."""

    def __init__(self, length: int, machines: Machines, seed: int) -> None:
        self.length, self.machines = length, machines
        self.drawn = random.Random(seed)
        self.learned: Counter[int] = Counter()
        """Samples of the state that counts, those of one epoch after those of the one before."""
        self.state: dict[str, Any] | None = None

    def run(self, schedule: ShardSchedule, most: int, save: int) -> int:
        """Up to `most` steps of this world in an epoch, of which those count that were saved. How
        many epochs are finished."""
        place = EpochPosition() if self.state is None else schedule.resumed(self.state, self.length)
        steps = schedule.steps(self.length, place.begin)
        until = min(place.step + most, steps)
        order = [EpochPosition(place.epoch, place.begin, step) for step in range(place.step, steps)]
        trainers = [
            BatchFetcher(
                Simulated(self.machines),
                iter([schedule.part(one, rank, self.length) for one in order]),
                ahead=2,
                timeout=1e9,
                deaths=10**6,
                turn=2 * rank,
            )
            for rank in range(schedule.world_size)
        ]
        since: Counter[int] = Counter()
        begin = place.epoch * self.length
        for step in range(place.step, until):
            for trainer in trainers:
                found = places_of(next(trainer))
                since.update(begin + one for one in found if one < self.length)
            if (step + 1) % save == 0 or step + 1 == steps:
                self.learned += since
                since.clear()
                place_now = EpochPosition(place.epoch, place.begin, step + 1)
                self.state = schedule.state(place_now, self.length)
        return place.epoch + (until == steps)

    def wanted(self, epochs: int) -> Counter[int]:
        """Each sample of these epochs once."""
        return Counter(range(epochs * self.length))


@settings(max_examples=examples(100), deadline=None)
@given(
    length=st.integers(1, 400),
    loaders=st.integers(2, 7),
    worlds=st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(0, 12), st.integers(1, 4)),
        min_size=1,
    ),
    policy=st.sampled_from([LastBatchPolicy.FILL, LastBatchPolicy.PARTIAL]),
    deaths=st.sampled_from([0.0, 0.1, 0.4]),
    seed=st.integers(0, 99),
)
def test_exactly_once_over_worlds_and_losses(
    length: int,
    loaders: int,
    worlds: list[tuple[int, int, int, int]],
    policy: LastBatchPolicy,
    deaths: float,
    seed: int,
) -> None:
    """Trainers come and go, with other batches too, and fall back to their last state; loaders die
    and are slow. What counts in the end has each sample of each epoch once."""
    machines = Machines(loaders, seed, deaths, slow=[1])
    training = Training(length, machines, seed)
    for batch_size, world, steps, save in worlds:
        if training.run(ShardSchedule(batch_size, world, policy), steps, save) == 2:
            break
    else:
        last = ShardSchedule(5, 2, policy)
        while training.run(last, 10**6, 3) < 2:
            pass
    assert training.learned == training.wanted(2)


@pytest.mark.parametrize("seed", range(2))
def test_many_worlds_and_many_losses(seed: int) -> None:
    """Enough of both, in one epoch."""
    drawn = random.Random(seed)
    training = Training(997, Machines(7, seed, deaths=0.1, slow=[3]), seed)
    worlds = 0
    while not training.run(
        ShardSchedule(drawn.randint(1, 6), drawn.randint(1, 9)),
        drawn.randint(0, 12),
        drawn.randint(1, 4),
    ):
        worlds += 1
    assert training.learned == training.wanted(1)
    assert worlds > 3
    assert training.machines.died > 5


@pytest.mark.full
def test_a_thousand_and_a_thousand() -> None:
    """What docs/scale.md says: an epoch of 1,281,167 samples, 1,000 loaders and 1,000 trainers with
    batches of 64, loaders dying now and then; 21 requests for each trainer, and few more."""
    length, schedule = 1_281_167, ShardSchedule(64, 1000)
    machines = Machines(1000, 5, deaths=0.002)
    assert schedule.steps(length) == 21
    training = Training(length, machines, 5)
    assert not training.run(schedule, 12, 4)
    smaller = ShardSchedule(64, 900)  # a hundred trainers are gone
    assert training.run(smaller, 99, 4)
    assert training.learned == training.wanted(1)
    assert machines.died > 10
    assert machines.asked < 21 * 1000 + 900 * 11 + 5 * machines.died + 4 * 1900
    assert max(machines.answered) < 4 * sum(machines.answered) / 1000
