"""Finalizers wait for nothing, nothing keeps what was dropped, and when it goes does not matter."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
import threading
import time
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, fn, pipeline_def, random, readers
from gradiva.eager.runtime.finalizer_thread import FinalizerThread
from gradiva.eager.runtime.host_memory import MemoryPool
from gradiva.eager.runtime.worker_pool import WorkerPool
from tests.capture.loop.loops import (
    ahead_threads,
    make_folder,
    normalized,
    open_reader,
    threads_end,
)
from tests.tiers import few

pytestmark = pytest.mark.core

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("finalizers"))


@pytest.fixture
def no_collector() -> Iterator[None]:
    """What goes in the test goes without the collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def script(text: str, *arguments: str) -> str:
    """Run Python code, or a module, and return what it prints. A hang is a failure."""
    command = ["-c", text] if " " in text else ["-m", text]
    done = subprocess.run(
        [sys.executable, *command, *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        cwd=ROOT,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "names",
    few(
        ["plain_loop", "loops external deferred compiled", "pipelines sources pools processes"],
        count=1,
    ),
)
@pytest.mark.full
def test_the_collector_comes_at_any_moment(names: str) -> None:
    found = script("tests.eager.runtime.finalizer_scenarios", *names.split())
    assert found.splitlines() == [f"{name} done" for name in names.split()]


LEFT = """
import glob, os, sys, gradiva
photos = sorted(glob.glob(os.path.dirname(gradiva.__file__) + "/photographs/*/*.jpg"))
loop = gradiva.readers.File(files=photos).next_epoch(1, capture=True)
for step, (files, _) in enumerate(loop):
    gradiva.decoders.image(files)
    if step == 2:
        break
print("leaving")
"""


@pytest.mark.full
def test_a_script_that_leaves_a_loop_at_module_level_ends() -> None:
    assert script(LEFT) == "leaving\n"


def test_the_death_of_an_old_loop_changes_no_random_value(folder: str) -> None:
    def values(capture: bool, how: str) -> list[Any]:
        reader = open_reader(folder)
        first: Any = reader.next_epoch(batch_size=3, capture=capture)
        for step, _ in enumerate(first):
            if how == "left" and step == 1:
                break
        found = []
        for step, (files, _) in enumerate(reader.next_epoch(batch_size=3, capture=capture)):
            if step == 1:
                if how == "closed":
                    first.close()
                first = None
            drawn = [random.uniform(batch_size=len(files)), random.normal(batch_size=1)]
            found.append([draw.as_array().tolist() for draw in drawn])
        return found

    for how in ("ended", "closed", "left"):
        assert values(True, how) == values(False, how), how


FORBIDDEN = {"acquire", "close", "closed", "get", "join", "notify", "notify_all", "wait"}
MAY_CLOSE = {"OpenShard", "Segment", "ShardWriter"}
"""They close file descriptors and mappings, which waits for nothing."""


def _finalizers() -> dict[str, ast.FunctionDef]:
    found = {}
    for room in ("eager", "ops", "capture", "gradiva"):
        for file in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ClassDef):
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef) and part.name == "__del__":
                            found[node.name] = part
    return found


@pytest.mark.full
def test_no_finalizer_waits_locks_or_joins() -> None:
    finalizers = _finalizers()
    assert {"CapturedLoop", "Pipeline", "WorkerPool", "Segment"} <= finalizers.keys()
    for name, finalizer in finalizers.items():
        for node in ast.walk(finalizer):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                allowed = {"close"} if name in MAY_CLOSE else set()
                assert called not in FORBIDDEN - allowed, f"{name}.__del__ calls {called}"
            if isinstance(node, ast.With):
                taken = ast.unparse(node.items[0].context_expr)
                assert taken.startswith("suppress("), f"{name}.__del__ enters {taken}"


def test_no_python_runs_where_a_lease_ends() -> None:
    """Ctrl+C that comes in a finalizer is lost, and batches end all the time."""
    pool = MemoryPool(limit=1 << 20)
    arrays = [pool.allocate(100_000) for _ in range(4)]
    views = [array[10:].view(np.int16) for array in arrays[:2]]
    ran: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            ran.append(frame.f_code.co_qualname if sys.version_info >= (3, 11) else "a frame")

    sys.setprofile(note)
    try:
        arrays.clear()
        views.clear()
    finally:
        sys.setprofile(None)
    assert ran == []
    kept = pool.stats().kept
    assert pool.stats() == (0, kept, kept)
    assert kept >= 400_000


def test_memory_that_is_not_kept_is_free_at_once() -> None:
    pool = MemoryPool(limit=1 << 20)
    tracemalloc.start()
    array = pool.allocate(50 << 20)
    held = tracemalloc.get_traced_memory()[0]
    del array
    freed = held - tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert freed > 49 << 20
    assert pool.stats().leased == 0


def test_memory_is_given_back_while_another_thread_has_the_lock() -> None:
    pool = MemoryPool(limit=1 << 20)
    array = pool.allocate(100_000)
    size = pool.stats().leased
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with pool._lock:
            taken.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(30)
    del array  # must not wait for the holder
    assert holder.is_alive()
    done.set()
    holder.join()
    assert pool.stats() == (0, size, size)


def test_memory_for_a_finalizer_that_interrupts_the_pool() -> None:
    pool = MemoryPool(limit=1 << 20)
    with pool._lock:
        pool._busy = True
        array = pool.allocate(100_000)
        pool._busy = False
    array[:] = 1
    del array
    assert pool.stats() == (0, 0, 0)


def test_the_closer_goes_on_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    finalizer_thread, closed = FinalizerThread(), threading.Event()

    def fail() -> None:
        raise RuntimeError("cannot close")

    finalizer_thread.post(fail)
    finalizer_thread.post(closed.set)
    assert not closed.is_set(), "without a thread nothing is done"
    finalizer_thread.ready()
    assert closed.wait(30)
    assert [str(one.exc_value) for one in shown] == ["cannot close"]


def test_who_drops_much_waits_for_the_closer() -> None:
    finalizer_thread, gate = FinalizerThread(), threading.Event()
    finalizer_thread.post(gate.wait)
    for _ in range(40):
        finalizer_thread.post(int)
    finalizer_thread.ready()
    begun = time.monotonic()
    finalizer_thread.catch_up(timeout=0.05)
    assert time.monotonic() - begun >= 0.05
    gate.set()
    finalizer_thread.catch_up()
    assert finalizer_thread._posted.qsize() <= 16


def _loop(folder: str) -> list[Any]:
    reader = open_reader(folder)
    loop = reader.next_epoch(2, capture=True)
    for _ in range(3):
        made = normalized(next(loop)[0])
    made.evaluate()
    return [loop, reader]


def _ended_loop(folder: str) -> list[Any]:
    loop = open_reader(folder).next_epoch(4, capture=True)
    for files, _ in loop:
        normalized(files).evaluate()
    return [loop]


def _epoch(folder: str) -> list[Any]:
    epoch = open_reader(folder).next_epoch(2)
    normalized(next(epoch)[0])
    return [epoch]


@pipeline_def(batch_size=3, num_threads=2)
def recorded(folder: str) -> Any:
    files, labels = fn.readers.file(file_root=folder)
    return normalized(files), labels


def _pipeline(folder: str) -> list[Any]:
    pipe = recorded(folder)
    pipe.run()
    pipe.run()
    return [pipe]


def _pipeline_at_its_end(folder: str) -> list[Any]:
    pipe = gradiva.Pipeline(batch_size=2, num_threads=2)
    with pipe:
        pipe.set_outputs(fn.external_source(source=[np.zeros((2, 3), np.uint8)]) + 1)
    assert len(list(pipe)) == 1
    return [pipe]


def _compiled(folder: str) -> list[Any]:
    function = capture.compile(normalized)
    files, _ = next(open_reader(folder).next_epoch(4))
    function(files).evaluate()
    return [function]


def _pool(folder: str) -> list[Any]:
    pool = WorkerPool(3)
    pool.run(lambda begin, end: None, [(0, 1), (1, 2), (2, 3)])
    return [pool]


def _deferred(folder: str) -> list[Any]:
    files, _ = next(open_reader(folder).next_epoch(4))
    with gradiva.EvalMode.deferred:
        made = normalized(files)
    made.evaluate()
    return [made, files]


@pytest.mark.parametrize(
    "make",
    [_loop, _ended_loop, _epoch, _pipeline, _pipeline_at_its_end, _compiled, _pool, _deferred],
)
def test_what_is_dropped_goes_at_once(
    make: Callable[[str], list[Any]], folder: str, no_collector: None
) -> None:
    others = ahead_threads()
    made = make(folder)
    gone = [weakref.ref(one) for one in made]
    made.clear()
    until = time.monotonic() + 30
    # A pipeline's executor and a loop's reader go when the closer has ended their threads.
    while any(one() is not None for one in gone) and time.monotonic() < until:
        time.sleep(0.002)
    assert [one() for one in gone] == [None] * len(gone)
    assert threads_end(others)


def test_the_batches_of_a_loop_that_was_left_go_at_once(folder: str, no_collector: None) -> None:
    loop = open_reader(folder).next_epoch(2, capture=True)
    for _ in range(3):
        files, _ = next(loop)
        made = normalized(files)
        made.evaluate()
    gone = [weakref.ref(one.pending) for one in (files, made)]
    del files, made, loop, _
    assert [one() for one in gone] == [None, None]


class Local:
    """Something of the user's."""


def test_the_end_of_a_loop_keeps_no_frame_of_the_user(folder: str, no_collector: None) -> None:
    def train(capture: bool) -> weakref.ref[Local]:
        model = Local()
        for files, _ in open_reader(folder).next_epoch(4, capture=capture):
            normalized(files).evaluate()
        return weakref.ref(model)

    for captured in (False, True):
        assert train(captured)() is None


def test_an_error_of_a_loop_keeps_no_frame_of_the_user(
    folder: str, tmp_path: Path, no_collector: None
) -> None:
    cut = tmp_path / "cut.jpg"
    cut.write_bytes(b"\xff\xd8\xff")
    whole = sorted(str(file) for file in Path(folder).rglob("*.jpg"))[:4]

    def train(capture: bool, *, missing: bool) -> weakref.ref[Local]:
        model = Local()
        files = [*whole, str(tmp_path / "missing.jpg") if missing else str(cut), *whole]
        loop = readers.File(files=files).next_epoch(2, capture=capture)
        failures = 0
        for _ in range(5):
            try:
                normalized(next(loop)[0]).evaluate()
            except gradiva.GradivaError:
                failures += 1
        assert failures == 1
        return weakref.ref(model)

    for captured in (False, True):
        for missing in (False, True):
            assert train(captured, missing=missing)() is None, (captured, missing)
