"""`gradiva.capture`: functions recorded as graphs, and compiled once for all sizes."""

from __future__ import annotations

import threading
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, random

from .loops import bits

pytestmark = pytest.mark.core

GAIN = 1.5


def images(count: int, seed: int = 0, channels: int = 3) -> Any:
    noise = np.random.default_rng(seed)
    shapes = [(9 + (seed + i) % 7, 8 + i % 5, channels) for i in range(count)]
    arrays = [noise.integers(0, 255, shape, np.uint8) for shape in shapes]
    return gradiva.as_batch(arrays, layout="HWC")


def work(batch: Any) -> Any:
    small = gradiva.resize(batch, size=(6, 6))
    return gradiva.crop_mirror_normalize(small, mean=[90.0], std=[2.0]), gradiva.flip(small) * GAIN


def test_one_compilation_for_all_sizes() -> None:
    compiled = capture.compile(work)
    for step in range(100):
        batch = images(1 + step % 9, step)
        assert bits_of(compiled(batch)) == bits_of(work(batch))
    assert compiled.compilations == 1
    assert "fused" in str(compiled.graph)


def bits_of(values: Any) -> Any:
    return [bits(value) for value in values]


def by_global(change: bool) -> Iterator[Any]:
    def function(batch: Any) -> Any:
        return batch * GLOBAL

    yield function
    globals()["GLOBAL"] = 4
    yield


GLOBAL = 3


def by_closure(change: bool) -> Iterator[Any]:
    factor = 3

    def function(batch: Any) -> Any:
        return batch * factor

    yield function
    factor = 4
    yield


def by_attribute(change: bool) -> Iterator[Any]:
    class Model:
        factor = 3

        def __call__(self, batch: Any) -> Any:
            return batch * self.factor

    model = Model()
    yield model
    model.factor = 4
    yield


def by_default(change: bool) -> Iterator[Any]:
    def function(batch: Any, factor: int = 3) -> Any:
        return batch * factor

    yield function
    function.__defaults__ = (4,)
    yield


def by_list(change: bool) -> Iterator[Any]:
    factors = np.array([3, 3, 3], np.int32)

    def function(batch: Any) -> Any:
        return batch * factors

    yield function
    factors[...] = 4
    yield


def by_large_array(change: bool) -> Iterator[Any]:
    factors = np.full((1, 1, 3, 9), 3, np.int32)[..., 0]
    large = np.full((64, 64, 1), 3, np.int32)

    def function(batch: Any) -> Any:
        return gradiva.crop(large, crop=(1, 1)) * batch * 1 + np.int32(0) * factors[0, 0, 0]

    yield function
    large[...] = 4
    yield


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (by_global, 1),
        (by_closure, 1),
        (by_attribute, 1),
        (by_default, 1),
        (by_list, 1),
        (by_large_array, 0),
    ],
)
def test_a_constant_is_never_stale(kind: Any, more: int) -> None:
    changes = kind(True)
    compiled = capture.compile(next(changes))
    for step in range(10):
        batch = images(1 + step % 3, step)
        assert bits(compiled(batch)) == bits(batch * 3)
    assert compiled.compilations == 1
    next(changes)
    for step in range(10):
        batch = images(1 + step % 3, step)
        assert bits(compiled(batch)) == bits(batch * 4)
    assert compiled.compilations == 1 + more


@pytest.mark.parametrize("kind", [gradiva.tensor, np.asarray])
def test_small_inputs_are_data(kind: Any) -> None:
    @capture.compile
    def scaled(batch: Any, factor: Any, *, offset: Any) -> Any:
        return batch * factor + offset

    for step in range(20):
        batch = images(2 + step % 3, step)
        factor, offset = kind(np.full(1, step, np.float32)), kind(np.full(1, step))
        expected = batch * factor + offset
        assert bits(scaled(batch, factor, offset=offset)) == bits(expected)
    assert scaled.compilations == 1


def test_other_types_compile_anew() -> None:
    compiled = capture.compile(lambda batch: gradiva.flip(batch) * 2)
    for value in (images(2), images(3, 1), gradiva.cast(images(2), dtype=gradiva.float32)):
        assert bits(compiled(value)) == bits(gradiva.flip(value) * 2)
    assert compiled.compilations == 2


def test_tensors_and_batches_by_the_same_line() -> None:
    @capture.compile
    def noisy(value: Any) -> Any:
        return gradiva.flip(value) + random.normal(value, stddev=5.0), random.uniform()

    def twice(function: Any) -> list[Any]:
        random.set_seed(3)
        tensor = images(1).select(0)
        return [bits_of(function(value)) for value in (tensor, images(3), tensor, images(1))]

    assert twice(noisy) == twice(noisy.function)


def test_random_values_and_numbers() -> None:
    def function(batch: Any) -> Any:
        coin = random.coin_flip(batch_size=len(batch))
        noise = random.normal(batch, stddev=3.0)
        return gradiva.flip(batch, horizontal=coin) + noise, random.uniform(range=(0, 1))

    compiled = capture.compile(function)

    def several(called: Any) -> Any:
        random.set_seed(11)
        found = [bits_of(called(images(1 + step % 4, step))) for step in range(6)]
        return found, random.get_default_rng().get_state()

    assert several(compiled) == several(function)
    assert compiled.compilations == 1


def test_results_keep_their_structure() -> None:
    pair = namedtuple("pair", "left right")

    @capture.compile()
    def nested(batch: Any, scale: float = 2.0) -> Any:
        return {"a": [batch * scale, 5], "b": pair(gradiva.flip(batch), None)}, batch

    batch = images(2)
    found, same = nested(batch)
    assert same is batch
    assert found["a"][1] == 5
    assert type(found["b"]) is pair
    assert type(found["a"][0]) is gradiva.Batch
    assert bits(found["a"][0]) == bits(batch * 2.0)
    assert bits(nested(batch, scale=3.0)[0]["a"][0]) == bits(batch * 3.0)
    assert vars(nested)["__name__"] == "nested"
    assert "2 compilations" in repr(nested)


def test_methods() -> None:
    class Model:
        def __init__(self, gain: int) -> None:
            self.gain = gain

        @capture.compile
        def forward(self, batch: Any) -> Any:
            return batch * self.gain

    batch = images(2)
    for gain in (2, 5, 2):
        assert bits(Model(gain).forward(batch)) == bits(batch * gain)


def test_data_looked_at_in_the_body() -> None:
    @capture.compile
    def branching(batch: Any) -> Any:
        small = gradiva.resize(batch, size=(4, 4))
        return small * 2 if np.asarray(small).mean() > 100 else small + 1

    for value in (10, 200, 10):
        batch = gradiva.as_batch(np.full((2, 6, 6, 3), value, np.uint8), layout="HWC")
        assert np.asarray(branching(batch)).flat[0] == (400 if value == 200 else 11)


def test_errors_name_the_line() -> None:
    def function(batch: Any) -> Any:
        return gradiva.crop(batch, crop=(500, 500)) + 1

    with pytest.raises(gradiva.GradivaError) as eager:
        function(images(2))
    with pytest.raises(type(eager.value)) as caught:
        capture.compile(function)(images(2))
    assert str(caught.value) == str(eager.value)
    assert "test_compile.py" in str(caught.value)
    with pytest.raises(TypeError, match="expected a function"):
        capture.compile(3)  # type: ignore[call-overload]


@pytest.mark.full
def test_several_threads() -> None:
    compiled = capture.compile(work)
    batches = [images(1 + seed % 4, seed) for seed in range(12)]
    expected = [bits_of(work(batch)) for batch in batches]
    found: list[Any] = [None] * 4

    def run(number: int) -> None:
        found[number] = [bits_of(compiled(batch)) for batch in batches]

    users = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join(60)
    assert found == [expected] * 4
    assert 1 <= compiled.compilations <= 4


def test_trace() -> None:
    batch = images(2)
    graph = capture.trace(
        lambda x, y: {"sum": gradiva.flip(x) + y}, batch, np.full(1, 2.0, np.float32)
    )
    assert isinstance(graph, capture.Graph)
    assert str(graph).count("input") >= 2
    assert "flip" in str(graph)
    assert "test_compile.py" in str(next(iter(graph.locations.values()))[0])
    assert len(capture.trace(work, batch.type).outputs) == 2
    assert len(capture.trace(lambda x, y: x, batch.tensors[0], y=1)) == 1
    with pytest.raises(TypeError, match="returned no symbol"):
        capture.trace(lambda x: 3, batch)
    with pytest.raises(TypeError, match="symbol"):
        capture.trace(bool, batch)


@pytest.mark.parametrize("kind", ["batch", "tensor", "array"])
def test_a_value_that_is_used_twice_is_one_input(kind: str) -> None:
    """A batch made by gradiva.batch and used twice in compiled code is one input there, and not
    copied; what is written between two uses is another one."""
    array = np.arange(2 * 5 * 5, dtype=np.int32).reshape(2, 5, 5)
    made: Any = array
    if kind != "array":
        made = gradiva.batch(array) if kind == "batch" else gradiva.tensor(array)
    sources: list[Any] = []

    def twice(value: Any) -> Any:
        results = [gradiva.reshape(value, shape=[-1]) for _ in range(2)]
        sources.extend(one.pending.inputs[0].source for one in results)
        np.asarray(made)[0, 0, 0] = 7
        return *results, gradiva.reshape(value, shape=[-1])

    compiled = capture.compile(twice)
    one, other, third = compiled(made)
    assert sources[0] is sources[1]
    assert compiled.graph is not None
    names = [node.operator.name for node in compiled.graph]
    assert names == ["input", "input", "reshape", "reshape"]
    assert bits_of([one]) == bits_of([other])
    assert np.asarray(one).reshape(-1)[0] == 0
    assert np.asarray(third).reshape(-1)[0] == 7
