"""`experimental.inputs.video`: videos that are fed, and what runs deliver of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

from ..video.bars import as_array, encoded, numbers_of


@contextmanager
def piped(length: int = 4, batch_size: int = 3, **options: Any) -> Iterator[Any]:
    names = ("last_sequence_policy", "blocking", "no_copy")
    own = {name: options.pop(name) for name in names if name in options}

    def pipe() -> Any:
        return fn.experimental.inputs.video(name="V", sequence_length=length, **own)

    settings = {"batch_size": batch_size, "num_threads": 2, "device_id": None, **options}
    made = pipeline_def(pipe)(**settings)
    try:
        yield made
    finally:
        made.close()


def shown(pipe: Any) -> list[list[int]]:
    (batch,) = pipe.run()
    return [numbers_of(batch.at(k)) for k in range(len(batch))]


def video(frames: int, **options: Any) -> Any:
    return as_array(encoded(frames=frames, **options))


def test_sequences_of_one_video_after_another() -> None:
    with piped() as pipe:
        pipe.feed_input("V", [video(20)])
        pipe.feed_input("V", np.array([[video(7)]]))
        assert shown(pipe) == [[*range(k, k + 4)] for k in (0, 4, 8)]
        assert shown(pipe) == [[12, 13, 14, 15], [16, 17, 18, 19]]
        assert shown(pipe) == [[0, 1, 2, 3], [4, 5, 6]]
        with pytest.raises(gradiva.OperatorRuntimeError, match="no data for this batch"):
            pipe.run()
        pipe.feed_input("V", [video(3)])
        assert shown(pipe) == [[0, 1, 2]]


def test_filled_up() -> None:
    with piped(last_sequence_policy="pad") as pipe:
        pipe.feed_input("V", [video(7)])
        (batch,) = pipe.run()
        assert [one.shape for one in batch] == [(4, 32, 64, 3)] * 2
        assert not np.asarray(batch.at(1))[3].any()


def test_waits_for_who_feeds() -> None:
    with piped(blocking=True) as pipe:
        feeder = threading.Thread(target=pipe.feed_input, args=("V", [video(4)]))
        feeder.start()
        assert shown(pipe) == [[0, 1, 2, 3]]
        feeder.join()


def test_goes_on_within_a_video() -> None:
    with piped(batch_size=2, enable_checkpointing=True) as pipe:
        pipe.feed_input("V", [video(20)])
        pipe.run()
        saved = pipe.checkpoint()
        rest = shown(pipe)
    with piped(batch_size=2, enable_checkpointing=True, checkpoint=saved) as pipe:
        pipe.feed_input("V", [video(20)])
        assert shown(pipe) == rest == [[8, 9, 10, 11], [12, 13, 14, 15]]


def test_bad_videos() -> None:
    with piped() as pipe:
        with pytest.raises(gradiva.OperatorValueError, match="a batch of one"):
            pipe.feed_input("V", [video(3), video(4)])
        with pytest.raises(gradiva.OperatorTypeError, match="dtype"):
            pipe.feed_input("V", [np.zeros(4, np.float32)])
        pipe.feed_input("V", [as_array(b"This is a text.")])
        pipe.feed_input("V", [video(4)])
        with pytest.raises(gradiva.OperatorRuntimeError, match="no video"):
            pipe.run()
        assert shown(pipe) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    "arguments", [{"length": 0}, {"last_sequence_policy": "all"}], ids=["length", "policy"]
)
def test_refusals(arguments: dict[str, Any]) -> None:
    with pytest.raises(gradiva.OperatorValueError), piped(**arguments):
        pass
