"""Promise: a loop may be left at any batch, by any way; the next one goes on where it was, bit by
bit, and nothing is left behind."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import gradiva
from gradiva import fn
from tests.capture.loop.loops import bits, make_folder, no_thread_is_left, noisy, open_reader
from tests.soaking import Figures, is_soak

__all__ = ["no_thread_is_left"]

pytestmark = [pytest.mark.full, pytest.mark.core, pytest.mark.usefixtures("no_thread_is_left")]

FILES, SIZE = 11, 2
BATCHES = -(-FILES // SIZE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("break"), FILES)


class LeftError(Exception):
    """What is raised inside of a loop."""


def some(reader: Any, capture: bool, most: int, way: str) -> list[Any]:
    """The bits of up to so many batches; then the loop is left."""
    found: list[Any] = []
    loop = reader.next_epoch(batch_size=SIZE, capture=capture)
    try:
        for files, _ in loop:
            found.append([bits(value) for value in noisy(files)])
            if len(found) == most:
                if way == "raise":
                    raise LeftError
                break
    except LeftError:
        pass
    return found


@pytest.mark.parametrize("way", ["break", "raise"])
@pytest.mark.parametrize("capture", [False, True])
def test_loops(folder: str, capture: bool, way: str, figures: Figures) -> None:
    """After each number of batches, and again in the loop that follows."""
    reader = open_reader(folder)
    wanted = [one for _ in range(3) for one in some(reader, False, BATCHES + 1, way)]
    tried = 0
    for first in range(1, BATCHES):
        for second in range(1, BATCHES - first) if is_soak() else (1,):
            reader = open_reader(folder)
            found = some(reader, capture, first, way) + some(reader, capture, second, way)
            while len(found) < 2 * BATCHES:
                found += some(reader, capture, BATCHES + 1, way)
            assert found == wanted[: len(found)], (first, second)
            tried += 1
    figures(loops=tried)


@pytest.mark.parametrize("way", ["close", "drop", "raise"])
def test_pipelines(folder: str, way: str, figures: Figures) -> None:
    """Closed, dropped, or left by an error of a source, with batches in its queues."""
    last = 1 << 30

    def source(info: Any) -> Any:
        if way == "raise" and info.iteration >= last:
            raise LeftError("of the source")
        return gradiva.tensor([float(info.idx_in_epoch)])

    def make() -> gradiva.Pipeline:
        pipe = gradiva.Pipeline(batch_size=SIZE, num_threads=2, seed=7)
        with pipe:
            files, _ = fn.readers.file(file_root=folder, random_shuffle=True)
            pipe.set_outputs(*noisy(files), fn.external_source(source, batch=False))
        return pipe

    pipe = make()
    wanted = [[bits(value) for value in pipe.run()] for _ in range(9)]
    pipe.close()
    for last in range(1, 9 if is_soak() else 5):
        pipe = make()
        assert [[bits(value) for value in pipe.run()] for _ in range(last)] == wanted[:last]
        if way == "raise":
            with pytest.raises(gradiva.GradivaError, match="of the source"):
                pipe.run()
        if way != "drop":
            pipe.close()
        del pipe
        gc.collect()
    figures(pipelines=last)


def test_readers_that_are_dropped_in_their_loops(folder: str, figures: Figures) -> None:
    for most in range(1, BATCHES):
        for capture in (False, True):
            loop = open_reader(folder).next_epoch(batch_size=SIZE, capture=capture)
            assert len([next(loop) for _ in range(most)]) == most
            del loop
    figures(loops=2 * (BATCHES - 1))
