"""Chunks of samples: all of them once, sized by cost, the costly ones first."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradiva.eager.runtime.chunks import chunks
from gradiva.eager.runtime.worker_pool import WorkerPool

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
