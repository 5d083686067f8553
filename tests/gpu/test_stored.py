"""Pipelines on a GPU as files: where things run is written and read. No GPU is needed for that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def, types
from gradiva.capture.serialization import files
from tests.tiers import few

from .recipes import BODIES, SIZE, bits, device, in_loop, numbered, outputs, pipeline
from .shim import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="g++ is not there")


def fed(body: Any, where: str) -> Pipeline:
    pipe = Pipeline(SIZE, 2, 0, seed=11)
    with pipe:
        made = body(fn.external_source(name="images", layout="HWC", device=where))
        pipe.set_outputs(*(made if isinstance(made, list | tuple) else (made,)))
    return pipe


def read(data: bytes, name: str = "images") -> Pipeline:
    return files.load(Pipeline, data, None, {}, {name: numbered})


def lines(pipe: Pipeline) -> list[str]:
    """What a pipeline calls where."""
    return [f"{n.operator.name} {n.device}" for n in pipe.graph.nodes if n.operator.name != "copy"]


@pytest.mark.parametrize("name", few(BODIES, "prepared"))
def test_there_and_back(name: str) -> None:
    body = BODIES[name]
    written = fed(body, "gpu")
    data = written.serialize()
    again = read(data)
    assert again.device_id == 0
    assert sorted(lines(again)) == sorted(lines(written))
    expected = in_loop(body, "cpu", 3)
    with device():
        assert outputs(again, 3) == expected


def test_transfers_are_no_operators() -> None:
    """As in DALI: a name that is made on one device and wanted on the other."""

    def body(images: Any) -> Any:
        return fn.flip(images.gpu()).cpu(), images, images.gpu()

    data = fed(body, "cpu").serialize()
    assert b"Copy" not in data
    again = read(data)
    with device():
        made = again.run()
        assert [one.device.device_type for one in made] == ["cpu", "cpu", "gpu"]
        assert bits(made[1]) == bits(made[2])
        again.close()
        del made


def test_conditions_and_arithmetic() -> None:
    @pipeline_def(batch_size=SIZE, num_threads=2, seed=5, device_id=0, enable_conditionals=True)
    def define(where: str) -> Any:
        images = fn.external_source(name="images", layout="HWC", device=where)
        if fn.random.coin_flip(dtype=types.BOOL):
            images = fn.flip(images) + np.uint8(3)
        else:
            images = fn.brightness(images, brightness=0.5)
        return images, images[1:3], images.shape()

    def run(pipe: Pipeline) -> list[Any]:
        return outputs(read(pipe.serialize()), 3)

    expected = run(define("cpu"))
    with device():
        assert run(define("gpu")) == expected


def test_a_pipeline_of_the_cpu_asks_for_no_gpu() -> None:
    pipe = pipeline(BODIES["colors"], "cpu")
    again = read(pipe.serialize(), "__ExternalSource_0")
    assert again.device_id is None
    again.close()
