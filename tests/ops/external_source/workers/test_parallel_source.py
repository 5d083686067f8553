"""`external_source(parallel=True)`: the same bits from processes, and errors that say where."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.ops.external_source.workers import shared_memory
from tests.ops.external_source.workers import worker_callbacks as sources
from tests.tiers import few

pytestmark = pytest.mark.core

FULL = pytest.mark.full
AT_ONCE = 30.0
"""Seconds, on a machine that has much else to do. Who waits for what never comes waits an hour."""


def pipeline(source: Any, workers: int = 2, size: int = 4, **options: Any) -> Any:
    """A pipeline of one parallel source. Options of the pipeline begin with py_ or exec_."""
    own = {key: options.pop(key) for key in list(options) if key.startswith(("py_", "exec_"))}

    @gradiva.pipeline_def(batch_size=size, num_threads=2, py_num_workers=workers, **own)
    def program() -> Any:
        return fn.external_source(source, **{"parallel": True, **options})

    return program()


def plain(batches: Any) -> list[Any]:
    """Batches as values that can be compared, bit by bit."""
    return [
        [
            (value.layout, value.source_info(), [(a.dtype, a.shape, a.tobytes()) for a in arrays])
            for value in batch
            for arrays in [value.arrays()]
        ]
        for batch in batches
    ]


def stream(pipe: Any, epochs: int = 2) -> list[Any]:
    found = [plain(pipe) for _ in range(epochs)]
    pipe.close()
    return found


def error_at(pipe: Any, runs: int = 10) -> tuple[str, int, float]:
    """The first error, the run that raised it, and how long that run took."""
    for run in range(runs):
        began = time.monotonic()
        try:
            pipe.run()
        except gradiva.GradivaError as error:
            return str(error), run, time.monotonic() - began
    raise AssertionError("no error")


def idle(pool: Any, seconds: float = 20.0) -> bool:
    """Whether no worker of a pool has anything to do any more, at the latest after some time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with pool._changed:
            if not pool._waiting and not any(worker.tasks for worker in pool._workers):
                return True
        time.sleep(0.01)
    return False


def gone(pid: int, seconds: float = 2.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


FORMS: list[tuple[Any, dict[str, Any]]] = [
    (sources.sample, {"batch": False}),
    (sources.pair, {"batch": False, "num_outputs": 2}),
    (sources.Scaled(3), {"batch": False, "prefetch_queue_depth": 3}),
    (sources.batch, {}),
    (sources.batch_of_info, {"batch_info": True, "prefetch_queue_depth": 4}),
    (sources.batch_object, {}),
    (sources.batches, {}),
    (sources.batches, {"cycle": "raise", "prefetch_queue_depth": 2}),
    (sources.samples, {"batch": False, "cycle": "raise"}),
    (sources.Shuffled(), {"cycle": "raise"}),
    ([np.full((2, 1), i) for i in range(5)], {}),
    ([gradiva.as_batch([np.zeros(i), np.ones(2)]) for i in range(5)], {"layout": "X"}),
]


@pytest.mark.full
@pytest.mark.parametrize("form", few(range(len(FORMS)), 0))
def test_same_bits_for_every_number_of_workers(form: int) -> None:
    source, options = FORMS[form]
    fresh = pickle.dumps(source)
    expected = stream(pipeline(pickle.loads(fresh), parallel=False, **options))
    assert expected[0]
    for workers in range(4):
        found = stream(pipeline(pickle.loads(fresh), workers, **options))
        assert found == expected, workers
    found = stream(pipeline(pickle.loads(fresh), 2, exec_async=False, **options))
    assert found == expected


@pytest.mark.full
@pytest.mark.parametrize("method", few(["spawn", "forkserver"], "forkserver"))
def test_start_methods(method: str) -> None:
    for source, options in (FORMS[0], FORMS[7]):
        expected = stream(pipeline(source, parallel=False, **options))
        pipe = pipeline(source, 2, py_start_method=method, **options)
        assert pipe.py_start_method == method
        assert pipe.py_num_workers == 2
        assert stream(pipe) == expected


@pytest.mark.full
def test_several_workers_take_part() -> None:
    pipe = pipeline(sources.mine, 3, 9, batch=False)
    pipe.start_py_workers()
    made = {int(sample.item()) for _ in range(3) for sample in pipe.run()[0]}
    assert made == set(pipe._built().processes.pids)
    assert os.getpid() not in made
    pipe.close()


@pytest.mark.full
def test_two_sources_share_the_workers_and_stay_in_step() -> None:
    @gradiva.pipeline_def(batch_size=4, num_threads=2, py_num_workers=2)
    def program(parallel: bool) -> Any:
        one = fn.external_source(sources.sample, batch=False, parallel=parallel)
        two = fn.external_source(sources.batch_of_info, batch_info=True, parallel=parallel)
        three = fn.external_source(sources.batches, cycle="quiet", parallel=parallel)
        return one, two, three * 2

    @gradiva.pipeline_def(batch_size=3, num_threads=2, py_num_workers=3)
    def equal(parallel: bool) -> Any:
        return (
            fn.external_source(sources.batch, parallel=parallel),
            fn.external_source(sources.batches, cycle="quiet", parallel=parallel),
            fn.external_source(sources.sample, batch=False, parallel=parallel),
        )

    assert stream(equal(True), 3) == stream(equal(False), 3)
    with pytest.raises(ValueError, match="all sources of a pipeline deliver batches of one size"):
        for _ in program(True):
            pass


@pytest.mark.full
def test_statistics() -> None:
    pipe = pipeline(sources.sample, 2, batch=False)
    assert pipe.external_source_shm_statistics() == {"capacities": [], "per_sample_capacities": []}
    pipe.build()
    found = pipe.external_source_shm_statistics()
    assert found == {"capacities": [1 << 20] * 8, "per_sample_capacities": [1 << 20] * 8}
    pipe.close()
    pipe = pipeline(sources.batch, 2, bytes_per_sample_hint=1_000_000)
    pipe.build()
    assert all(size >= 1_000_000 for size in pipe.external_source_shm_statistics()["capacities"])
    assert min(pipe.external_source_shm_statistics()["per_sample_capacities"]) >= 1_000_000
    pipe.close()


@pytest.mark.full
def test_places_grow() -> None:
    pipe = pipeline(sources.big, 2, batch=False)
    for run in range(12):
        (batch,) = pipe.run()
        assert batch.shape == [(200_000 * (1 + run),)] * 4
        assert [int(a[-1]) for a in batch.arrays()] == [(4 * run + i) % 251 for i in range(4)]
        assert all(batch.array(i).ctypes.data % 64 == 0 for i in range(4))
    assert max(pipe.external_source_shm_statistics()["capacities"]) >= 2_400_000
    pipe.close()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("kill", "was killed by signal 9 (SIGKILL)"),
        pytest.param("segfault", "was killed by signal 11 (SIGSEGV)", marks=FULL),
        pytest.param("exit", "ended with exit code 3", marks=FULL),
    ],
)
def test_a_worker_that_dies(what: str, words: str, tmp_path: Path) -> None:
    expected = stream(pipeline(sources.sample, parallel=False, batch=False), 1)[0]
    pipe = pipeline(sources.Trouble(what, 5, str(tmp_path / "once")), batch=False)
    pipe.build()
    pids = pipe._built().processes.pids
    found = plain([pipe.run()])
    text, run, seconds = error_at(pipe)
    assert run == 0
    assert seconds < AT_ONCE
    assert words in text
    assert "in the call for sample 1 of batch 1 of epoch 0" in text
    assert "  in sample 1" in text
    assert any(f"worker process {pid} " in text for pid in pids)
    assert "test_parallel_source.py" in text
    assert found + plain(pipe) == expected
    pipe.close()


@pytest.mark.full
def test_a_sample_that_always_kills_costs_its_batch_only() -> None:
    pipe = pipeline(sources.Trouble("kill", 5), batch=False)
    expected = stream(pipeline(sources.sample, parallel=False, batch=False), 1)[0]
    assert plain([pipe.run()]) == expected[:1]
    texts = [error_at(pipe)[0] for _ in range(5)]
    assert "tried 5 times, and the batch is lost" in texts[4]
    assert not [text for text in texts[:4] if "lost" in text]
    assert plain([pipe.run()]) == expected[2:3]
    pipe.close()


@pytest.mark.full
def test_an_iterable_goes_on_in_a_new_worker() -> None:
    for source, options in (FORMS[9], FORMS[8]):
        fresh = pickle.dumps(source)
        expected = stream(pipeline(pickle.loads(fresh), parallel=False, **options), 3)
        pipe = pipeline(pickle.loads(fresh), 1, exec_async=False, **options)
        found, told = [], list[str]()
        for _ in range(3):
            items: list[Any] = []
            killed = False
            while True:
                if len(items) == 1 and not killed:
                    os.kill(pipe._built().processes.pids[0], signal.SIGKILL)
                    killed = True
                try:
                    items.append(plain([pipe.run()])[0])
                except StopIteration:
                    pipe.reset()
                    break
                except RuntimeError as error:
                    told.append(str(error))
            found.append(items)
        assert found == expected
        assert all("SIGKILL" in text for text in told)
        pipe.close()


@pytest.mark.full
def test_an_idle_worker_that_dies_is_replaced() -> None:
    pipe = pipeline(sources.sample, 2, exec_async=False, batch=False)
    first = plain([pipe.run()])
    assert idle(pipe._built().processes)
    old = pipe._built().processes.pids
    os.kill(old[0], signal.SIGKILL)
    os.kill(old[1], signal.SIGKILL)
    assert gone(old[0])
    expected = stream(pipeline(sources.sample, parallel=False, batch=False), 1)[0]
    assert first + plain(pipe) == expected
    assert not set(old) & set(pipe._built().processes.pids)
    pipe.close()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("raise", "the source Trouble raised ValueError: no such sample"),
        pytest.param("gradiva", "there is no argument `wrong`", marks=FULL),
        pytest.param("sys.exit", "the source raised SystemExit: 4", marks=FULL),
        pytest.param("text", "expected an array", marks=FULL),
        pytest.param("dtype", "the samples of a batch have one dtype and one rank", marks=FULL),
        pytest.param("rank", "the samples of a batch have one dtype and one rank", marks=FULL),
    ],
)
def test_errors_of_a_sample(what: str, words: str) -> None:
    pipe = pipeline(sources.Trouble(what), batch=False)
    plain([pipe.run()])
    pids = pipe._built().processes.pids
    text, run, seconds = error_at(pipe)
    assert run == 0
    assert seconds < AT_ONCE
    assert words in text
    assert "  in sample 1" in text
    assert any(f"in worker process {pid}, batch 1 of epoch 0" in text for pid in pids)
    if what == "raise":
        assert "in happens" in text
        assert 'raise ValueError("no such sample")' in text
    (batch,) = pipe.run()
    assert int(batch.array(0)[0, 0]) == 8
    pipe.close()


@pytest.mark.full
def test_errors_are_those_of_a_thread() -> None:
    for what in ("raise", "dtype", "rank"):
        told = [
            error_at(pipeline(sources.Trouble(what), workers, batch=False))[0].splitlines()[0]
            for workers in (0, 2)
        ]
        assert told[0] == told[1]
    wrong = error_at(pipeline(sources.Trouble("pair"), batch=False, num_outputs=2))[0]
    assert "expected a tuple of 2 (num_outputs)" in wrong
    for source in (lambda index: 3, lambda index: gradiva.as_tensor([1])):
        told = [error_at(pipeline(source, n))[0].splitlines()[0] for n in (0, 2)]
        assert told[0] == told[1]
        assert "the source returned the wrong thing" in told[0]


def test_a_batch_with_another_dtype() -> None:
    def source(index: int) -> Any:
        return np.zeros((2, 1), np.float32 if index == 2 else np.int32)

    text, run, _ = error_at(pipeline(source))
    assert run == 2
    assert "output 0 of the source has another dtype" in text
    assert ", batch 2 of epoch 0" in text


@pytest.mark.full
def test_what_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()
    for method in ("spawn", "forkserver"):
        pipe = pipeline(lambda info: lock.locked(), py_start_method=method, batch=False)
        with pytest.raises(TypeError, match=r"the source test_what_.*<lambda> cannot be sent"):
            pipe.build()
    pipe = pipeline(sources.Unloadable(), py_start_method="spawn", batch=False)
    with pytest.raises(RuntimeError, match=r"(?s)could not load the sources.*not in this process"):
        pipe.run()
    pipe.close()


class Tagging:
    """A pickler."""

    @staticmethod
    def dumps(value: Any, tag: bytes = b"") -> bytes:
        return tag + pickle.dumps(value)

    @staticmethod
    def loads(data: bytes, tag: bytes = b"") -> Any:
        assert data.startswith(tag)
        return pickle.loads(data[len(tag) :])


@pytest.mark.full
def test_picklers() -> None:
    expected = stream(pipeline(sources.sample, parallel=False, batch=False), 1)
    for pickler in (pickle, (Tagging, {"tag": b"x"}, {"tag": b"x"})):
        pipe = pipeline(
            sources.sample, 1, batch=False, py_start_method="spawn", py_callback_pickler=pickler
        )
        assert stream(pipe, 1) == expected
    pipe = pipeline(sources.sample, batch=False, py_start_method="spawn", py_callback_pickler=3)
    with pytest.raises(TypeError, match="py_callback_pickler"):
        pipe.build()


def test_bad_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"a callable with one argument, a SampleInfo"):
        pipeline(lambda: 1, batch=False)
    with pytest.raises(TypeError, match=r"one argument, the number of the batch"):
        pipeline(lambda: 1)
    with pytest.raises(ValueError, match="`prefetch_queue_depth`"):
        pipeline(sources.sample, prefetch_queue_depth=0)
    with pytest.raises(ValueError, match="`bytes_per_sample_hint`"):
        pipeline(sources.sample, bytes_per_sample_hint=0)
    with pytest.raises(ValueError, match="py_num_workers"):
        pipeline(sources.sample, -1)
    with pytest.raises(ValueError, match="py_start_method"):
        pipeline(sources.sample, py_start_method="thread")
    monkeypatch.setenv("GRADIVA_WORKER_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="GRADIVA_WORKER_TIMEOUT"):
        pipeline(sources.sample).build()


@pytest.mark.full
def test_too_little_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "free_bytes", lambda: 3 << 20)
    pipe = pipeline(sources.batch, bytes_per_sample_hint=4 << 20)
    with pytest.raises(RuntimeError, match="there is not enough shared memory"):
        pipe.build()
    pipe = pipeline(sources.big, 1, batch=False, exec_async=False)
    sizes = [len(pipe.run()[0]) for _ in range(3)]
    assert sizes == [4] * 3
    assert "there is not enough shared memory" in error_at(pipe)[0]
    pipe.close()


@pytest.mark.full
@pytest.mark.skipif(not shared_memory._HAS_MEMFD, reason="it is so everywhere else")
def test_files_where_there_is_no_memfd(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(os.listdir(shared_memory.folder()))
    expected = stream(pipeline(sources.sample, parallel=False, batch=False))
    monkeypatch.setattr(shared_memory, "_HAS_MEMFD", False)
    assert stream(pipeline(sources.sample, batch=False)) == expected
    assert set(os.listdir(shared_memory.folder())) <= before


@pytest.mark.full
def test_closing_and_letting_go_end_the_workers() -> None:
    pipe = pipeline(sources.sample, 3, batch=False)
    pipe.run()
    pids = pipe._built().processes.pids
    began = time.monotonic()
    pipe.close()
    assert time.monotonic() - began < AT_ONCE
    assert all(gone(pid) for pid in pids)
    with pytest.raises(RuntimeError, match="was closed"):
        pipe.run()
    pipe = pipeline(sources.sample, 3, batch=False)
    pipe.run()
    pids = pipe._built().processes.pids
    del pipe
    assert all(gone(pid) for pid in pids)


@pytest.mark.full
def test_a_pipeline_may_be_let_go_of_in_the_thread_of_its_processes() -> None:
    """As the garbage collector does it, in the middle of whatever that thread does."""
    held = [pipeline(sources.mine, 2, 48, batch=False)]  # half a second for a batch
    held[0].run()
    pool = held[0]._built().processes
    pids, thread = pool.pids, pool._thread
    threads = []

    def letting_go(receive: Callable[[], Any]) -> Any:
        threads.append(threading.current_thread())
        held.clear()
        return receive()

    for worker in pool._workers:
        worker.receive = functools.partial(letting_go, worker.receive)
    thread.join(20)
    assert not thread.is_alive()
    assert thread in threads
    assert not held
    assert all(gone(pid) for pid in pids)


@pytest.mark.full
def test_the_child_of_a_fork_leaves_the_workers_alone() -> None:
    pipe = pipeline(sources.sample, batch=False)
    first = plain([pipe.run()])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            pipe._built().processes.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert first + plain(pipe) == stream(pipeline(sources.sample, 0, batch=False), 1)[0]
    pipe.close()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_daemon_process_is_told_what_to_do(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"daemon=False.*py_start_method='fork'"):
        pipeline(sources.sample, py_start_method=method).run()
