"""What is shared between threads: jobs of a pool, pools, memory, the thread for finalizers."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from gradiva.eager.runtime import worker_pool
from gradiva.eager.runtime.finalizer_thread import FinalizerThread
from gradiva.eager.runtime.host_memory import MemoryPool
from gradiva.eager.runtime.shared_blocks import SharedBlocks, can_share
from gradiva.eager.runtime.worker_pool import WorkerPool, shared_pool
from tests.hammer import THREADS, hammer

TIMES = 25


def test_each_range_of_a_job_is_done_once() -> None:
    pool, ranges = WorkerPool(4), [(k, k + 1) for k in range(40)]

    def work(_number: int) -> bool:
        for _ in range(TIMES):
            done: list[int] = []
            pool.run(lambda begin, _end, done=done: done.append(begin), ranges)  # type: ignore[misc]
            if sorted(done) != [*range(40)]:
                return False
        return True

    try:
        assert all(hammer(work))
    finally:
        pool.close()


def test_threads_take_ranges_of_one_job_once() -> None:
    counts: Counter[int] = Counter()
    lock = threading.Lock()

    def count(begin: int, _end: int) -> None:
        with lock:
            counts[begin] += 1

    pool, ranges = WorkerPool(1), [(k, k + 1) for k in range(2000)]
    job = worker_pool._Job(count, ranges, pool)
    hammer(lambda _: job.work())
    job.wait()
    assert job.unfinished == 0
    assert counts == Counter(range(2000))


def test_an_interrupt_is_not_forgotten_for_another_error() -> None:
    ranges = [(k, k + 1) for k in range(200)]

    def fail(begin: int, _end: int) -> None:
        raise KeyboardInterrupt if begin == 0 else ValueError(begin)

    job = worker_pool._Job(fail, ranges, WorkerPool(1))
    hammer(lambda _: job.work())
    assert job.given_up
    with pytest.raises(KeyboardInterrupt):
        job.wait()


def test_who_asks_for_a_shared_pool_gets_the_same_one() -> None:
    for count in range(40, 60):
        first, *others = hammer(lambda _, count=count: shared_pool(count))  # type: ignore[misc]
        assert all(one is first for one in others)


def test_leases_of_the_memory_pool_are_counted_exactly() -> None:
    pool = MemoryPool(limit=1 << 24)

    def work(number: int) -> bool:
        for k in range(4 * TIMES):
            held = [pool.allocate((1 << 17) + (k % 3 << 16)) for _ in range(2)]
            for place, array in enumerate(held):
                array[:8] = 2 * number + place
            if any((array[:8] != 2 * number + place).any() for place, array in enumerate(held)):
                return False
        return True

    assert all(hammer(work))
    stats = pool.stats()
    assert stats.leased == 0
    assert stats.kept == sum(size * len(blocks) for size, blocks in pool._free.items())
    assert stats.kept <= 1 << 24


@pytest.mark.skipif(not can_share(), reason="the system has no such memory")
def test_shared_blocks_have_numbers_of_their_own() -> None:
    blocks = SharedBlocks()

    def work(_number: int) -> list[int]:
        serials = []
        for _ in range(TIMES):
            block = blocks.allocate(4096)
            place = blocks.place_of(block[8:])
            assert place is not None
            assert (place.offset, place.size) == (8, 4096)
            serials.append(place.serial)
        return serials

    assert sorted(chain.from_iterable(hammer(work))) == [*range(THREADS * TIMES)]
    assert not blocks._files


def test_the_finalizer_thread_runs_every_call_once() -> None:
    closer, done = FinalizerThread(), list[tuple[int, int]]()

    def work(number: int) -> None:
        closer.ready()
        for k in range(TIMES):
            closer.post(done.append, (number, k))

    hammer(work)
    ended = threading.Event()
    closer.post(ended.set)
    assert ended.wait(60)
    assert sorted(done) == [(number, k) for number in range(THREADS) for k in range(TIMES)]
    for number in range(THREADS):
        own = [k for one, k in done if one == number]
        assert np.array_equal(own, range(TIMES))
