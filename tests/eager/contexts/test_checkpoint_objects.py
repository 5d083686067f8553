"""States of `ExternalSource`, the external source of dynamic mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import ExternalSource, random
from gradiva.checkpoint import Checkpoint
from gradiva.eager.contexts.checkpoint_files import CheckpointError
from tests.capture.pipeline.test_checkpoint_sources import (
    Counter,
    Cursors,
    Shuffled,
    Stateful,
    generator,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*is repeated")  # the sources make single samples

OBJECTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "generator function": (lambda: generator, "raise"),
    "quiet": (lambda: generator, "quiet"),
    "generator": (generator, None),
    "shuffled": (Shuffled, "raise"),
    "stateful": (Stateful, None),
    "cursors": (Cursors, "raise"),
    "counter": (Counter, None),
}


def turn(source: ExternalSource) -> Any:
    try:
        value = source(2)
    except StopIteration:
        return "the end"
    return np.asarray((value + gradiva.random.uniform(batch_size=2)).as_array()).tolist()


@pytest.mark.parametrize("kind", OBJECTS)
def test_source_objects(kind: str) -> None:
    make, cycle = OBJECTS[kind]
    gradiva.random.set_seed(4)
    source = ExternalSource(make(), cycle=cycle)
    held, whole = [source.get_state()], []
    for _ in range(9):
        whole.append(turn(source))
        held.append(source.get_state())
    for number, state in enumerate(held[:-1]):
        again = ExternalSource(make(), cycle=cycle)
        again.set_state(state)
        assert [turn(again) for _ in range(number, 9)] == whole[number:], number


def test_a_captured_source_is_saved_where_the_loop_is() -> None:
    for make in (lambda: generator, Stateful, Cursors):
        whole: list[Any] = []
        held: list[Any] = []
        for capturing in (False, True):
            source = ExternalSource(make())
            loop = source.captured(2) if capturing else (source(2) for _ in range(9))
            for number, value in enumerate(loop):
                _ = (value * 2).as_array()
                (held if capturing else whole).append(source.get_state())
                if number == 3:
                    break
            after = source.get_state()
        assert held == whole
        assert after == whole[-1]
        again = ExternalSource(make())
        again.set_state(after)
        assert again.get_state() == after
        assert np.array_equal(again(2).as_array(), source(2).as_array())
    with pytest.raises(ValueError, match="ExternalSource: this is not the state of a source"):
        source.set_state({})


def test_a_damaged_state_of_a_source() -> None:
    source = ExternalSource(generator)
    feeds: list[Any] = [{}, {"history": []}, {"history": [[1, 2, 1]]}, {"history": 3}, 4, None]
    for feed in feeds:
        with pytest.raises(CheckpointError, match="this is not the state of a callable without"):
            source.set_state({"position": 0, "ended": False, "feed": feed})
    with pytest.raises(CheckpointError, match="has neither of state_dict and load_state_dict"):
        source.set_state({"position": 0, "ended": 0, "feed": {"history": [[0, 0, 1]], "own": {}}})


@pytest.mark.parametrize("capture", [False, True])
def test_a_loop_that_forgot_to_restore_says_so(capture: bool, tmp_path: Path) -> None:
    """`load` after `register` needs `restore`; the other way round nothing is said."""

    def loop(reader: Any) -> Any:
        return reader.next_epoch(batch_size=1, capture=capture)

    def step(source: Any) -> Any:
        return next(iter(source.captured(2))) if capture else source(2)

    def objects() -> tuple[Any, Any, Any]:
        return reader_of_names(tmp_path), ExternalSource(generator), random.RNG(3)

    held = Checkpoint()
    for one in objects():
        held.register(one)
    held.collect()
    text = held.serialize()

    forgot = Checkpoint()
    reader, source, rng = objects()
    for one in (reader, source, rng):
        forgot.register(one)
    forgot.deserialize(text)
    with pytest.warns(UserWarning, match=r"readers.file begins .* call `restore\(\)`") as said:
        loop(reader)
    assert said[0].filename == __file__
    loop(reader)  # once is enough
    with pytest.warns(UserWarning, match="ExternalSource begins where it is"):
        step(source)
    step(source)

    forgot.deserialize(text)
    forgot.restore()
    loop(reader)
    step(source)

    forgot.deserialize(text)
    reader.set_state(reader.get_state())
    source.set_state(source.get_state())
    loop(reader)
    step(source)

    right = Checkpoint()
    right.deserialize(text)
    reader, source, rng = objects()
    for one in (reader, source, rng):
        right.register(one)
    loop(reader)
    step(source)


def reader_of_names(folder: Path) -> Any:
    for name in "ab":
        (folder / name).write_bytes(b"x")
    return gradiva.readers.File(files=[str(folder / "a"), str(folder / "b")])
