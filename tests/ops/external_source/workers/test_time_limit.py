"""Calls of parallel sources that never return: a limit for each, and where the call was."""

from __future__ import annotations

import ctypes
import os
import re
import threading
import time
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import types
from gradiva.ops.external_source.workers import dispatcher
from gradiva.ops.external_source.workers.pool import ProcessPool
from gradiva.ops.external_source.workers.shared_memory import Segment
from gradiva.ops.external_source.workers.stacks import stack_in
from gradiva.ops.external_source.workers.worker import CONTROL
from gradiva.ops.external_source.workers.worker_handle import WorkerHandle

from .test_parallel_source import error_at, pipeline

pytestmark = pytest.mark.core

LIMIT = "GRADIVA_WORKER_TIMEOUT"
never = threading.Event()


def wait(info: types.SampleInfo) -> Any:
    """Waits for what never comes."""
    never.wait()


def spin(info: types.SampleInfo) -> Any:
    """Never comes to an end in Python."""
    while True:
        pass


def hold(info: types.SampleInfo) -> Any:
    """C code that does not give the interpreter lock back."""
    ctypes.PyDLL(None).sleep(3600)


def beside(info: types.SampleInfo) -> Any:
    """Waits for a thread of its own."""
    thread = threading.Thread(target=never.wait, name="of the user", daemon=True)
    thread.start()
    thread.join()


def wait_for_ever() -> Any:
    never.wait()


class Waiting:
    """Can be pickled; to load it takes for ever."""

    def __reduce__(self) -> Any:
        return wait_for_ever, ()

    def __call__(self, info: types.SampleInfo) -> Any:
        return np.zeros(1)


def test_there_is_a_limit_unless_it_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    assert ProcessPool(0).timeout == 600.0
    monkeypatch.setenv(LIMIT, "7.5")
    assert ProcessPool(0).timeout == 7.5
    monkeypatch.setenv(LIMIT, "0")
    assert ProcessPool(0).timeout is None
    for text in ("-1", "nan", "inf", "soon"):
        monkeypatch.setenv(LIMIT, text)
        with pytest.raises(gradiva.OperatorValueError, match=f"{LIMIT}.*number of seconds"):
            ProcessPool(0)


@pytest.mark.full
@pytest.mark.parametrize(
    ("source", "method"), [(wait, "fork"), (spin, "fork"), (hold, "fork"), (wait, "spawn")]
)
def test_the_error_says_where_the_call_was(
    source: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, "1")
    pipe = pipeline(source, 1, batch=False, py_start_method=method)
    text, run, _ = error_at(pipe)
    pipe.close()
    assert run == 0
    assert "did not answer for 1 s, in the call for sample 0 of batch 0 of epoch 0" in text
    assert f"; {LIMIT} sets another limit. It was at\n" in text
    assert re.search(rf'\n  File "{re.escape(__file__)}", line \d+, in {source.__name__}\n', text)
    assert {wait: "never.wait()", hold: "sleep(3600)", spin: ""}[source] in text
    assert "_listen" not in text
    assert "multiprocessing" not in text


@pytest.mark.full
def test_other_threads_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "1")
    pipe = pipeline(beside, 1, batch=False)
    text = error_at(pipe)[0]
    pipe.close()
    assert "in beside\n    thread.join()" in text
    assert text.index("thread.join()") < text.index("and in another thread at\n")


@pytest.mark.full
def test_the_source_that_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "1")
    pipe = pipeline(wait, 1, batch=False)
    texts = [error_at(pipe)[0] for _ in range(5)]
    pipe.close()
    assert [("this was tried 5 times, and the batch is lost" in text) for text in texts] == [
        False,
        False,
        False,
        False,
        True,
    ]
    first, last = texts[-1].split("batch is lost")
    assert "\n" not in first
    assert "in wait\n    never.wait()" in last


@pytest.mark.full
def test_a_source_that_never_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "1")
    monkeypatch.setattr(dispatcher, "_LEAST_TO_START", 5.0)
    pipe = pipeline(Waiting(), 1, batch=False, py_start_method="spawn")
    text = error_at(pipe)[0]
    pipe.close()
    assert "did not answer for 5 s, while it was starting" in text


def test_time_in_which_the_master_was_stopped_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clock that jumps between two questions, as after Ctrl+Z and `fg`."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    worker = WorkerHandle()
    worker._control = Segment(CONTROL.itemsize)
    process: Any = object()
    task: Any = type("Task", (), {"number": 3})()
    worker.process, worker.ready, worker.tasks = process, True, [task]
    assert worker.stuck_for(1.0) == 0.0
    now[0] += 3600
    assert worker.stuck_for(1.0) == 1.0
    now[0] += 0.5
    assert worker.stuck_for(1.0) == 1.5
    worker._control.array(CONTROL, (1,))[0]["calls"] = 1
    assert worker.stuck_for(1.0) == 0.0
    now[0] += 0.5
    assert worker.stuck_for(1.0) == 0.5
    worker.tasks = []
    assert worker.stuck_for(1.0) == 0.0


def test_a_stack_that_is_cut_or_none_at_all() -> None:
    segment = Segment(CONTROL.itemsize)
    assert stack_in(segment) == ""
    text = 'Current thread 0x1 (most recent call first):\n  File "b.py", line 2 in g\n  File "a.p'
    os.pwrite(segment.fd, text.encode(), segment.nbytes)
    assert stack_in(segment) == '  File "b.py", line 2, in g'
