"""Memory is reused but never under a user's hands; the worker pool finishes, fails and stops."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager.runtime.host_memory import MemoryPool
from gradiva.eager.runtime.memory_settings import MemorySettings
from gradiva.eager.runtime.worker_pool import WorkerPool, set_num_threads


def test_memory_comes_back_when_the_last_view_goes() -> None:
    pool = MemoryPool()
    first = pool.allocate(1 << 20)
    address = first.ctypes.data
    assert address % 64 == 0
    view = first[10:20]
    del first
    assert pool.allocate(1 << 20).ctypes.data != address
    view[:] = 1
    del view
    gc.collect()
    assert pool.kept_bytes >= 1 << 20
    assert pool.allocate(1 << 20).ctypes.data == address
    pool.clear()
    assert pool.kept_bytes == 0


def test_memory_kept_is_bounded() -> None:
    pool = MemoryPool(limit=1 << 20)
    blocks = [pool.allocate(1 << 19) for _ in range(8)]
    blocks.clear()
    gc.collect()
    assert pool.kept_bytes <= 1 << 20


def test_invalid_setting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIVA_HOST_MEMORY_KEPT", "much")
    with pytest.raises(ValueError, match="GRADIVA_HOST_MEMORY_KEPT"):
        MemoryPool(settings=MemorySettings()).allocate(1)


def test_results_in_hand_are_not_overwritten() -> None:
    batch = gradiva.as_batch(np.arange(4 * 64 * 64 * 3, dtype=np.uint8).reshape(4, 64, 64, 3))
    kept = [gradiva.flip(batch, vertical=i % 2).as_array() for i in range(20)]
    for index, array in enumerate(kept):
        expected = gradiva.flip(batch, vertical=index % 2).as_array()
        np.testing.assert_array_equal(array, expected)


def test_pipeline_outputs_in_hand_are_not_overwritten() -> None:
    @gradiva.pipeline_def(batch_size=4, num_threads=2, prefetch_queue_depth=3)
    def pipeline() -> Any:
        images = gradiva.fn.external_source(
            source=lambda info: np.full((64, 64, 3), info.iteration % 251, np.uint8),
            batch=False,
            layout="HWC",
        )
        return gradiva.flip(images)

    pipe = pipeline()
    kept = [pipe.run()[0].as_array() for _ in range(30)]
    for index, array in enumerate(kept):
        assert (array == index % 251).all()
    pipe.close()


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_pool_runs_every_range_once(threads: int) -> None:
    pool = WorkerPool(threads)
    seen = np.zeros(100, np.int64)

    def task(begin: int, end: int) -> None:
        seen[begin:end] += 1

    for _ in range(50):
        pool.run(task, [(i, i + 1) for i in range(100)])
    assert (seen == 50).all()
    pool.close()
    pool.run(task, [(0, 100)])
    assert (seen == 51).all()


def test_pool_raises_the_first_error_and_goes_on() -> None:
    pool = WorkerPool(4)
    done = []

    def task(begin: int, end: int) -> None:
        if begin in (3, 7):
            raise ValueError(f"range {begin}")
        done.append(begin)

    for _ in range(20):
        done.clear()
        with pytest.raises(ValueError, match="range 3"):
            pool.run(task, [(i, i + 1) for i in reversed(range(10))])
        assert len(done) == 8
    pool.close()


def test_what_was_begun_is_waited_for() -> None:
    """What comes later begins after it."""
    pool = WorkerPool(2, dedicated=True)
    done = list[tuple[str, int]]()
    gate = threading.Event()

    def held(begin: int, _end: int) -> None:
        gate.wait(30)
        done.append(("held", begin))

    def marked(name: str) -> Any:
        return lambda begin, _end: done.append((name, begin))

    wait_first = pool.begin(held, [(0, 1), (1, 2)])
    wait_last = pool.begin(marked("last"), [(0, 1), (1, 2), (2, 3)])
    pool.begin(marked("nothing"), [])()
    assert done == []
    gate.set()
    wait_last()
    wait_first()
    assert sorted(done[:2]) == [("held", 0), ("held", 1)]
    assert sorted(done[2:]) == [("last", 0), ("last", 1), ("last", 2)]

    def fail(begin: int, _end: int) -> None:
        raise ValueError(f"range {begin}")

    wait_failed = pool.begin(fail, [(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="range 0"):
        wait_failed()
    pool.close()
    pool.begin(marked("after"), [(0, 1)])()
    assert done[-1] == ("after", 0)


def test_pool_in_several_user_threads() -> None:
    batch = gradiva.as_batch(np.random.default_rng(0).integers(0, 255, (8, 80, 80, 3), np.uint8))
    expected = gradiva.flip(batch).as_array()
    wrong: list[int] = []

    def work() -> None:
        flipped = (gradiva.flip(batch).as_array() for _ in range(30))
        wrong.extend(1 for array in flipped if not np.array_equal(array, expected))

    set_num_threads(3)
    users = [threading.Thread(target=work) for _ in range(6)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
        assert not user.is_alive()
    set_num_threads(None)
    assert not wrong


def test_threads_are_gone_after_close() -> None:
    before = threading.active_count()
    for _ in range(5):
        pipe = gradiva.Pipeline(batch_size=2, num_threads=4)
        with pipe:
            numbers = gradiva.fn.external_source(source=lambda: np.zeros((2, 3), np.uint8))
            pipe.set_outputs(numbers)
        pipe.run()
        pipe.close()
        with pytest.raises(RuntimeError, match="closed"):
            pipe.run()
    assert threading.active_count() <= before + 1


def test_dropping_a_pipeline_stops_it() -> None:
    before = threading.active_count()
    pipe = gradiva.Pipeline(batch_size=2, num_threads=4)
    with pipe:
        pipe.set_outputs(gradiva.fn.external_source(source=lambda: np.zeros((2, 3), np.uint8)))
    pipe.run()
    del pipe
    gc.collect()
    until = time.monotonic() + 30.0  # the closer ends them, which was perhaps not there before
    while threading.active_count() > before + 1 and time.monotonic() < until:
        time.sleep(0.002)
    assert threading.active_count() <= before + 1


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork() -> None:
    script = (
        "import gradiva, numpy as np, os, sys\n"
        "gradiva.set_num_threads(3)\n"
        "b = gradiva.as_batch(np.zeros((8, 90, 90, 3), np.uint8))\n"
        "gradiva.flip(b)\n"
        "pid = os.fork()\n"
        "gradiva.flip(b)\n"
        "if pid == 0: os._exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=60, check=False)
    assert run.returncode == 0


@pytest.mark.full
def test_fork_in_a_captured_loop(photographs: Path) -> None:
    """The child is told that the loop is not its own, and waits for nothing."""
    script = (
        "import gradiva, os, sys\n"
        "loop = gradiva.readers.File(file_root=sys.argv[1]).next_epoch(1, capture=True)\n"
        "for step, (files, _) in enumerate(loop):\n"
        "    gradiva.decoders.image(files).evaluate()\n"
        "    if step == 2: break\n"
        "pid = os.fork()\n"
        "if pid: sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "try:\n"
        "    for files, _ in loop: pass\n"
        "except gradiva.OperatorRuntimeError as error:\n"
        "    os._exit(7 if 'parent process' in str(error) else 1)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(photographs)], timeout=60, check=False
    )
    assert run.returncode == 7


def test_bad_thread_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"set_num_threads.*at least 1"):
        gradiva.set_num_threads(0)
    monkeypatch.setenv("GRADIVA_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="GRADIVA_NUM_THREADS"):
        gradiva.set_num_threads(None)
