"""Captured loops that were left, and are still held: what is not theirs is as without them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, ops, pipeline_def
from gradiva.capture.recording.free_node import FreeNode
from gradiva.eager.operators.interpreter import runs_at_once

pytestmark = pytest.mark.core


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = [tmp_path / f"{number}.bin" for number in range(6)]
    for number, path in enumerate(names):
        path.write_bytes(bytes([number]))
    return [str(path) for path in names]


def read(files: list[str]) -> Iterator[Any]:
    made: Iterator[Any] = gradiva.readers.File(files=files).next_epoch(batch_size=2, capture=True)
    return made


SOURCES: dict[str, Callable[[list[str]], Any]] = {
    "fn.readers": lambda files: fn.readers.file(files=files)[0],
    "ops.readers": lambda files: ops.readers.File(files=files)()[0],
    "external_source": lambda files: fn.external_source(source=lambda: [np.zeros(1)] * 2),
    "a call on a node": lambda files: fn.copy(fn.readers.file(files=files)[0]),
    "arithmetic": lambda files: fn.readers.file(files=files)[0] + 1,
}


@pytest.mark.parametrize("source", SOURCES)
def test_after_break(source: str, files: list[str]) -> None:
    loop = read(files)
    for _ in loop:
        break
    node = SOURCES[source](files)
    assert isinstance(node, FreeNode)
    pipe = gradiva.Pipeline(2, 1, None)
    pipe.set_outputs(node)
    assert len(pipe.run()[0]) == 2
    assert len(list(loop)) == 2  # it goes on, and its calls are captured


@pytest.mark.parametrize("source", SOURCES)
def test_in_the_body(source: str, files: list[str]) -> None:
    """As in the body of a loop that is not captured."""
    found = [SOURCES[source](files) for _ in read(files)]
    assert all(isinstance(node, FreeNode) for node in found)
    assert len(found) == 3


def test_after_an_error_whose_traceback_is_held(files: list[str]) -> None:
    held: list[BaseException] = []
    try:
        for data, _ in read(files):
            gradiva.resize(data, size=(2, 2))
    except gradiva.GradivaError as error:
        held.append(error)
    assert held
    assert isinstance(fn.readers.file(files=files)[0], FreeNode)
    assert runs_at_once()


def test_loops_within_loops_that_are_held(files: list[str]) -> None:
    loops = [read(files) for _ in range(3)]
    for loop in loops:
        next(loop)
    del loops[1]
    assert runs_at_once()
    assert isinstance(fn.readers.file(files=files)[0], FreeNode)


def test_a_generator_that_another_thread_has_begun(files: list[str]) -> None:
    def values() -> Iterator[Any]:
        for data, _ in read(files):
            yield data + 1

    generator, found = values(), []
    other = threading.Thread(target=lambda: found.append(next(generator)))
    other.start()
    other.join()
    assert isinstance(fn.readers.file(files=files)[0], FreeNode)
    assert np.asarray(found[0].at(1)).tolist() == [2]
    with pytest.raises(gradiva.OperatorRuntimeError, match="belongs to the thread"):
        next(generator)


def test_pipelines_are_as_always(files: list[str]) -> None:
    loop = read(files)
    next(loop)

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def pipe() -> Any:
        return fn.readers.file(files=files)[0]

    with pipe() as made:
        assert [int(one[0]) for one in made.run()[0].as_array()] == [0, 1, 2]
    assert not any(isinstance(value, FreeNode) for value in next(loop))
