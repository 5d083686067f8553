"""Promise: pipelines, iterators, sources, states and values that are given what nobody should give
work, or say which argument is wrong."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError, fn
from gradiva.plugin import numpy as iterators
from tests.ops.video.bars import as_array, encoded
from tests.soaking import Figures, scaled

from .test_hostile_readers import anything

IMAGES = gradiva.batch([np.zeros((2, 2, 3), np.uint8)] * 3)
PHOTOGRAPHS = str(Path(gradiva.__file__).parent / "photographs")
VIDEO = [as_array(encoded(frames=3))]
LEFT_OUT = {"self", "device", "device_id", "args", "kwargs"}


def parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in LEFT_OUT]


def pipeline(given: dict[str, Any]) -> None:
    with closing(gradiva.Pipeline(**{"batch_size": 2, "num_threads": 1, **given})) as pipe:
        with pipe:
            pipe.set_outputs(*fn.readers.file(file_root=PHOTOGRAPHS))
        pipe.run()


def iterator(kind: Any) -> Callable[[dict[str, Any]], None]:
    def made(given: dict[str, Any]) -> None:
        with closing(gradiva.Pipeline(batch_size=2, num_threads=1)) as pipe:
            with pipe:
                pipe.set_outputs(fn.readers.file(file_root=PHOTOGRAPHS, name="r")[1])
            usual = {"pipelines": [pipe], "output_map": ["y"], "reader_name": "r"}
            for number, _ in enumerate(kind(**{**usual, **given})):
                if number == 3:
                    break

    return made


def fed(given: dict[str, Any]) -> None:
    given = {"source": lambda: np.zeros((2, 3), np.float32), **given}
    with closing(gradiva.Pipeline(batch_size=2, num_threads=1)) as pipe:
        with pipe:
            outputs = fn.external_source(**given)
            several = isinstance(outputs, list | tuple)
            pipe.set_outputs(*(outputs if several else [outputs]))
        pipe.run()


def fed_videos(given: dict[str, Any]) -> None:
    given = {"sequence_length": 2, "data": VIDEO, "pixels": 0, **given}
    data, pixels = given.pop("data"), given.pop("pixels")
    with closing(gradiva.Pipeline(batch_size=2, num_threads=1)) as pipe:
        with pipe:
            frames = fn.experimental.inputs.video(**{**given, "name": "V"})
            pipe.set_outputs(frames)
        pipe.feed_input("V", data if pixels == 0 else [np.asarray(pixels)])
        pipe.run()


def source(given: dict[str, Any]) -> None:
    size = given.pop("size", None)
    arrays = iter([np.zeros((2, 3), np.float32)] * 3)
    with suppress(StopIteration):
        gradiva.ExternalSource(**{"source": arrays, **given})(batch_size=size)


def epoch(given: dict[str, Any]) -> None:
    next(iter(gradiva.readers.File(file_root=PHOTOGRAPHS).next_epoch(**given)))


def bucket(given: dict[str, Any]) -> None:
    made = gradiva.samplers.Bucket(**given)
    next(gradiva.readers.File(file_root=PHOTOGRAPHS, bucket=made).next_epoch())


def batcher(given: dict[str, Any]) -> None:
    data = given.pop("data", 1)
    with gradiva.serve.Batcher(**{"fn": lambda batch: batch, **given}) as made:
        made.submit(data)


def state(given: dict[str, Any]) -> None:
    reader = gradiva.readers.File(file_root=PHOTOGRAPHS)
    reader.set_state({**reader.get_state(), **given})
    for _ in reader.next_epoch(batch_size=2):
        break


def weights(given: dict[str, Any]) -> None:
    reader = gradiva.readers.File(file_root=PHOTOGRAPHS, sampler="weighted")
    files, _ = next(reader.next_epoch(batch_size=2))
    if "weights" in given:
        reader.set_weights(given["weights"])
    reader.feedback(given.get("positions", files), given.get("scores", [1.0, 1.0]))
    next(reader.next_epoch(batch_size=2))


def checkpoint(given: dict[str, Any]) -> None:
    made = gradiva.checkpoint.Checkpoint()
    if "name" in given:
        made.register(gradiva.random.RNG(1), given["name"])
    if "object" in given:
        made.register(given["object"], "a")
    if "text" in given:
        made.deserialize(given["text"])
    if "path" in given:
        made.register(gradiva.random.RNG(1), "b")
        made.collect()
        made.save(given["path"])
    if "file" in given:
        made.load(given["file"])


VALUES: dict[str, Callable[[Any], Any]] = {
    "at": IMAGES.at,
    "select": IMAGES.select,
    "batch": gradiva.batch,
    "as_batch": gradiva.as_batch,
    "as_tensor": gradiva.as_tensor,
    "layout": lambda value: gradiva.batch([np.zeros((2, 2, 3), np.uint8)], layout=value),
    "dtype": lambda value: gradiva.batch([np.zeros((2, 2, 3), np.uint8)], dtype=value),
    "imread": gradiva.imread,
    "generator": gradiva.random.RNG,
    "seed": lambda value: gradiva.random.uniform(batch_size=2, seed=value),
    "size": lambda value: gradiva.random.uniform(batch_size=value, shape=0),
    "shown": lambda value: gradiva.show(IMAGES, size=value),
    "boxes": lambda value: gradiva.show(IMAGES, boxes=value),
    "stored": gradiva.Pipeline.deserialize,
    "quarantine": gradiva.Quarantine,
}


def value(given: dict[str, Any]) -> None:
    for name, one in given.items():
        VALUES[name](one)


KINDS: dict[str, tuple[Callable[[dict[str, Any]], None], list[str]]] = {
    "Pipeline": (pipeline, parameters(gradiva.Pipeline.__init__)),
    "generic": (
        iterator(iterators.DALIGenericIterator),
        parameters(iterators.DALIGenericIterator.__init__),
    ),
    "ragged": (
        iterator(iterators.DALIRaggedIterator),
        parameters(iterators.DALIRaggedIterator.__init__),
    ),
    "external_source": (fed, parameters(fn.external_source)),
    "inputs.video": (fed_videos, [*parameters(fn.experimental.inputs.video), "data", "pixels"]),
    "ExternalSource": (source, [*parameters(gradiva.ExternalSource.__init__), "size"]),
    "next_epoch": (epoch, ["batch_size", "ctx", "capture", "strict", "bucket"]),
    "Bucket": (bucket, parameters(gradiva.samplers.Bucket.__init__)),
    "Batcher": (batcher, [*parameters(gradiva.serve.Batcher.__init__), "data"]),
    "set_state": (state, ["epoch", "index", "size", "seed", "sampler", "bucket", "batch"]),
    "set_weights": (weights, ["weights", "positions", "scores"]),
    "Checkpoint": (checkpoint, ["name", "object", "text", "path", "file"]),
    "values": (value, [*VALUES]),
}
MOST: dict[str, int] = {"values": 100}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_given(
    name: str, figures: Figures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    attempt, known = KINDS[name]
    said: list[str] = []
    taken = refused = 0
    for number in range(scaled(MOST.get(name, 30))):
        dice = random.Random(f"{name} {number}")
        given = {key: anything(dice) for key in dice.sample(known, dice.choice((1, 1, 2)))}
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                attempt(given)
                taken += 1
            except GradivaError as error:
                str(error).encode()
                refused += 1
            except IndexError as error:  # of subscripts, as of lists
                said.append(str(error))
                refused += 1
        assert not [one for one in heard if issubclass(one.category, RuntimeWarning)]
    assert refused
    assert all(text.startswith("expected a ") for text in said)
    figures(taken=taken, refused=refused)
