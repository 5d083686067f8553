"""No more threads or descriptors, a source that asks its own pipeline, a signal: an error, and a
pipeline that can be closed."""

from __future__ import annotations

import mmap
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, fn
from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.ops.external_source.workers.shared_memory import Segment

pytestmark = pytest.mark.core

ROOT = Path(__file__).parents[3]


def numbers(info: Any) -> Any:
    return np.full(3, info.idx_in_epoch, np.int32)


def pipeline(source: Any, **options: Any) -> Any:
    @gradiva.pipeline_def(batch_size=2, num_threads=2, **options)
    def program() -> Any:
        return fn.external_source(source, batch=False)

    return program()


def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.parametrize("options", [{}, {"exec_async": False}])
def test_a_source_that_asks_its_own_pipeline(options: dict[str, Any]) -> None:
    def source(info: Any) -> Any:
        return pipe.run()[0]

    pipe = pipeline(source, **options)
    with pytest.raises(OperatorRuntimeError, match="would wait for itself"):
        pipe.run()
    pipe.close()


def test_a_source_that_asks_another_pipeline() -> None:
    inner = pipeline(numbers)
    pipe = pipeline(lambda info: inner.run()[0].at(0))
    assert pipe.run()[0].as_array().tolist() == [[0] * 3, [2] * 3]
    pipe.close()
    inner.close()


def test_a_pool_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    no_threads(monkeypatch)
    done: list[tuple[int, int]] = []
    pool = WorkerPool(4)
    pool.run(lambda begin, end: done.append((begin, end)), [(0, 1), (1, 2), (2, 5)])
    assert sorted(done) == [(0, 1), (1, 2), (2, 5)]
    pool.close()
    dedicated = WorkerPool(4, dedicated=True)
    with pytest.raises(OperatorRuntimeError, match="starts no more threads"):
        dedicated.run(lambda begin, end: None, [(0, 1), (1, 2)])
    dedicated.close()


def test_a_pipeline_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = pipeline(numbers)
    with monkeypatch.context() as patched:
        no_threads(patched)
        with pytest.raises(OperatorRuntimeError, match="starts no more threads"):
            pipe.run()
    pipe.close()


def test_a_loop_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(gradiva.__file__).parent / "photographs"

    def sizes() -> list[int]:
        reader = gradiva.readers.File(file_root=str(folder))
        return [len(files) for files, _ in reader.next_epoch(batch_size=4, capture=True)]

    with monkeypatch.context() as patched:
        no_threads(patched)
        with pytest.raises(OperatorRuntimeError, match="starts no more threads"):
            sizes()
    assert sum(sizes()) == 7


def test_shared_memory_without_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, nbytes: int) -> Any:
        raise OSError(24, "Too many open files")

    before = set(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else set()
    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(OperatorRuntimeError, match="Too many open files"):
        Segment(4096)
    if before:
        assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("refused", ["fork", "socketpair"])
def test_worker_processes_that_the_system_refuses(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> Any:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    @gradiva.pipeline_def(batch_size=2, num_threads=1, py_num_workers=1)
    def program() -> Any:
        return fn.external_source(numbers, batch=False, parallel=True)

    pipe = program()
    monkeypatch.setattr(os if refused == "fork" else socket, refused, refuse)
    with pytest.raises(OperatorRuntimeError, match="cannot be started"):
        pipe.run()
    pipe.close()


PROGRAM = """
import os, signal
import numpy as np
import gradiva
from gradiva import fn
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
def numbers(info): return np.full(3, info.idx_in_epoch)
@gradiva.pipeline_def(batch_size=2, num_threads=1, py_num_workers=2, prefetch_queue_depth=1)
def program(): return fn.external_source(numbers, batch=False, parallel=True)
pipe = program()
pipe.run()
for _ in range(20):
    for pid in pipe._built().processes.pids: os.kill(pid, signal.SIGKILL)
    try: pipe.run()
    except gradiva.GradivaError as error: pass
pipe.close()
print("the end")
"""


@pytest.mark.full
def test_a_program_that_leaves_sigpipe_as_it_is() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "the end\n"), ran.stderr
