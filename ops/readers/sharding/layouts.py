"""`Layout`: the batches that one process takes from an epoch that several share, step by step.

It has an *index* of its own: the samples of the process are counted from 0. In the epoch's order
they stand at *places*. Most steps are alike, so that a layout is a few numbers, whatever the size
of the data set; the last steps, and batches whose size a reader decides, are arrays.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gradiva.eager import extension as op

from .shard_schedule import EpochPosition, LastBatchPolicy, ShardSchedule

__all__ = ["ALONE", "Batches", "Layout", "Share", "cut_layout", "even_layout"]

_EMPTY = np.empty(0, np.int64)


class Share(NamedTuple):
    """The part of one process. rank, world_size: its trainer; worker, workers: of the processes
    that make the batches of this trainer in turns, one for each step. global_batch: the samples of
    a step of all trainers, where steps are to be the same for any number of trainers; a reader that
    decides how large batches are makes one for all of them."""

    rank: int = 0
    world_size: int = 1
    worker: int = 0
    workers: int = 1
    global_batch: int | None = None


ALONE = Share()


class Batches(NamedTuple):
    """The batches of an epoch, in its order, whose size the reader decides. stops: behind the last
    sample of each; cost: of a sample between two places, the highest."""

    stops: op.Int64Array
    cost: Callable[[int, int], float]

    def number(self, begin: int) -> int:
        """How many batches come before the place `begin`. Raises OperatorValueError if none begins
        there."""
        found = int(np.searchsorted(self.stops, begin, side="right"))
        if begin and (not found or self.stops[found - 1] != begin):
            raise op.OperatorValueError(
                "an epoch goes on with batches as it was begun: no batch begins after "
                f"{begin} samples",
                argument="batch_size",
            )
        return found

    def steps(self, share: Share, begin: int, policy: LastBatchPolicy) -> int:
        """The steps of all trainers from the place `begin` on."""
        left = len(self.stops) - self.number(begin)
        each = 1 if share.global_batch is not None else share.world_size
        return left // each if policy is LastBatchPolicy.DROP else -(-left // each)


class Layout(NamedTuple):
    """First come `regular` steps of `size` samples, then those of the arrays.

    first: the place of the first sample; stride: between the steps of this process; begin: the
    place where its first step begins, of all trainers. places: of the samples of other steps; -1
    stands for an empty batch, which is counted like one of one sample. repeats: 0, or the number of
    a sample that is repeated to fill a batch. stops: where these steps end, in `places`; begins:
    the places where they begin, of all trainers. length: of the epoch.
    """

    regular: int
    size: int
    first: int
    stride: int
    begin: int
    places: op.Int64Array
    repeats: op.Int64Array
    stops: op.Int64Array
    begins: op.Int64Array
    length: int

    @property
    def samples(self) -> int:
        """What is counted, with repeats and a place for each empty batch."""
        return self.regular * self.size + len(self.places)

    @property
    def own(self) -> int:
        """The samples without repeats."""
        real = (self.places >= 0) & (self.repeats == 0)
        return self.regular * self.size + int(np.count_nonzero(real))

    @property
    def batches(self) -> int:
        return self.regular + len(self.stops)

    def taken(self, start: int, stop: int) -> tuple[op.Int64Array, op.Int64Array]:
        """Places in the epoch, and repeats, of the samples from index `start` on."""
        border = self.regular * self.size
        if start < border and start // self.size == (min(stop, border) - 1) // self.size:
            step, within = divmod(start, self.size)
            first = self.first + step * self.stride + within
            found = np.arange(first, first + min(stop, border) - start, dtype=np.int64)
        else:
            steps, within_steps = np.divmod(
                np.arange(start, min(stop, border), dtype=np.int64), max(self.size, 1)
            )
            found = self.first + steps * self.stride + within_steps
        if stop <= border:
            return found, np.zeros(len(found), np.int64)
        part = slice(max(start - border, 0), stop - border)
        places, repeats = self.places[part], self.repeats[part]
        real = places >= 0
        return (
            np.concatenate([found, places[real]]),
            np.concatenate([np.zeros(len(found), np.int64), repeats[real]]),
        )

    def step(self, index: int) -> int:
        """The number of the step of this process that begins at `index`, or that has it."""
        border = self.regular * self.size
        if index < border:
            return index // self.size
        return self.regular + int(np.searchsorted(self.stops, index - border, side="right"))

    def stop(self, index: int) -> int:
        """The index behind the batch that begins at `index`."""
        border = self.regular * self.size
        if index < border:
            return (index // self.size + 1) * self.size
        ends = np.searchsorted(self.stops, index - border, side="right")
        return border + int(self.stops[ends])

    def place(self, step: int) -> int:
        """Where a step of this process begins, of all trainers; behind the last one, the epoch's
        length."""
        if step < self.regular:
            return self.begin + step * self.stride
        rest = step - self.regular
        return int(self.begins[rest]) if rest < len(self.begins) else self.length


def even_layout(
    schedule: ShardSchedule, share: Share, turn: int, begin: int, length: int
) -> Layout:
    """The layout of an epoch of `length` samples from the place `begin` on. turn: the worker that
    takes the first step from there."""
    begin = min(begin, length)
    steps, full = schedule.steps(length, begin), schedule.full_steps(length, begin)
    offset = (share.worker - turn) % share.workers
    regular = max(0, -(-(min(full, steps) - offset) // share.workers))
    spans: list[tuple[int, int, int]] = []
    for step in range(offset + regular * share.workers, steps, share.workers):
        part = schedule.part(EpochPosition(0, begin, step), share.rank, length)
        spans.append((schedule.span(step, begin, length)[0], part.start, part.stop))
    whole, size = schedule.global_batch, schedule.batch_size
    stride, first = share.workers * whole, begin + offset * whole
    ends = [np.arange(start, stop, dtype=np.int64) for _, start, stop in spans]
    places = [part if len(part) else np.full(1, -1, np.int64) for part in ends]
    joined = np.concatenate([_EMPTY, *places])
    return Layout(
        regular,
        size,
        first + share.rank * size,
        stride,
        first,
        np.minimum(joined, length - 1),
        np.where(joined < length, 0, joined),
        np.cumsum([len(part) for part in places], dtype=np.int64),
        np.array([span for span, _, _ in spans], np.int64),
        length,
    )


def cut_layout(
    batches: Batches, share: Share, turn: int, begin: int, length: int, policy: LastBatchPolicy
) -> Layout:
    """As `even_layout`, where the reader decides how large batches are. A step is a batch for each
    trainer; with `global_batch`, one batch that they divide. At the end of an epoch, if there are
    fewer batches than trainers, those that cost most are cut in two. Raises OperatorValueError if
    no batch begins at `begin`."""
    starts = np.concatenate([np.zeros(1, np.int64), batches.stops])
    known, steps = batches.number(begin), batches.steps(share, begin, policy)
    world, alone = share.world_size, share.global_batch is not None
    each = 1 if alone else world
    places: list[op.Int64Array] = []
    repeats: list[op.Int64Array] = []
    begins: list[int] = []
    for step in range((share.worker - turn) % share.workers, steps, share.workers):
        head = known + step * each
        bounds = starts[head : head + each + 1].tolist()
        if alone:
            size = bounds[-1] - bounds[0]
            start, stop = (bounds[0] + size * one // world for one in (share.rank, share.rank + 1))
        else:
            ranges = _as_many(list(itertools.pairwise(bounds)), world, batches.cost)
            start, stop = ranges[share.rank] if share.rank < len(ranges) else (0, 0)
        if start < stop:
            places.append(np.arange(start, stop, dtype=np.int64))
            repeats.append(np.zeros(stop - start, np.int64))
        elif policy is LastBatchPolicy.FILL:
            places.append(np.full(1, bounds[-1] - 1, np.int64))
            repeats.append(np.full(1, length + step * world + share.rank, np.int64))
        else:
            places.append(np.full(1, -1, np.int64))
            repeats.append(np.zeros(1, np.int64))
        begins.append(bounds[0])
    return Layout(
        0,
        0,
        0,
        0,
        0,
        np.concatenate([_EMPTY, *places]),
        np.concatenate([_EMPTY, *repeats]),
        np.cumsum([len(part) for part in places], dtype=np.int64),
        np.array(begins, np.int64),
        length,
    )


def _as_many(
    ranges: list[tuple[int, int]], wanted: int, cost: Callable[[int, int], float]
) -> list[tuple[int, int]]:
    """So many batches made of these, in their order, as far as there are samples."""
    if len(ranges) >= wanted:
        return ranges

    def entry(start: int, stop: int) -> tuple[float, int, int]:
        return -(stop - start) * cost(start, stop), start, stop

    heap = [entry(*one) for one in ranges]
    heapq.heapify(heap)
    single: list[tuple[int, int]] = []
    while heap and len(heap) + len(single) < wanted:
        _, start, stop = heapq.heappop(heap)
        if stop - start == 1:
            single.append((start, stop))
            continue
        middle = (start + stop) // 2
        heapq.heappush(heap, entry(start, middle))
        heapq.heappush(heap, entry(middle, stop))
    return sorted([*single, *((start, stop) for _, start, stop in heap)])
