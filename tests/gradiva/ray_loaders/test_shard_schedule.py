"""Which trainer gets which samples: each once, for any numbers of trainers, one after the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva.capture.iterators.iterator import LastBatchPolicy
from gradiva.ops.readers.core.order import Shuffled
from gradiva.ops.readers.core.plan import ShardedPlan
from gradiva.ops.readers.sharding.shard_schedule import EpochPosition, ShardSchedule
from tests.tiers import examples

FILL, DROP, PARTIAL = LastBatchPolicy.FILL, LastBatchPolicy.DROP, LastBatchPolicy.PARTIAL


class Pairs(Shuffled):
    """An order whose shards are cut between pairs."""

    @property
    def unit(self) -> int:
        return 2


def step_of(schedule: ShardSchedule, place: EpochPosition, length: int) -> list[list[int]]:
    """The places in the epoch of each trainer in a step; of interleaved shards."""
    parts = [schedule.part(place, rank, length) for rank in range(schedule.world_size)]
    return [list(range(part.start, part.stop)) for part in parts]


def test_a_step() -> None:
    schedule = ShardSchedule(2, 3)
    assert schedule.steps(14) == 3
    assert step_of(schedule, EpochPosition(0, 0, 1), 14) == [[6, 7], [8, 9], [10, 11]]
    assert step_of(schedule, EpochPosition(0, 0, 2), 14) == [
        [12, 13],
        [14, 15],
        [16, 17],
    ]  # repeats
    assert ShardSchedule(2, 3, DROP).steps(14) == 2
    partial = ShardSchedule(2, 3, PARTIAL)
    assert partial.steps(14) == 3
    assert step_of(partial, EpochPosition(0, 0, 1), 14) == [[6], [7], [8, 9]]
    assert step_of(partial, EpochPosition(0, 0, 2), 14) == [[10], [11], [12, 13]]


@settings(max_examples=examples(300), deadline=None)
@given(
    length=st.integers(1, 200),
    worlds=st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 9)), min_size=1),
    policy=st.sampled_from([FILL, PARTIAL]),
)
def test_each_sample_once_for_any_worlds(
    length: int, worlds: list[tuple[int, int, int]], policy: LastBatchPolicy
) -> None:
    """A training is stopped after some steps and goes on with other trainers and batches, again
    and again; the last ones finish the epoch."""
    seen: list[int] = []
    state: dict[str, Any] | None = None
    for number, (batch_size, world, steps) in enumerate(worlds):
        schedule = ShardSchedule(batch_size, world, policy)
        place = EpochPosition() if state is None else schedule.resumed(state, length)
        if place.epoch:
            break
        last = number + 1 == len(worlds)
        until = schedule.steps(length, place.begin)
        for step in range(place.step, until if last else min(place.step + steps, until)):
            place = EpochPosition(0, place.begin, step)
            for own in step_of(schedule, place, length):
                seen += [one for one in own if one < length]
            place = EpochPosition(0, place.begin, step + 1)
        assert seen == list(range(schedule.consumed(place, length)))
        state = schedule.state(place, length)
    else:
        assert schedule.resumed(state or {}, length) == EpochPosition(1)
    assert sorted(seen) == list(range(length))


@settings(max_examples=examples(100), deadline=None)
@given(length=st.integers(1, 99), world=st.integers(1, 6), batch_size=st.integers(1, 5))
def test_steps_are_even(length: int, world: int, batch_size: int) -> None:
    """Trainers that wait for each other come to the end together; what one gets is as large as
    what another gets, up to a sample."""
    for policy in LastBatchPolicy:
        schedule = ShardSchedule(batch_size, world, policy)
        for step in range(schedule.steps(length)):
            sizes = [len(own) for own in step_of(schedule, EpochPosition(0, 0, step), length)]
            assert max(sizes) - min(sizes) <= 1
            assert max(sizes) <= batch_size
            assert policy is PARTIAL or min(sizes) == batch_size


@settings(max_examples=examples(100), deadline=None)
@given(
    length=st.integers(6, 60),
    world=st.integers(1, 6),
    batch_size=st.integers(1, 5),
    epoch=st.integers(0, 4),
    unit=st.sampled_from([1, 1, 2]),
)
def test_contiguous_is_what_readers_do(
    length: int, world: int, batch_size: int, epoch: int, unit: int
) -> None:
    length *= unit
    order = (Pairs if unit == 2 else Shuffled)(length, 3, True)
    plan = ShardedPlan(length, 3, order=order)
    for policy in LastBatchPolicy:
        schedule = ShardSchedule(batch_size, world, policy, "contiguous", unit=unit)
        seen: list[int] = []
        for rank in range(world):
            own = plan.of_process(world, rank)
            found: list[int] = []
            for step in range(schedule.steps(length)):
                part = schedule.part(EpochPosition(epoch, 0, step), rank, length)
                assert (part.shard, part.shards) == (rank, world)
                found += own.indices(epoch, part.start, part.stop).tolist()
            wanted = own.indices(epoch, 0, own.length(epoch)).tolist()
            if policy is PARTIAL:
                assert found == wanted
            else:
                assert found[: len(wanted)] == wanted[: len(found)]
            seen += found
        if policy is not DROP:
            assert set(seen) == set(range(length))


def test_the_same_global_batch_keeps_its_steps() -> None:
    state = ShardSchedule(6, 2).state(EpochPosition(3, 0, 4), 100)
    assert ShardSchedule(4, 3).resumed(state, 100) == EpochPosition(3, 0, 4)
    assert ShardSchedule(12, 1).resumed(state, 100) == EpochPosition(3, 0, 4)
    assert ShardSchedule(6, 3).resumed(state, 100) == EpochPosition(3, 48, 0)


def test_states_of_older_versions() -> None:
    """There all steps but the last one were full."""
    schedule = ShardSchedule(2, 3, PARTIAL)
    state = schedule.state(EpochPosition(0, 0, 2), 14)
    assert (state["samples"], schedule.resumed(state, 14)) == (10, EpochPosition(0, 0, 2))
    old = {name: value for name, value in state.items() if name != "samples"}
    assert schedule.resumed(old, 14) == EpochPosition(0, 12)
    assert ShardSchedule(1, 2, FILL).resumed(old, 14) == EpochPosition(0, 12)


def test_the_same_steps_of_a_global_batch() -> None:
    """The last two steps, too, do not depend on the number of trainers."""
    for length in range(30, 60):
        found = {
            tuple(
                ShardSchedule(12 // world, world, PARTIAL, alike=True).span(step, 0, length)
                for step in range(-(-length // 12))
            )
            for world in (1, 2, 3, 4, 6)
        }
        assert len(found) == 1


def test_what_was_dropped_does_not_come_back() -> None:
    state = ShardSchedule(2, 2, DROP).state(EpochPosition(0, 0, 2), 10)
    assert ShardSchedule(1, 1, DROP).resumed(state, 10) == EpochPosition(1)


def test_refusals() -> None:
    schedule = ShardSchedule(2, 2)
    good = schedule.state(EpochPosition(), 10)
    for bad in ({**good, "step": -1}, {**good, "step": True}, {**good, "world_size": 0}, {}, None):
        with pytest.raises(gradiva.OperatorTypeError, match="`state_dict`"):
            schedule.resumed(bad, 10)  # type: ignore[arg-type]
    with pytest.raises(gradiva.OperatorTypeError, match="`state_dict`"):
        schedule.resumed({**good, "policy": "KEEP"}, 10)
    with pytest.raises(gradiva.OperatorValueError, match="`sharding`"):
        ShardSchedule(2, 2, sharding="contiguous").resumed(good, 10)
    begun = ShardSchedule(2, 2, sharding="contiguous").state(EpochPosition(0, 0, 1), 40)
    with pytest.raises(gradiva.OperatorValueError, match=r"`world_size`: .*expected 2, as in"):
        ShardSchedule(2, 3, sharding="contiguous").resumed(begun, 40)
