"""Threads of a pipeline on cores of their own."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.eager.runtime import affinity
from gradiva.eager.runtime.affinity import thread_cpus
from gradiva.eager.runtime.worker_pool import WorkerPool, default_num_threads

linux = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="threads cannot choose cores here"
)


@pytest.fixture(autouse=True)
def _no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DALI_AFFINITY_MASK", raising=False)
    monkeypatch.delenv("GRADIVA_AFFINITY_MASK", raising=False)


def allow(monkeypatch: pytest.MonkeyPatch, cpus: set[int]) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(cpus))


@linux
@pytest.mark.parametrize(
    ("mask", "threads", "expected"),
    [
        ("3,5,6,10", 5, (3, 5, 6, 10, 0)),
        ("3,5,6,10", 2, (3, 5)),
        ("10, 3", 4, (10, 3, 0, 1)),
        ("1,1", 3, (1, 1, 0)),
        ("", 3, (0, 1, 3)),
        ("0,1,3,5,6,10", 8, (0, 1, 3, 5, 6, 10, 0, 1)),
    ],
)
def test_which_cores(
    monkeypatch: pytest.MonkeyPatch, mask: str, threads: int, expected: tuple[int, ...]
) -> None:
    allow(monkeypatch, {0, 1, 3, 5, 6, 10})
    monkeypatch.setenv("DALI_AFFINITY_MASK", mask)
    assert thread_cpus(threads) == expected


@linux
def test_own_variable_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, {0, 1, 2})
    monkeypatch.setenv("DALI_AFFINITY_MASK", "0")
    monkeypatch.setenv("GRADIVA_AFFINITY_MASK", "2")
    assert thread_cpus(2) == (2, 0)


@linux
@pytest.mark.parametrize("name", ["DALI_AFFINITY_MASK", "GRADIVA_AFFINITY_MASK"])
@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ("a", "core numbers"),
        ("0,", "core numbers"),
        ("0;1", "core numbers"),
        ("-1", "core numbers"),
        ("1.0", "core numbers"),
        ("4", r"cores that this process may use \(0-2, 5\), got 4"),
    ],
)
def test_bad_masks(monkeypatch: pytest.MonkeyPatch, name: str, mask: str, expected: str) -> None:
    allow(monkeypatch, {0, 1, 2, 5})
    monkeypatch.setenv(name, mask)
    pipe = pipeline(set_affinity=True)
    with pytest.raises(gradiva.OperatorValueError, match=f"{name}; expected {expected}"):
        pipe.build()
    pipeline(set_affinity=False).build()


def pipeline(**options: Any) -> gradiva.Pipeline:
    """Of batches so large that workers are always woken."""
    pipe = gradiva.Pipeline(**{"batch_size": 8, "num_threads": 2, **options})
    with pipe:
        images = fn.external_source(
            source=lambda: np.zeros((8, 400, 400, 3), np.uint8), layout="HWC"
        )
        pipe.set_outputs(fn.flip(images))
    return pipe


@linux
def test_workers_are_where_they_should_be() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    chosen = [cpus[index % len(cpus)] for index in (1, 0, 1)]
    pool = WorkerPool(3, dedicated=True, cpus=chosen)
    seen: dict[str, set[int]] = {}
    everybody = threading.Barrier(3)

    def look(begin: int, end: int) -> None:
        everybody.wait(20)
        seen[threading.current_thread().name] = os.sched_getaffinity(0)

    pool.run(look, [(i, i + 1) for i in range(3)])
    pool.close()
    assert seen == {f"gradiva-{index}": {cpu} for index, cpu in enumerate(chosen)}
    assert os.sched_getaffinity(0) == before


@linux
def test_the_caller_is_pinned_while_it_takes_part() -> None:
    before = os.sched_getaffinity(0)
    last = max(before)
    pool = WorkerPool(2, cpus=(last, min(before)))
    seen: dict[bool, set[int]] = {}
    everybody = threading.Barrier(2)

    def look(begin: int, end: int) -> None:
        everybody.wait(20)
        own = threading.current_thread() is threading.main_thread()
        seen[own] = os.sched_getaffinity(0)

    with pool.pinned():
        pool.run(look, [(0, 1), (1, 2)])
    pool.close()
    assert seen == {True: {last}, False: {min(before)}}
    assert os.sched_getaffinity(0) == before


@linux
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_threads": 1},
        {"prefetch_queue_depth": 1},
        {"exec_async": False},
        {"exec_pipelined": False, "num_threads": 1},
    ],
)
def test_pipelines(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are pinned as chosen, and the user's thread is left as it was."""
    before = os.sched_getaffinity(0)
    last = max(before)
    monkeypatch.setenv("DALI_AFFINITY_MASK", f"{last}")
    pinned: set[int] = set()
    monkeypatch.setattr(affinity, "pin", pinned.add)
    free, bound = pipeline(**options), pipeline(set_affinity=True, **options)
    np.testing.assert_array_equal(free.run()[0].as_array(), bound.run()[0].as_array())
    assert os.sched_getaffinity(0) == before
    free.close()
    bound.close()  # a worker may begin only after others have made the batch
    assert last in pinned
    assert pinned <= before


def test_where_threads_cannot_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    with pytest.warns(UserWarning, match="set_affinity has no effect"):
        assert thread_cpus(3) is None


@linux
def test_a_core_that_has_gone_is_a_warning() -> None:
    before = os.sched_getaffinity(0)
    with pytest.warns(UserWarning, match="could not be put on core 100000"):
        affinity.pin(100000)
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("name", ["DALI_NUM_THREADS", "GRADIVA_NUM_THREADS"])
@pytest.mark.parametrize("value", ["0", "-2", "1.5", "many", "²"])
def test_bad_thread_counts_name_their_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    message = rf"environment variable {name}; expected a positive integer, got '{value}'"
    with pytest.raises(gradiva.OperatorValueError, match=message):
        gradiva.Pipeline(batch_size=1)
    with pytest.raises(gradiva.OperatorValueError, match=message):
        gradiva.set_num_threads(None)


def test_thread_count_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALI_NUM_THREADS", "3")
    assert default_num_threads() == 3
    monkeypatch.setenv("GRADIVA_NUM_THREADS", "5")
    assert default_num_threads() == 5
