"""Captured loops and several threads or contexts of the user."""

from __future__ import annotations

import contextvars
import gc
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random, readers
from tests.capture.loop.loops import (
    bits,
    make_folder,
    no_thread_is_left,
    noisy,
    normalized,
    open_reader,
)

__all__ = ["no_thread_is_left"]

pytestmark = [pytest.mark.core, pytest.mark.usefixtures("no_thread_is_left")]

FILES = 11


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("threads"), FILES)


def in_threads(count: int, work: Callable[[], None]) -> None:
    users = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert not any(user.is_alive() for user in users)


@pytest.mark.parametrize("turn", range(3))
def test_one_loop_in_several_threads(folder: str, turn: int) -> None:
    """The first thread gets each sample once, the others an error that says what to do."""
    loop = readers.File(file_root=folder).next_epoch(2, capture=True)
    seen: Counter[str] = Counter()
    refused: list[str] = []
    start = threading.Barrier(3)

    def work() -> None:
        start.wait()
        try:
            for files, _ in loop:
                np.asarray(normalized(files).at(0))
                seen.update(Path(sample.source_info()).name for sample in files.tensors)
        except gradiva.OperatorRuntimeError as error:
            refused.append(str(error))

    in_threads(3, work)
    assert len(seen) == FILES
    assert set(seen.values()) == {1}
    # One that came when all was over had nothing left to take.
    assert len(refused) <= 2
    assert all("belongs to the thread that took its first batch" in text for text in refused)


def test_a_loop_is_refused_while_another_thread_is_in_it(folder: str) -> None:
    loop = readers.File(file_root=folder).next_epoch(2, capture=True)
    normalized(next(loop)[0])
    found: list[BaseException] = []

    def work() -> None:
        try:
            next(loop)
        except gradiva.OperatorRuntimeError as error:
            found.append(error)

    in_threads(1, work)
    assert "let each thread have a reader and a loop of its own" in str(found[0])
    assert "readers.file: " in str(found[0])
    assert "test_loop_threads.py" in str(found[0])
    assert sum(len(files) for files, _ in loop) == FILES - 2


@pytest.mark.parametrize("turn", range(3))
def test_loops_over_one_reader_in_several_threads(folder: str, turn: int) -> None:
    """They take turns, and the epoch ends for all that have begun it."""
    reader = readers.File(file_root=folder)
    seen: Counter[str] = Counter()
    lock = threading.Lock()
    begun = threading.Barrier(3)

    def work() -> None:
        for turn, (files, _) in enumerate(reader.next_epoch(2, capture=True)):
            np.asarray(normalized(files).at(0))
            with lock:
                seen.update(Path(sample.source_info()).name for sample in files.tensors)
            if not turn:
                begun.wait(60)

    in_threads(3, work)
    assert len(seen) == FILES
    assert set(seen.values()) == {1}


def test_random_values_belong_to_the_step_of_their_context(folder: str) -> None:
    """Of two contexts that share a loop, the one with the older batch draws for that batch."""

    def follow(capture: bool) -> list[Any]:
        loop = open_reader(folder).next_epoch(2, capture=capture)
        found = []
        for _ in range(3):
            noisy(next(loop)[0])
        contexts = [contextvars.copy_context() for _ in range(2)]
        batches = [context.run(next, loop)[0] for context in contexts]
        for context, files in zip(contexts, batches, strict=True):
            found += [bits(value) for value in context.run(noisy, files)]
        return found

    assert follow(True) == follow(False)


@pytest.mark.parametrize("capture", [True, False])
def test_who_drops_a_loop_and_when_does_not_matter(folder: str, capture: bool) -> None:
    """Random calls after it are those of its last step, until another one begins."""

    def draw_after(drop: Callable[[list[Any]], None]) -> Any:
        loops = [open_reader(folder).next_epoch(2, capture=capture)]
        next(loops[0])
        next(loops[0])
        drop(loops)
        found = [bits(random.uniform(shape=3, batch_size=2))]
        gc.collect()
        return [*found, bits(random.uniform(shape=3, batch_size=2))]

    def into_a_cycle(loops: list[Any]) -> None:
        cycle = [loops.pop()]
        cycle.append(cycle)

    expected = draw_after(lambda loops: None)
    assert draw_after(list.clear) == expected
    assert draw_after(into_a_cycle) == expected
    assert draw_after(lambda loops: in_threads(1, loops.clear)) == expected
