"""What is shared between threads: what was compiled, what is compiled in the background."""

from __future__ import annotations

import pytest

from gradiva.eager.jit import background_kernel as module
from gradiva.eager.jit import jit
from gradiva.eager.jit.background_kernel import (
    BackgroundKernel,
    at_once,
    prepares_at_once,
    wait_until_prepared,
)
from tests.hammer import THREADS, hammer

TIMES = 50


def test_a_kernel_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_until_prepared()
    monkeypatch.setattr(module, "_at_once", 0)
    monkeypatch.setattr(module, "_many_come", False)
    monkeypatch.setattr(module, "_QUIET", 0.001)
    monkeypatch.setattr(BackgroundKernel, "_are_loaded", lambda self, prepare: False)
    kernels, done = [BackgroundKernel() for _ in range(20)], list[int]()

    def prepared(number: int) -> None:
        if jit._mode.loads_only:
            raise jit.NotThereError
        done.append(number)

    def work(_number: int) -> None:
        for number, kernel in enumerate(kernels):
            kernel.is_ready(lambda number=number: prepared(number))  # type: ignore[misc]

    hammer(work)
    wait_until_prepared()
    assert sorted(done) == [*range(20)]
    assert all(kernel.is_ready(lambda: prepared(-1)) for kernel in kernels)


def test_blocks_of_several_threads_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_at_once", 0)

    def work(number: int) -> bool:
        good = True
        for _ in range(TIMES):
            with at_once():
                good &= prepares_at_once()
                if number % 2:
                    with at_once():
                        good &= prepares_at_once()
        return good

    assert hammer(work) == [True] * THREADS
    assert not prepares_at_once()
