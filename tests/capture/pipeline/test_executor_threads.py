"""Which threads make the batches of a pipeline: runners that read in turns, or a scheduler."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.ops.readers.table_source import TableSource

pytestmark = pytest.mark.core

RUNNERS = {"gradiva-runner-0", "gradiva-runner-1"}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Threads that read, each with how many were reading."""
    found = list[tuple[str, int]]()
    read, reading = TableSource.read, list[int]()

    def seen(source: TableSource, *given: Any) -> Any:
        reading.append(1)
        found.append((threading.current_thread().name, len(reading)))
        try:
            time.sleep(0.002)  # others would come in
            return read(source, *given)
        finally:
            reading.pop()

    monkeypatch.setattr(TableSource, "read", seen)
    return found


def reader_of(photographs: Path, **options: Any) -> Any:
    @pipeline_def(batch_size=3, num_threads=2, prefetch_queue_depth=2, **options)
    def program() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs))
        return fn.decoders.image(files), labels

    return program()


def rows_of(pipe: Any, count: int) -> list[Any]:
    return [np.asarray(pipe.run()[1].as_array()).ravel().tolist() for _ in range(count)]


def test_each_runner_reads_what_it_makes_one_at_a_time(
    photographs: Path, reads: list[tuple[str, int]]
) -> None:
    alone = reader_of(photographs, exec_async=False, exec_pipelined=False)
    expected = rows_of(alone, 24)
    alone.close()
    reads.clear()
    pipe = reader_of(photographs)
    assert rows_of(pipe, 24) == expected
    pipe.close()
    assert {name for name, _ in reads} == RUNNERS
    assert {count for _, count in reads} == {1}


def test_a_pipeline_that_only_reads_has_one_runner(
    photographs: Path, reads: list[tuple[str, int]]
) -> None:
    @pipeline_def(batch_size=3, num_threads=8)
    def program() -> Any:
        return fn.readers.file(file_root=str(photographs))

    pipe, other = program(), reader_of(photographs)
    assert rows_of(pipe, 8) == rows_of(other, 8)
    other.close()
    pipe.close()
    assert reads[0][0] == "gradiva-runner-0"
    assert len(pipe._built().executor.threads) == 1


def test_one_function_of_the_user_makes_it_one_thread(
    photographs: Path, reads: list[tuple[str, int]]
) -> None:
    @pipeline_def(batch_size=3, num_threads=2)
    def program() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs))
        return files, labels, fn.external_source(lambda: np.zeros((3, 1)))

    pipe = program()
    for _ in range(8):
        pipe.run()
    pipe.close()
    assert {name for name, _ in reads} == {"gradiva-scheduler"}


def test_captured_loops_read_in_turns(photographs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pipelines do: two threads, one at a time; those of the user's functions are one."""
    found, reading = list[tuple[str, int]](), list[int]()
    read = TableSource.read_epoch

    def seen(source: TableSource, *given: Any) -> Any:
        reading.append(1)
        found.append((threading.current_thread().name, len(reading)))
        try:
            time.sleep(0.002)  # others would come in
            return read(source, *given)
        finally:
            reading.pop()

    monkeypatch.setattr(TableSource, "read_epoch", seen)
    context = gradiva.EvalContext(num_threads=2)
    loops = dict[bool, list[Any]]()
    for capture in (False, True):
        loops[capture] = []
        reader = gradiva.readers.File(file_root=str(photographs))
        for _ in range(4):
            for files, labels in reader.next_epoch(batch_size=2, capture=capture, ctx=context):
                sizes = np.asarray(gradiva.decoders.image(files).shape[0])
                loops[capture].append((sizes.tolist(), np.asarray(labels.as_array()).tolist()))
    assert loops[True] == loops[False]
    assert {name for name, _ in found} == {"MainThread", "gradiva-ahead", "gradiva-ahead-1"}
    assert {count for _, count in found} == {1}


def test_what_fails_to_be_read_is_the_error_of_its_batch(
    photographs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, count = TableSource.read, iter(range(1000))

    def fails(source: TableSource, *given: Any) -> Any:
        made = read(source, *given)
        if next(count) % 3 == 1:
            raise gradiva.OperatorRuntimeError("no luck")
        return made

    monkeypatch.setattr(TableSource, "read", fails)
    pipe = reader_of(photographs)
    for number in range(18):
        if number % 3 == 1:
            with pytest.raises(gradiva.OperatorRuntimeError, match="no luck"):
                pipe.run()
        else:
            pipe.run()
    pipe.close()


def test_a_pipeline_is_closed_while_one_runner_reads_and_another_waits_for_its_turn(
    photographs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go_on = threading.Event(), threading.Event()
    read = TableSource.read

    def waits(source: TableSource, *given: Any) -> Any:
        inside.set()
        assert go_on.wait(30)
        return read(source, *given)

    monkeypatch.setattr(TableSource, "read", waits)
    pipe = reader_of(photographs)
    pipe._built().executor.start()
    assert inside.wait(30)
    threads = pipe._built().executor.threads
    assert [thread.name for thread in threads] == sorted(RUNNERS)
    threading.Timer(0.05, go_on.set).start()
    pipe.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    with pytest.raises(gradiva.OperatorRuntimeError, match="closed"):
        pipe.run()
