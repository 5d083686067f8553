"""Kernels that kernels call by address, with arguments laid out beforehand."""

from __future__ import annotations

import functools
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradiva.eager.jit import work_sharing
from gradiva.eager.jit.jit import jit
from gradiva.eager.jit.packed_calls import (
    NotPackableError,
    PerThread,
    call_packed,
    pack_call,
    run_calls,
    take_next,
)
from gradiva.eager.jit.work_sharing import parallel_for, take_turns
from gradiva.eager.runtime import host_memory
from gradiva.eager.runtime.worker_pool import WorkerPool

pytestmark = pytest.mark.core


@jit
def mix(
    target: Any, pair: Any, big: Any, single: Any, none: Any, flag: bool, begin: int, end: int
) -> None:
    """Arguments of all kinds; more of them than go in registers."""
    table, (low, factor) = pair
    for i in range(begin, end):
        target[i] += table[i, 1] * factor + low + single
        if none is None and flag and big == np.uint64(0xFFFFFFFFFFFFFFFF):
            target[i] += 1000.0
        if table[i, 0] < 0:
            raise ValueError("below")


@jit
def count(target: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        target[i] += 1


@jit
def put(address: int, words: Any, begin: int, end: int) -> None:
    words[0] = address
    words[1] = end - begin


@jit
def numbers(counter: Any, row: Any, found: Any) -> None:
    for k in range(found.size):
        found[k] = take_next(counter)
    call_packed(row.ctypes.data, 2, 5)


def given(target: Any, table: Any) -> tuple[Any, ...]:
    pair = table, (7, 0.5)
    return target, pair, np.uint64(0xFFFFFFFFFFFFFFFF), np.float32(0.25), None, True


def plain(target: Any, table: Any, begin: int, end: int) -> None:
    run_calls([(mix, given(target, table))], begin, end)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_arguments(kind: type) -> None:
    """All arrive as in a call from Python."""
    table = np.arange(20.0).reshape(10, 2)
    expected: Any = np.zeros(10, kind)
    found: Any = np.zeros(10, kind)
    plain(expected, table, 2, 5)
    row = pack_call(mix, given(found, table), 1).rows[0]
    counter, taken = np.array([40]), np.zeros(3, np.int64)
    numbers(counter, row, taken)
    assert taken.tolist() == [40, 41, 42]
    assert counter[0] == 43
    assert found.tolist() == expected.tolist()
    assert expected[2] == 5 * 0.5 + 7 + 0.25 + 1000


def test_arrays_of_any_stride() -> None:
    """Parts of arrays, and arrays that must not be written to."""
    whole = np.arange(80.0).reshape(10, 8)
    table = whole[:, 2:6:2]
    table.flags.writeable = False
    expected: Any = np.zeros(20)[::2]
    found: Any = np.zeros(20)[::2]
    plain(expected, table, 2, 5)
    row = pack_call(mix, given(found, table), 1).rows[0]
    numbers(np.zeros(1, np.int64), row, np.zeros(0))
    assert found.tolist() == expected.tolist()
    assert found.any()


def test_each_thread_has_its_part() -> None:
    """Of an array a row, or its address."""
    parts, words = np.zeros((3, 6)), np.zeros((3, 2), np.int64)
    call = pack_call(put, (PerThread(parts, address=True), PerThread(words)), 3)
    for row in call.rows:
        numbers(np.zeros(1, np.int64), row, np.zeros(0))
    assert words.tolist() == [[parts[lane].ctypes.data, 3] for lane in range(3)]


class Named(NamedTuple):
    """What kernels read by name."""

    values: Any


@jit
def first_of(target: Any, begin: int, end: int) -> Any:
    return target[begin]


def test_what_cannot_be_laid_out() -> None:
    target = np.zeros(4)
    for value, why in (
        ("text", "str"),
        (Named(target), "Named"),
        (np.bool_(True), "bool"),
        (1 << 63, "64 bits"),
    ):
        with pytest.raises(NotPackableError, match=why):
            pack_call(count, (value,), 1)
    with pytest.raises(NotPackableError, match="first_of> returns something"):
        pack_call(first_of, (target,), 1)
    with pytest.raises(NotPackableError, match="no kernel"):
        pack_call(plain, (target, target), 1)
    with pytest.raises(NotPackableError, match="no short name"):
        pack_call(count, (np.zeros(4, object),), 1)


def turn_of_this_thread(pool: WorkerPool) -> int:
    """How many of 50 ranges this thread may take at once."""
    counter, turns = np.zeros(1, np.int64), list[int]()

    def take(turn: int) -> None:
        counter[0] += turn
        turns.append(turn)

    take_turns(pool, counter, 50, 0, take)
    assert set(turns) == {turns[0]}
    assert counter[0] == 50
    return turns[0]


def test_the_main_thread_looks_up_after_each_range(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers Ctrl+C; the others stay in compiled code."""
    assert turn_of_this_thread(pool) == 1
    with ThreadPoolExecutor(1) as other:
        assert other.submit(turn_of_this_thread, pool).result() == 50
    turns: list[int] = []
    real = work_sharing._share

    def noted(
        counter: Any, ranges: Any, stop: Any, oldest: Any, batch: int, turn: int, *rest: Any
    ) -> None:
        turns.append(turn)
        real(counter, ranges, stop, oldest, batch, turn, *rest)

    monkeypatch.setattr(work_sharing, "_share", noted)
    target = np.zeros(10, np.int64)
    alone = WorkerPool(1)
    parallel_for(alone, [(k, k + 1) for k in range(10)], [pack_call(count, (target,), 1)])
    assert target.tolist() == [1] * 10
    assert turns == [1] * 10


def test_addresses_of_arrays() -> None:
    """In the quick way and in the plain one, of empty arrays, too."""
    for array in (np.zeros(3), np.zeros((4, 5))[1:, 2], np.zeros(0), np.zeros((2, 0))):
        assert host_memory._plain_address(array) == array.ctypes.data
        if sys.implementation.name == "cpython":
            assert host_memory._quick_address(array) == array.ctypes.data
    assert host_memory._is_quick() == (host_memory.address_of is host_memory._quick_address)


@pytest.fixture
def pool() -> Any:
    made = WorkerPool(4)
    yield made
    made.close()


def test_each_range_once(pool: WorkerPool) -> None:
    """Whoever takes it."""
    target = np.zeros(1000, np.int64)
    ranges = [(k, min(k + 7, 1000)) for k in range(0, 1000, 7)]
    for made in range(1, 30):
        calls = [pack_call(count, (target,), 4)] * 2
        parallel_for(pool, ranges, calls)
        assert (target == 2 * made).all()


def test_what_a_kernel_raises(pool: WorkerPool) -> None:
    """Comes out of the same range in Python; the others are done."""
    table = np.ones((40, 2))
    table[17, 0] = -1
    target = np.zeros(40)
    ranges = [(k, k + 1) for k in range(40)]
    again: list[int] = []

    def once_more(begin: int, end: int) -> None:
        again.append(begin)
        plain(target, table, begin, end)

    with pytest.raises(ValueError, match="below"):
        parallel_for(pool, ranges, [pack_call(mix, given(target, table), 4)], once_more)
    assert again == [17]
    assert np.flatnonzero(target == 1007.75).tolist() == [k for k in range(40) if k != 17]


@pytest.mark.parametrize("compiled", [True, False])
def test_control_c(compiled: bool, pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the main thread: nobody begins what nobody waits for."""
    main, done = threading.main_thread(), list[int]()

    def interrupted(begin: int) -> None:
        if threading.current_thread() is main:
            raise KeyboardInterrupt
        done.append(begin)
        time.sleep(0.01)

    def one(counter: Any, ranges: Any, *_others: Any) -> None:
        interrupted(int(counter[0]))
        counter[0] += 1

    ranges = [(k, k + 1) for k in range(2000)]
    target = np.zeros(len(ranges), np.int64)
    monkeypatch.setattr(work_sharing, "_share", one)
    calls = [pack_call(count, (target,), 4)]
    share = functools.partial(parallel_for, pool, ranges, calls)
    run = functools.partial(pool.run, lambda begin, _end: interrupted(begin), ranges)
    with pytest.raises(KeyboardInterrupt):
        (share if compiled else run)()
    assert len(done) < 1000


def test_a_pool_that_is_stopped(pool: WorkerPool) -> None:
    """Its loops take nothing more."""
    target = np.zeros(10, np.int64)
    pool.cancelled = True
    parallel_for(pool, [(k, k + 1) for k in range(10)], [pack_call(count, (target,), 2)])
    assert not target.any()
    pool.cancelled = False
    assert not pool.cancelled
