"""Threads share the samples of a call in compiled code: the same bits as one thread makes."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.operators.call
from gradiva.eager.execution.execute import prepare
from gradiva.eager.jit.work_sharing import parallel_for
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.extension import checks
from gradiva.extension.modes import CaseCalls
from tests.eager.operators.test_operators import CASES, GOOD

SHARED = ("flip", "brightness", "resize", "warp_affine", "reductions.mean")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Small batches are shared, too; how many ranges each call had."""
    counts: list[int] = []

    def noted(pool: Any, ranges: Any, calls: Any, again: Any) -> None:
        counts.append(len(ranges))
        parallel_for(pool, ranges, calls, again)

    monkeypatch.setattr(gradiva.eager.operators.call, "_INLINE_BYTES", 0)
    monkeypatch.setattr(gradiva.eager.operators.call, "_SURE_BYTES", 0)
    monkeypatch.setattr(gradiva.eager.operators.call, "parallel_for", noted)
    return counts


@pytest.mark.full
@pytest.mark.parametrize(("operator", "case"), GOOD)
def test_same_bits(operator: OperatorBase, case: Case, shared: list[int]) -> None:
    assert checks.check_threads(CaseCalls(operator, case))
    good = [one.name for one in CASES[operator.name] if one.raises is None]
    if operator.name in SHARED and case.name == good[0]:
        assert min(shared, default=0) > 1


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("costly", [False, True])
def test_a_few_samples_tell_whether_work_is_shared(
    costly: bool, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an output that could be quick or slow to fill; large: the first samples are nothing beside
    the others, and tell of them what they cost for their size."""
    size, seen, threads = 64, list[tuple[int, int]](), set[int]()
    rows = [100] * size if not large else [1] * 2 + [100] * (size - 2)
    images = gradiva.as_batch([np.zeros((count, 100), np.uint8) for count in rows])
    second, clock = threading.Event(), [0.0]
    watch = SimpleNamespace(perf_counter=lambda: clock[0])
    monkeypatch.setattr(gradiva.eager.operators.call, "time", watch)

    def kernel(begin: int, end: int) -> None:
        seen.append((begin, end))
        threads.add(threading.get_ident())
        clock[0] += (1e-5 if costly else 1e-8) * sum(rows[begin:end])
        if len(threads) > 1:
            second.set()
        elif len(seen) > 1 and costly:
            second.wait(20)

    pool = WorkerPool(2)
    try:
        call = prepare(operators["copy"], (images,), {}, size, pool)
        call.outputs = (images,)
        call.for_samples(kernel)
    finally:
        pool.close()
    covered = sorted(k for begin, end in seen for k in range(begin, end))
    assert covered == list(range(size))
    assert len(threads) == 1 + costly
    assert len(seen) > 4 if costly else seen == [(0, 2), (2, size)]


@pytest.mark.parametrize("few_first", [False, True])
def test_samples_of_a_call(
    few_first: bool, shared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are made once, in ranges that threads take."""
    if few_first:  # of work that is always worth it
        monkeypatch.setattr(gradiva.eager.operators.call, "_SURE_BYTES", 1 << 20)
        monkeypatch.setattr(gradiva.eager.operators.call, "_INLINE_SECONDS", 0)
    images = np.random.default_rng(1).integers(0, 256, (40, 9, 7, 3), np.uint8)
    gradiva.set_num_threads(3)
    try:
        found = gradiva.flip(gradiva.as_batch(images), horizontal=1, vertical=0)
    finally:
        gradiva.set_num_threads(None)
    assert shared[0] > 3
    assert (np.asarray(found.cpu()) == images[:, :, ::-1]).all()
