"""Which positions of an epoch trainers and their workers read, while their numbers change in the
middle of it: for `gradiva verify --workers --resume`. Only orders are computed: nothing is read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.support.errors import OperatorValueError
from gradiva.ops.readers.core.plan import PADDING, ShardedPlan
from gradiva.ops.readers.sharding.interleaved import InterleavedPlan, interleaved
from gradiva.ops.readers.sharding.layouts import Share
from gradiva.ops.readers.sharding.shard_schedule import LastBatchPolicy

__all__ = ["Change", "Epoch", "Numbers", "Phase", "epochs_of", "parse_changes"]

Positions = np.ndarray[Any, np.dtype[np.int64]]

_CHANGE = re.compile(r"(\d+):(\d+)(?::(\d+)x(\d+))?")


class Numbers(NamedTuple):
    """So many trainers, each with so many workers; 0 workers: the trainer reads by itself."""

    world: int
    workers: int


class Change(NamedTuple):
    """The training is interrupted in an epoch after so many steps, and resumed with these
    numbers. Steps are counted from the last change, if that was in the same epoch."""

    epoch: int
    steps: int
    numbers: Numbers


class Phase(NamedTuple):
    """What is read of an epoch between two changes. begin, end: the state, before and after it."""

    numbers: Numbers
    steps: int
    begin: int
    end: int
    positions: Positions


class Epoch(NamedTuple):
    """An epoch, with the positions that were read, as places from 0 on. length: of the epoch;
    repeats: samples that fill the last batches; left_out: positions of the last step, which is not
    full, where the policy is DROP. problems: what is wrong beside the positions."""

    number: int
    length: int
    phases: list[Phase]
    missing: Positions
    doubled: Positions
    repeats: int
    left_out: Positions
    problems: list[str]

    @property
    def good(self) -> bool:
        return not (len(self.missing) or len(self.doubled) or self.problems)


def parse_changes(given: Sequence[str], first: Numbers) -> list[Change]:
    """The changes that a user has given as EPOCH:STEP or EPOCH:STEP:WORLDxWORKERS, in their order.
    Without numbers, those before the change stay. Raises OperatorValueError."""
    found: list[Change] = []
    for text in given:
        read = _CHANGE.fullmatch(text.strip())
        numbers = found[-1].numbers if found else first
        if read is not None and read[3] is not None:
            numbers = Numbers(int(read[3]), int(read[4]))
        late = read is not None and found and int(read[1]) < found[-1].epoch
        if read is None or late or numbers.world < 1:
            raise OperatorValueError(
                operator="verify",
                argument="--resume",
                expected="EPOCH:STEP or EPOCH:STEP:WORLDxWORKERS, in the order of the epochs, such "
                "as 3:17:2x4",
                got=text,
            )
        found.append(Change(int(read[1]), int(read[2]), numbers))
    return found


def epochs_of(
    plan: ShardedPlan,
    count: int,
    epochs: int,
    first: Numbers,
    changes: Sequence[Change],
    policy: LastBatchPolicy,
    sharding: str,
    global_batch: int | None = None,
) -> Iterator[Epoch]:
    """The first epochs of a training with these changes.

    plan: of a reader; count: samples of a batch; sharding: "interleaved", or "contiguous" for
    shards one after the other, which are what they are for new numbers at once. global_batch: the
    samples of a step of all trainers, where that is the same for all numbers of trainers.
    """
    common = _alone(plan)
    waiting, numbers = list(changes), first
    for epoch in range(epochs):
        phases: list[Phase] = []
        problems: list[str] = []
        begin, steps_before, length = 0, 0, common.order.length(epoch)
        while True:
            change = waiting[0] if waiting and waiting[0].epoch == epoch else None
            most = None if change is None else change.steps
            if sharding == "interleaved":
                size = count if global_batch is None else _share(global_batch, numbers)
                phase = _shared(
                    common, size, numbers, policy, (epoch, begin), most, global_batch, problems
                )
            else:
                phase = _sharded(common, count, numbers, epoch, steps_before, most)
            phases.append(phase)
            begin, steps_before = phase.end, steps_before + phase.steps
            if change is None:
                break
            waiting.pop(0)
            if phase.steps < change.steps:
                problems.append(f"it ends after {phase.steps} steps, before step {change.steps}")
            numbers = change.numbers
            if begin >= length and sharding == "interleaved":
                break
        while waiting and waiting[0].epoch <= epoch:
            numbers = waiting.pop(0).numbers
            problems.append("it has ended before its last change")
        most_left = global_batch or phases[-1].numbers.world * count
        drops = policy is LastBatchPolicy.DROP and sharding == "interleaved"
        yield _counted(common, epoch, phases, most_left if drops else 0, problems)


def _share(global_batch: int, numbers: Numbers) -> int:
    if global_batch % numbers.world:
        raise OperatorValueError(
            operator="verify",
            argument="--global-batch",
            expected=f"a multiple of the {numbers.world} trainers",
            got=str(global_batch),
        )
    return global_batch // numbers.world


def _alone(plan: ShardedPlan) -> ShardedPlan:
    """The plan of all processes together."""
    if isinstance(plan, InterleavedPlan):
        return plan.common
    return replace(plan.of_process(1, 0), pad=False)


def _shared(
    common: ShardedPlan,
    count: int,
    numbers: Numbers,
    policy: LastBatchPolicy,
    begin: tuple[int, int],
    most: int | None,
    global_batch: int | None,
    problems: list[str],
) -> Phase:
    """A phase of processes that share each step. most: how many steps it has, None for all."""
    epoch, workers = begin[0], max(1, numbers.workers)
    parts: list[Positions] = []
    states: set[int] = set()
    ends: set[int] = set()
    for rank in range(numbers.world):
        plans = [
            interleaved(
                common,
                Share(rank, numbers.world, worker, workers, global_batch),
                policy,
                count,
                begin,
            )
            for worker in range(workers)
        ]
        whole = sum(plan.batches(epoch, count) for plan in plans)
        steps = whole if most is None else min(most, whole)
        taken = [len(range(worker, steps, workers)) for worker in range(workers)]
        for plan, batches in zip(plans, taken, strict=True):
            parts.append(_first_batches(plan, epoch, count, batches))
        states.add(
            min(plan.place(epoch, batches) for plan, batches in zip(plans, taken, strict=True))
        )
        ends.add(steps)
    for what, found in (("states", states), ("numbers of steps", ends)):
        if len(found) > 1:
            problems.append(f"the trainers have different {what}: {sorted(found)}")
    return Phase(numbers, max(ends), begin[1], max(states), np.concatenate(parts))


def _first_batches(plan: ShardedPlan, epoch: int, count: int, batches: int) -> Positions:
    """The positions of the first so many batches of a process."""
    stop = 0
    if batches == plan.batches(epoch, count):
        stop = plan.length(epoch)
    else:
        for _ in range(batches):
            stop = plan.stop(epoch, stop, count)
    return plan.positions(epoch, 0, stop)


def _sharded(
    common: ShardedPlan, count: int, numbers: Numbers, epoch: int, before: int, most: int | None
) -> Phase:
    """A phase of processes with a shard each, after so many steps of the epoch."""
    workers = max(1, numbers.workers)
    world = numbers.world * workers
    plans = [common.of_process(world, rank).for_batches(count, 0) for rank in range(world)]
    whole = max(plan.batches(epoch, count) for plan in plans) * workers
    steps = max(0, whole - before) if most is None else min(most, max(0, whole - before))
    parts = []
    for number, plan in enumerate(plans):
        worker = number % workers
        begun = len(range(worker, before, workers))
        done = len(range(worker, before + steps, workers))
        cuts = [min(begun, plan.batches(epoch, count)), min(done, plan.batches(epoch, count))]
        taken = [_first_batches(plan, epoch, count, one) for one in cuts]
        parts.append(taken[1][len(taken[0]) :])
    read = np.concatenate(parts)
    return Phase(numbers, steps, before, before + steps, read)


def _counted(
    common: ShardedPlan, epoch: int, phases: list[Phase], most_left: int, problems: list[str]
) -> Epoch:
    """The epoch, with its positions counted. most_left: fewer positions than this may be left out
    at its end."""
    order, length = common.order, common.order.length(epoch)
    read = np.concatenate([phase.positions for phase in phases])
    own = read[read < PADDING] - epoch * order.stride
    wanted = ShardedPlan(common.size, common.seed, order=order).positions(epoch, 0, length)
    wanted = wanted - epoch * order.stride
    counts = np.bincount(own[own >= 0], minlength=int(wanted.max(initial=-1)) + 1)
    missing = wanted[counts[wanted] == 0]
    left_out = missing[:0]
    if len(missing) < most_left:
        missing, left_out = left_out, missing
    doubled = np.flatnonzero(counts > 1)
    repeats = len(read) - len(own)
    return Epoch(epoch, length, phases, missing, doubled, repeats, left_out, problems)
