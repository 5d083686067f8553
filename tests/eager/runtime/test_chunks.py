"""Chunks of samples: all of them once, sized by cost, the costly ones first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradiva.eager.jit.work_sharing import take_turns
from gradiva.eager.runtime.chunks import chunks
from gradiva.eager.runtime.worker_pool import Task, WorkerPool
from gradiva.eager.support import tracing

COSTS = st.lists(st.integers(0, 1_000_000), max_size=80)


@given(COSTS, st.integers(1, 9), st.integers(0, 3_000_000))
def test_every_sample_is_in_one_range(costs: list[int], threads: int, room: int) -> None:
    found = chunks(costs, threads, costs, room)
    assert [i for begin, end in sorted(found) for i in range(begin, end)] == list(range(len(costs)))
    assert all(begin < end for begin, end in found)
    if room:
        assert all(end - begin == 1 or sum(costs[begin:end]) <= room for begin, end in found)


def test_small_samples_share_a_range_and_large_ones_do_not() -> None:
    assert chunks([1728] * 64, 2) == [(0, 64)]
    assert 1 < len(chunks([1728] * 64, 16)) < 5
    assert chunks([1728] * 64, 16, dedicated=True) == [(0, 64)]  # others are made meanwhile
    assert 1 < len(chunks([1728] * 128, 16, dedicated=True)) < 5
    assert chunks([560_000] * 64, 2) == [(i, i + 1) for i in range(64)]
    assert chunks([10, 560_000, 10, 900_000], 2)[0] == (3, 4)
    assert chunks([560_000] * 64, 16) == [(i, i + 2) for i in range(0, 64, 2)]
    assert chunks([560_000] * 16, 16) == [(i, i + 1) for i in range(16)]
    assert len(chunks([1728] * 1000, 2)) >= 8


@pytest.mark.parametrize("dedicated", [False, True])
def test_all_ranges_are_run_once_and_the_first_error_wins(dedicated: bool) -> None:
    pool = WorkerPool(3, dedicated=dedicated)
    seen: list[int] = []
    both = threading.Barrier(2)

    def task(begin: int, end: int) -> None:
        if begin in (30, 60):
            both.wait(20)
            raise ValueError(str(begin))
        seen.extend(range(begin, end))

    with pytest.raises(ValueError, match="30"):
        pool.run(task, [(i, i + 10) for i in (60, 0, 30, 10, 20, 40, 50)])
    assert sorted(seen) == [*range(30), *range(40, 60)]
    pool.run(lambda begin, end: seen.append(begin), [(100, 101), (101, 102)])
    assert sorted(seen)[-2:] == [100, 101]
    pool.close()


class OfBatch(threading.Thread):
    """A thread that works for a batch, as a runner does."""

    def __init__(self, number: int, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._number, self._work = number, work
        self.start()

    def run(self) -> None:
        tracing.place.batch = self._number
        self._work()


def run_all(pool: WorkerPool, task: Task, ranges: list[tuple[int, int]]) -> None:
    """As `run`, which would not hand over a single range."""
    pool.begin(task, ranges)()


@pytest.mark.parametrize("way", ["ranges", "compiled"])
def test_an_older_batch_comes_first(way: str) -> None:
    """Between two ranges of a younger one, whose rest is done afterwards."""
    pool = WorkerPool(1, dedicated=True)
    order: list[str] = []
    begun, joined = threading.Event(), threading.Event()

    def young(begin: int, _end: int) -> None:
        order.append(f"young {begin}")
        begun.set()
        assert joined.wait(20)

    def taken(counter: Any, _turn: int) -> None:
        young(int(counter[0]), 0)
        counter[0] += 1

    def in_turns(_begin: int, _end: int) -> None:
        counter = np.zeros(1, np.int64)
        take_turns(pool, counter, 3, 8, lambda turn: taken(counter, turn))

    task, ranges = (young, [(0, 1), (1, 2), (2, 3)]) if way == "ranges" else (in_turns, [(0, 1)])
    first = OfBatch(8, partial(run_all, pool, task, ranges))
    assert begun.wait(20)

    def old() -> None:
        wait = pool.begin(lambda begin, _: order.append(f"old {begin}"), [(0, 1), (1, 2)])
        joined.set()
        wait()

    second = OfBatch(7, old)
    for thread in (first, second):
        thread.join(20)
    assert order == ["young 0", "old 0", "old 1", "young 1", "young 2"]
    assert pool.oldest[0] > 8
    pool.close()


def test_a_younger_batch_waits() -> None:
    pool = WorkerPool(1, dedicated=True)
    order: list[str] = []
    begun, joined = threading.Event(), threading.Event()

    def old(begin: int, _end: int) -> None:
        order.append(f"old {begin}")
        begun.set()
        assert joined.wait(20)

    first = OfBatch(3, partial(run_all, pool, old, [(0, 1), (1, 2)]))
    assert begun.wait(20)

    def young() -> None:
        wait = pool.begin(lambda begin, _: order.append(f"young {begin}"), [(0, 1), (1, 2)])
        joined.set()
        wait()

    second = OfBatch(4, young)
    for thread in (first, second):
        thread.join(20)
    assert order == ["old 0", "old 1", "young 0", "young 1"]
    pool.close()
