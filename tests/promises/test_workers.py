"""Promise: workers and their masters may be killed at any moment, callbacks may sleep for ever, and
shared memory may run out: batches are whole or tell why they are lost, and nothing is left."""

from __future__ import annotations

import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, types
from gradiva.ops.external_source.workers import shared_memory
from tests.ops.external_source.workers import worker_callbacks as sources
from tests.ops.external_source.workers.test_parallel_source import (
    AT_ONCE,
    error_at,
    gone,
    pipeline,
    plain,
    stream,
)
from tests.soaking import Figures, is_soak, scaled

pytestmark = [
    pytest.mark.full,
    pytest.mark.alone,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc"),
]

ROOT = Path(__file__).parents[2]


def slow_sample(info: types.SampleInfo) -> Any:
    if info.iteration >= 150:
        raise StopIteration
    time.sleep(0.001)
    return np.random.default_rng(info.idx_in_epoch).integers(0, 255, (40, 3), np.uint8)


def slow_batches() -> Iterator[Any]:
    for index in range(150):
        time.sleep(0.004)
        yield np.random.default_rng(index).integers(0, 255, (4, 40, 3), np.uint8)


@pytest.mark.parametrize(("method", "kills"), [("fork", scaled(16)), ("forkserver", scaled(5))])
@pytest.mark.parametrize("source", [slow_sample, slow_batches])
def test_workers_killed_at_random_points(
    method: str, kills: int, source: Any, figures: Figures
) -> None:
    options: dict[str, Any] = {"batch": source is slow_batches, "prefetch_queue_depth": 2}
    expected = stream(pipeline(source, parallel=False, **options), 1)[0]
    chance = random.Random(7)
    killed, told = 0, list[str]()
    while killed < kills:
        pipe = pipeline(source, 3, py_start_method=method, **options)
        pipe.build()
        found: list[Any] = []
        pause, here = time.monotonic(), list[int]()
        while True:
            pids = pipe._built().processes.pids  # none, while all are replaced
            # A batch that is tried for the fifth time is given up. It is begun while as many
            # as the queues hold (four, at most) are still to come: these are counted together.
            few = sum(batch > len(found) - 5 for batch in here) < 4
            if killed < kills and few and pids and time.monotonic() > pause:
                try:
                    os.kill(chance.choice(pids), signal.SIGKILL)
                    killed += 1
                    here.append(len(found))
                except ProcessLookupError:
                    pass
                pause = time.monotonic() + chance.random() * 0.05
            try:
                found += plain([pipe.run()])
            except StopIteration:
                break
            except RuntimeError as error:
                told.append(str(error))
        assert not [text for text in told if "the batch is lost" in text]
        assert found == expected
        pipe.close()
    assert told
    assert all("SIGKILL" in text for text in told)
    figures(kills=killed, errors=len(told))


MASTER = """
import sys, threading, time
sys.path.insert(0, {root!r})
import numpy as np
import gradiva
from gradiva import fn
from tests.ops.external_source.workers import worker_callbacks

def main():
    @gradiva.pipeline_def(batch_size=4, num_threads=2, py_num_workers=3, py_start_method={method!r})
    def program():
        return fn.external_source({source}, batch=False, parallel=True)

    pipe = program()
    pipe.run()
    print("running", *pipe._built().processes.pids, flush=True)
    while True:
        pipe.run()
        pipe.reset()

if __name__ == "__main__":
    main()
"""


def marked(mark: str) -> list[int]:
    """Processes that have the mark in their environment and are no zombies."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
                found += [int(folder.name)] if state not in "ZX" else []
        except (OSError, IndexError):
            pass
    return found


def heed_control_c() -> None:
    """As from a terminal: a shell starts its background jobs with the signal ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start_master(tmp_path: Path, method: str, source: str, mark: str) -> subprocess.Popen[str]:
    script = tmp_path / "master.py"
    script.write_text(MASTER.format(root=str(ROOT), method=method, source=source))
    master = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GRADIVA_TEST_MARK": mark, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=heed_control_c,  # noqa: PLW1509
    )
    assert master.stdout is not None
    line = master.stdout.readline()
    assert line.startswith("running"), master.communicate()[1]
    return master


def nothing_left(mark: str, seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while marked(mark):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


SOURCES = (
    "worker_callbacks.mine",
    "worker_callbacks.Trouble('sleep', 9)",
    "worker_callbacks.Trouble('spin', 9)",
)
MASTERS = list(product(("fork", "spawn", "forkserver"), SOURCES))
SHORT = [*product(("fork",), SOURCES), ("spawn", SOURCES[0]), ("forkserver", SOURCES[2])]


@pytest.mark.parametrize(("method", "source"), MASTERS if is_soak() else SHORT)
def test_the_master_is_killed(method: str, source: str, tmp_path: Path, figures: Figures) -> None:
    before = set(os.listdir("/dev/shm"))
    chance = random.Random(method + source)
    for _ in range(scaled(2 if method == "fork" else 1)):
        mark = uuid.uuid4().hex
        master = start_master(tmp_path, method, source, mark)
        time.sleep(chance.random() * 0.2)
        assert len(marked(mark)) >= 4
        master.kill()
        master.communicate()
        assert nothing_left(mark), marked(mark)
    assert set(os.listdir("/dev/shm")) <= before
    figures(kills=scaled(2 if method == "fork" else 1))


def test_the_master_is_killed_many_times(tmp_path: Path, figures: Figures) -> None:
    before = set(os.listdir("/dev/shm"))
    chance = random.Random(3)
    for _ in range(scaled(5)):
        mark = uuid.uuid4().hex
        master = start_master(tmp_path, "fork", "worker_callbacks.sample", mark)
        time.sleep(chance.random() * 0.05)
        master.kill()
        master.communicate()
        assert nothing_left(mark), marked(mark)
    assert set(os.listdir("/dev/shm")) <= before
    figures(kills=scaled(5))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_control_c_ends_everything(method: str, tmp_path: Path, figures: Figures) -> None:
    mark = uuid.uuid4().hex
    master = start_master(tmp_path, method, "worker_callbacks.mine", mark)
    os.killpg(master.pid, signal.SIGINT)
    _, told = master.communicate(timeout=5)
    assert told.count("KeyboardInterrupt") == 1, told
    assert nothing_left(mark), marked(mark)
    figures(interrupts=1)


@pytest.mark.parametrize("what", ["sleep", "spin"])
def test_a_call_that_takes_too_long(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    monkeypatch.setenv("GRADIVA_WORKER_TIMEOUT", "1.5")
    expected = stream(pipeline(sources.sample, parallel=False, batch=False), 1)[0]
    pipe = pipeline(sources.Trouble(what, 6, str(tmp_path / "once")), batch=False)
    found = plain([pipe.run()])
    text, _, seconds = error_at(pipe)
    assert seconds < AT_ONCE
    assert "did not answer for 1.5 s, in the call for sample 2 of batch 1" in text
    assert found + plain(pipe) == expected
    pipe.close()
    figures(calls=1, seconds_to_the_error=round(seconds, 1))


def test_a_call_that_never_returns_does_not_hold_up_close(figures: Figures) -> None:
    for what in ("sleep", "spin") * scaled(1):
        pipe = pipeline(sources.Trouble(what, 9), batch=False)
        pipe.run()
        pids = pipe._built().processes.pids
        time.sleep(0.1)
        began = time.monotonic()
        pipe.close()
        assert time.monotonic() - began < AT_ONCE
        assert all(gone(pid) for pid in pids)
    figures(calls=2 * scaled(1))


def test_the_fork_server_is_killed() -> None:
    expected = stream(pipeline(slow_sample, parallel=False, batch=False), 1)[0]
    pipe = pipeline(slow_sample, 2, batch=False)
    found = plain([pipe.run()])
    server = pipe._built().processes._launcher._fork_server.pid
    os.kill(server, signal.SIGKILL)
    failures = 0
    while len(found) < len(expected):
        try:
            found += plain([pipe.run()])
        except RuntimeError:
            failures += 1
            assert failures < 10
    assert found == expected
    pids = pipe._built().processes.pids
    pipe.close()
    assert all(gone(pid) for pid in pids)


def test_many_pipelines_leave_nothing(figures: Figures) -> None:
    def facts() -> tuple[int, int, int]:
        gc.collect()
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(children)

    pipe = pipeline(sources.sample, 2, batch=False)
    pipe.run()
    pipe.close()
    before = facts()
    for _ in range(scaled(100)):
        pipe = pipeline(sources.sample, 2, batch=False)
        pipe.run()
        pipe.close()
    assert facts() == before
    figures(pipelines=scaled(100))


def test_many_workers_and_much_data() -> None:
    """More processes than cores, and every batch is checked."""

    @gradiva.pipeline_def(batch_size=33, num_threads=2, py_num_workers=8)
    def program() -> Any:
        one = fn.external_source(slow_sample, batch=False, parallel=True, prefetch_queue_depth=3)
        return one, one + 1

    pipe = program()
    for run in range(30):
        one, two = pipe.run()
        wanted = [
            np.random.default_rng(33 * run + i).integers(0, 255, (40, 3), np.uint8)
            for i in range(33)
        ]
        np.testing.assert_array_equal(one.as_array(), wanted)
        assert len(two) == 33
    pipe.close()


def test_a_small_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    """Without memfd, on a file system of 4 MiB: an error, and no signal."""
    small = tmp_path / "small"
    small.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)]
    if not mount or not umount or subprocess.run([mount, *options], check=False).returncode:
        pytest.skip("cannot mount a file system")
    try:
        monkeypatch.setattr(shared_memory, "_HAS_MEMFD", False)
        monkeypatch.setattr(shared_memory, "folder", lambda: str(small))
        pipe = pipeline(sources.big, 1, batch=False)
        with pytest.raises(RuntimeError, match="there is not enough shared memory"):
            pipe.build()
        pipe = pipeline(sources.big, 1, 1, batch=False, exec_async=False)
        text, run, _ = error_at(pipe, 30)
        assert run > 3
        assert "shared memory" in text
        pipe.close()
        # What statvfs says can be gone a moment later: the pages are taken at once.
        monkeypatch.setattr(shared_memory, "free_bytes", lambda: 1 << 40)
        pipe = pipeline(sources.big, 1, batch=False)
        with pytest.raises(RuntimeError, match="No space left"):
            pipe.build()
        figures(refused=3)
    finally:
        subprocess.run([umount, str(small)], check=True)
