"""Stored pipelines with videos, both ways: of videos without a tag for their colors, which both
libraries take for BT.601."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradiva
from tests.ops.video.bars import as_array, encoded, write

from .reference import dali

Define = Callable[[Any], Any]
NAMES = ("experimental.readers.video", "decoders.video", "experimental.inputs.video")
"""Those that the tests here store."""


def pipeline(library: Any, define: Define) -> Any:
    made = library.Pipeline(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
    with made:
        outputs = define(library.fn)
        made.set_outputs(*(outputs if isinstance(outputs, list | tuple) else (outputs,)))
    return made


def samples(made: Any, fed: dict[str, list[Any]], runs: int) -> list[list[bytes]]:
    made.build()
    for name, given in fed.items():
        made.feed_input(name, given)
    found = []
    for _ in range(runs):
        outputs = made.run()
        found.append([one.at(i).tobytes() for one in outputs for i in range(len(one))])
    return found


def check(define: Define, fed: dict[str, list[Any]], runs: int) -> None:
    stored = pipeline(gradiva, define).serialize()
    stored_there = pipeline(dali, define).serialize()
    expected = samples(pipeline(gradiva, define), fed, runs)
    assert len(set(map(str, expected))) == runs
    assert samples(pipeline(dali, define), fed, runs) == expected
    assert samples(dali.Pipeline.deserialize(stored), fed, runs) == expected
    assert samples(gradiva.Pipeline.deserialize(stored_there), fed, runs) == expected
    assert samples(gradiva.Pipeline.deserialize(stored), fed, runs) == expected


@pytest.mark.parametrize("numbers", ["none", "scalar", "sequence"])
def test_reader(numbers: str, tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.mp4", frames=6, first=7 * number)

    def define(fn: Any) -> Any:
        return fn.experimental.readers.video(
            name="R",
            filenames=[str(tmp_path / f"{number}.mp4") for number in range(3)],
            labels=[4, 0, 9],
            sequence_length=2,
            stride=2,
            step=1,
            enable_frame_num=numbers,
            enable_timestamps=True,
            pad_mode="edge",
        )

    check(define, {}, 4)


def test_decoder() -> None:
    videos = [as_array(encoded(frames=7)), as_array(encoded(frames=11, size=(40, 72)))]

    def define(fn: Any) -> Any:
        fed = fn.external_source(name="V")
        return fn.decoders.video(fed, frames=[3, 1, 6]), fn.decoders.video(
            fed, start_frame=2, stride=2, sequence_length=4, pad_mode="constant", fill_value=[7]
        )

    check(define, {"V": videos}, 1)


def test_input() -> None:
    def define(fn: Any) -> Any:
        return fn.experimental.inputs.video(name="V", sequence_length=3, last_sequence_policy="pad")

    check(define, {"V": [as_array(encoded(frames=11))]}, 2)
