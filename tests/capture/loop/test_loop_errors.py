"""Captured loops when something goes wrong: as without capture, and nothing is left behind."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random, readers
from gradiva.capture.loop import signatures
from gradiva.capture.runtime.program import Program
from gradiva.eager.operators.interpreter import current_interpreter
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("loop"))


@pytest.fixture
def damaged(folder: str, tmp_path: Path) -> str:
    copy = tmp_path / "damaged"
    shutil.copytree(folder, copy)
    (copy / "b" / "05.jpg").write_bytes(b"\xff\xd8\xff" + b"\x00" * 50)
    return str(copy)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", [7, 8, 9])
def test_a_damaged_file(damaged: str, strict: bool, seed: int) -> None:
    """The same error, at the same step and line, whether read in the first step or ahead."""

    def follow(capture: bool) -> list[Any]:
        reader = readers.File(file_root=damaged, random_shuffle=True, seed=seed)
        found: list[Any] = []
        for files, _ in reader.next_epoch(2, capture=capture, strict=strict and capture):
            try:
                found.append(bits(normalized(files)))
            except gradiva.OperatorRuntimeError as error:
                found.append(str(error))
        return found

    eager = follow(False)
    errors = [entry for entry in eager if isinstance(entry, str)]
    assert len(errors) == 1
    assert "05.jpg" in errors[0]
    assert "loops.py" in errors[0]
    if strict and eager.index(errors[0]) == 0:
        return  # nothing was traced in the first step, so strict refuses the second
    assert follow(True) == eager


def test_a_file_that_is_gone(folder: str, tmp_path: Path) -> None:
    def follow(capture: bool) -> list[Any]:
        copy = tmp_path / str(capture)
        shutil.copytree(folder, copy)
        reader = readers.File(file_root=str(copy), random_shuffle=True, seed=2)
        (copy / "b" / "05.jpg").unlink()
        found: list[Any] = []
        loop = reader.next_epoch(2, capture=capture)
        while True:
            try:
                files, _ = next(loop)
            except StopIteration:
                return found
            except gradiva.OperatorRuntimeError as error:
                found.append(str(error).replace(str(copy), ""))
                continue
            found.append(bits(normalized(files)))

    eager = follow(False)
    (error,) = (entry for entry in eager if isinstance(entry, str))
    assert "05.jpg" in error
    assert "in follow: files, _ = next(loop)" in error
    assert follow(True) == eager


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_exception_in_the_body(folder: str, kind: type[BaseException]) -> None:
    def follow(capture: bool) -> list[Any]:
        reader = open_reader(folder)
        found: list[Any] = []
        for stop in (0, 1, 3):
            try:
                for step, (files, _) in enumerate(reader.next_epoch(2, capture=capture)):
                    found.append([bits(value) for value in noisy(files)])
                    if step == stop:
                        raise kind("user")
            except kind:
                found.append((reader.get_state(), bits(random.uniform(batch_size=2))))
        return found

    assert follow(True) == follow(False)


def test_a_defect_of_the_compiler_stops_no_loop(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever happens in the thread that computes ahead, the calls are then made at once."""

    def broken(*arguments: Any, **options: Any) -> None:
        raise ZeroDivisionError("defect")

    monkeypatch.setattr(Program, "run_step", broken)
    reader = readers.File(file_root=folder)
    loop: Any = reader.next_epoch(2, capture=True)
    assert sum(len(gradiva.decoders.image(files)) for files, _ in loop) == 11
    (entry,) = loop.explain()
    assert (entry.count, entry.first_step) == (5, 1)
    assert "ZeroDivisionError('defect')" in entry.reason


def test_a_place_is_never_ahead(folder: str) -> None:
    """The state is that of what was delivered, however far the thread is."""
    reader = open_reader(folder)
    loop = reader.next_epoch(1, capture=True)
    expected = open_reader(folder)
    for _ in expected.next_epoch(1):
        normalized(next(loop)[0])
        for _ in range(50):
            assert reader.get_state() == expected.get_state()


def test_arguments_that_are_new_at_each_step_do_not_pile_up(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signatures, "_REMEMBERED", 20)
    source = gradiva.ExternalSource(lambda: [np.zeros((2, 3), np.float32)] * 2)
    loop: Any = source.captured(batch_size=2)
    for step, batch in zip(range(100), loop, strict=False):
        assert np.asarray(batch * step + 1)[0, 0, 0] == 1
        assert np.asarray(batch + 5)[0, 0, 0] == 5
    assert len(loop._signatures._numbers) <= 25
    assert loop.explain().served >= 95


def test_a_loop_that_ended_in_another_thread(folder: str) -> None:
    """It must leave nothing in the context it was run in."""
    loops = [open_reader(folder).next_epoch(2, capture=True)]
    normalized(next(loops[0])[0])
    assert current_interpreter() is not None
    user = threading.Thread(target=loops.clear)
    user.start()
    user.join()
    gradiva.flip(np.zeros((2, 2, 1), np.uint8))
    assert current_interpreter() is None


def test_imread_in_a_body(folder: str) -> None:
    path = f"{folder}/b/05.jpg"
    expected = bits(gradiva.imread(path))
    for files, _ in open_reader(folder).next_epoch(4, capture=True):
        normalized(files)
        assert bits(gradiva.imread(path)) == expected
    with gradiva.EvalMode.deferred:
        assert bits(gradiva.imread([path])) == bits(gradiva.imread([path]))
