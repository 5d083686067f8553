"""Kernels that nobody waits for: compiled beside the work, once, and with nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from gradiva.eager.jit import background_kernel as module
from gradiva.eager.jit import kernel_cache
from gradiva.eager.jit.background_kernel import MANY, BackgroundKernel, at_once, wait_until_prepared
from gradiva.eager.jit.jit import (
    Kernel,
    NotThereError,
    compiled_kernels,
    idle_seconds,
    jit,
    loaded_only,
)

WITHIN = 60


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As it is outside of tests."""
    wait_until_prepared()
    monkeypatch.setattr(module, "_at_once", False)
    monkeypatch.setattr(module, "_many_come", False)
    monkeypatch.setattr(module, "_QUIET", 0.001)
    yield
    wait_until_prepared()


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)


def compiled(work: Callable[[], object]) -> Callable[[], object]:
    """Does this where a kernel would be compiled."""

    def prepare() -> None:
        if vars(sys.modules["gradiva.eager.jit.jit"])["_mode"].loads_only:
            raise NotThereError
        work()

    return prepare


NOTHING = compiled(lambda: None)


def test_the_work_goes_on_meanwhile() -> None:
    background, may_end, calls = BackgroundKernel(), threading.Event(), list[threading.Thread]()

    @compiled
    def prepare() -> None:
        calls.append(threading.current_thread())
        assert may_end.wait(WITHIN)

    assert not any(background.is_ready(prepare) for _ in range(3))
    may_end.set()
    wait_until_prepared()
    assert background.is_ready(prepare)
    assert len(calls) == 1
    assert calls[0] is not threading.current_thread()


def test_nothing_is_prepared_before_it_pays(unloaded: None) -> None:
    background, calls = BackgroundKernel(), list[int]()

    def prepare() -> None:
        calls.append(1)

    assert not background.is_worth_compiling(MANY, prepare)
    wait_until_prepared()
    assert not calls
    assert not background.is_worth_compiling(1, prepare)
    wait_until_prepared()
    assert calls
    assert background.is_worth_compiling(1, prepare)


def test_kernels_that_are_worth_waiting_for(unloaded: None) -> None:
    background = BackgroundKernel()
    assert not background.is_worth_compiling(MANY)
    assert background.is_worth_compiling(1)


def test_many_samples_are_expected(unloaded: None) -> None:
    """What was compiled before is loaded with the first of them; nothing else is waited for."""
    loaded, other = BackgroundKernel(), BackgroundKernel()
    calls = list[threading.Thread]()
    module.expect_many()
    assert loaded.is_worth_compiling(1, lambda: calls.append(threading.current_thread()))
    assert calls == [threading.current_thread()]
    assert not other.is_worth_compiling(1, NOTHING)
    wait_until_prepared()
    assert other.is_worth_compiling(1, NOTHING)


def test_what_was_compiled_before_waits_for_no_quiet(
    unloaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Numba is not there yet, by the thread beside the work, before it compiles others."""
    monkeypatch.setattr(module, "_QUIET", 3600.0)
    compiling, loading = BackgroundKernel(), BackgroundKernel()
    calls = list[threading.Thread]()
    assert not compiling.is_worth_compiling(MANY + 1, NOTHING)
    assert not loading.is_worth_compiling(
        MANY + 1, lambda: calls.append(threading.current_thread())
    )
    until = time.monotonic() + WITHIN
    while not loading.is_ready(NOTHING) and time.monotonic() < until:
        time.sleep(0.01)
    assert loading.is_ready(NOTHING)
    assert [thread.name for thread in calls] == ["gradiva-compiler"]
    assert not compiling.is_ready(NOTHING)
    monkeypatch.setattr(module, "_QUIET", 0.0)
    wait_until_prepared()
    assert compiling.is_ready(NOTHING)


def test_at_once() -> None:
    background, calls = BackgroundKernel(), list[threading.Thread]()
    with at_once():
        assert background.is_ready(lambda: calls.append(threading.current_thread()))
    assert calls == [threading.current_thread()]
    assert background.is_ready(lambda: None)


@jit
def _once(number: int) -> int:
    return number + 1


def test_what_was_compiled_before_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At once, by the thread that asks. What was not is not compiled, nor counted as if it were."""
    monkeypatch.setattr(kernel_cache, "_folder", tmp_path)
    monkeypatch.setattr(kernel_cache, "_folder_known", True)
    monkeypatch.setattr(cast(Kernel, _once).function, "__module__", "gradiva.of_a_test")
    _once(1)
    count, idle = len(compiled_kernels), idle_seconds()
    background, other = BackgroundKernel(), BackgroundKernel()
    assert background.is_ready(lambda: _once(1))
    with loaded_only(), pytest.raises(NotThereError, match="_once"):
        _once(1.5)  # type: ignore[arg-type]
    assert len(compiled_kernels) == count
    assert idle_seconds() >= idle
    assert not other.is_ready(lambda: _once(2j))  # type: ignore[arg-type]
    wait_until_prepared()
    assert len(compiled_kernels) == count + 1
    assert other.is_ready(NOTHING)


def test_no_kernel_that_somebody_waits_for_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    idle, background, looked = [0.0], BackgroundKernel(), threading.Event()

    def idle_seconds() -> float:
        looked.set()
        return idle[0]

    monkeypatch.setattr(module, "idle_seconds", idle_seconds)
    assert not background.is_ready(NOTHING)
    assert looked.wait(WITHIN)
    time.sleep(0.02)
    assert not background.is_ready(NOTHING)
    idle[0] = 1.0
    wait_until_prepared()
    assert background.is_ready(NOTHING)


def test_one_that_fails_is_told_of_and_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    bad, good = BackgroundKernel(), BackgroundKernel()

    @compiled
    def fail() -> None:
        raise ValueError("it does not compile")

    assert not bad.is_ready(fail)
    assert not good.is_ready(NOTHING)
    wait_until_prepared()
    assert [str(one.exc_value) for one in told] == ["it does not compile"]
    assert not bad.is_ready(fail)
    assert good.is_ready(NOTHING)


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_nobody_forks_while_a_kernel_is_compiled() -> None:
    """The child would have locks that nobody opens. There, kernels are prepared again."""
    first, background, lock, begun = (
        BackgroundKernel(),
        BackgroundKernel(),
        threading.Lock(),
        threading.Event(),
    )

    @compiled
    def prepare() -> None:
        with lock:
            begun.set()
            time.sleep(0.05)

    first.is_ready(prepare)
    background.is_ready(compiled(lambda: time.sleep(0.05)))
    assert begun.wait(WITHIN)
    child = os.fork()
    if not child:
        free = lock.acquire(timeout=1)
        other = BackgroundKernel()
        for one in (background, other):
            one.is_ready(NOTHING)
        wait_until_prepared()
        os._exit(0 if free and background.is_ready(NOTHING) and other.is_ready(NOTHING) else 1)
    assert os.waitpid(child, 0)[1] == 0
    wait_until_prepared()
    assert first.is_ready(prepare)
    assert background.is_ready(prepare)


PROGRAM = """
import sys, time
from gradiva import fn, pipeline_def
from gradiva.capture.runtime import decode_loop
from gradiva.eager.jit import work_sharing
from gradiva.eager.jit.jit import Kernel
from gradiva.eager.jit.background_kernel import BackgroundKernel, wait_until_prepared
from gradiva.ops.readers.core import files
from gradiva.ops.decoders.jpeg import plain_headers
from gradiva.ops.decoders.jpeg import small
import gradiva, pathlib

KERNELS = [
    files._open, files._read, plain_headers.read_plain_headers, small._decode, decode_loop._work,
    work_sharing._share,
]
small._SMALL = 1 << 30
folder = str(pathlib.Path(gradiva.__file__).parent / "photographs")

@pipeline_def(batch_size=48, num_threads=2, seed=1)
def usual(alone):
    images = fn.decoders.image(fn.readers.file(file_root=folder)[0])
    if alone:
        return fn.gaussian_blur(fn.resize(images, size=(160, 160)), window_size=3)
    return fn.crop_mirror_normalize(images, crop=(64, 64), std=[2.0])

for alone in (False, True):
    with usual(alone) as pipe:
        for _ in range(4):
            pipe.run()
            wait_until_prepared()
print([kernel.__name__ for kernel in KERNELS if kernel._compiled is None])
print({kernel.__name__: len(kernel.dispatcher().overloads) for kernel in KERNELS})
"""


@pytest.mark.full
def test_what_is_prepared_is_what_is_called() -> None:
    """Each kernel is compiled for the types that it is called with, and no others."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    names = ("_open", "_read", "read_plain_headers", "_decode", "_work", "_share")
    assert run.stdout.splitlines() == ["[]", str(dict.fromkeys(names, 1))]


ENDS = """
import sys, threading, time
import gradiva
from gradiva.eager.jit.background_kernel import BackgroundKernel
begun = threading.Event()
BackgroundKernel().is_ready(lambda: (begun.set(), time.sleep(0.2)))
BackgroundKernel().is_ready(lambda: print("the second one"))
begun.wait()
"""


@pytest.mark.full
def test_a_process_ends_before_all_is_prepared() -> None:
    run = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
