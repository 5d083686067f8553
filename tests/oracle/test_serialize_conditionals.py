"""Stored pipelines with conditionals, both ways: their branches survive."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.fn
import gradiva.math
import gradiva.types
from gradiva.capture.serialization.reader import read_pipeline
from tests.capture.recording.conditional_forms import FORMS

from .reference import dali, fn, math, types

SIZE = 6
OPTIONS: dict[str, Any] = {
    "batch_size": SIZE, "num_threads": 1, "device_id": None, "seed": 7, "exec_pipelined": False,
    "exec_async": False, "prefetch_queue_depth": 1,
}  # fmt: skip
NOISE = np.random.default_rng(3)
GIVEN: dict[str, list[Any]] = {
    "x": [np.int32(value) for value in (0, 1, 2, 3, 3, 0)],
    "y": [np.int32(value) for value in (1, 1, 1, 0, 3, 3)],
    "images": [
        NOISE.integers(0, 256, shape, np.uint8)
        for shape in [(9, 12, 3), (13, 8, 3), (8, 8, 3), (16, 9, 3), (8, 8, 3), (9, 9, 3)]
    ],
}

Outputs = list[list[np.ndarray[Any, Any]]]
Define = Callable[[Any], Any]


class Ours:
    dali, fn, math, types = gradiva, gradiva.fn, gradiva.math, gradiva.types

    @staticmethod
    def array(value: Any) -> Any:
        return value


class Theirs:
    dali, fn, math, types = dali, fn, math, types

    @staticmethod
    def array(value: Any) -> Any:
        return types.Constant(value, device="cpu")


def take(library: Any, name: str) -> Any:
    more: dict[str, Any] = {"layout": "HWC"} if name == "images" else {}
    if library is Ours:
        more["source"] = lambda: GIVEN[name]
    return library.fn.external_source(name=name, **more)


def made(library: Any, define: Define) -> Any:
    decorate = library.dali.pipeline_def(**OPTIONS, enable_conditionals=True)
    return decorate(define)(library)


def samples(outputs: Any) -> Outputs:
    return [[np.array(one.at(i)) for i in range(len(one))] for one in outputs]


def run_theirs(data: bytes) -> Outputs:
    pipe = dali.Pipeline.deserialize(data)
    stored = read_pipeline(data)
    used = {*stored.outputs}
    for operator in stored.operators:
        used |= {*operator.inputs, *operator.per_sample.values()}
    # Sources that nothing uses are dropped when it builds a pipeline.
    for name in used & {*stored.fed}:
        pipe.feed_input(name, GIVEN[name], layout="HWC" if name == "images" else None)
    return samples(pipe.run())


def run_ours(data: bytes) -> Outputs:
    pipe = gradiva.Pipeline(**OPTIONS)
    stored = read_pipeline(data)
    sources = {name: partial(GIVEN.__getitem__, name) for name in stored.fed}
    with pipe:
        pipe.set_outputs(*stored.record(sources))
    return samples(pipe.run())


def equal(ours: Outputs, theirs: Outputs) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert len(one) == len(other) == SIZE
        for got, expected in zip(one, other, strict=True):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


def images_in_branches(lib: Any) -> Any:
    images, x, y = take(lib, "images"), take(lib, "x"), take(lib, "y")
    if x > 1:
        images = lib.fn.flip(images, horizontal=x - 2, vertical=y)
    elif y > 1:
        images = lib.fn.crop(images, crop=(7, 7))
        if x == 0:
            images = images[:, ::-1]
    return images


def constants_in_branches(lib: Any) -> Any:
    x, y = take(lib, "x"), take(lib, "y")
    numbers = lib.array(np.array([1, 2, 3], np.int32))
    if x > 1:
        z = numbers + x
    elif y:
        z = numbers * 2
    else:
        z = numbers
    if x > y:
        number = 1.5
    else:
        number = 2.5
    return z, number


def words(lib: Any) -> Any:
    x, y = take(lib, "x"), take(lib, "y")
    return x > 1 and y > 1, x > 1 or not y > 0, not x, x > 1 and not (y > 2 or x == 3)


def draws_without_chance(lib: Any) -> Any:
    x, y = take(lib, "x"), take(lib, "y")
    if x > y:
        z = lib.fn.random.coin_flip(probability=1.0)
        if x == 3:
            z = z - lib.fn.random.coin_flip(probability=0.0) * 5
    else:
        z = lib.fn.random.coin_flip(probability=0.0) - x
    return z


def sources_in_branches(lib: Any) -> Any:
    x = take(lib, "x")
    if x > 1:
        z = take(lib, "y")
    else:
        z = -1
    return z


PROGRAMS: list[Define] = [
    images_in_branches,
    constants_in_branches,
    words,
    draws_without_chance,
    sources_in_branches,
]


def every() -> list[Any]:
    return [pytest.param(program, id=program.__name__) for program in PROGRAMS] + [
        pytest.param(lambda lib, f=f: f(take(lib, "x"), take(lib, "y")), id=name)
        for name, f in FORMS.items()
    ]


@pytest.mark.parametrize("define", every())
def test_ours(define: Define) -> None:
    pipe = made(Ours, define)
    data = pipe.serialize()
    expected = samples(pipe.run())
    equal(run_ours(data), expected)
    equal(run_theirs(data), expected)


@pytest.mark.parametrize("define", every())
def test_theirs(define: Define) -> None:
    data = made(Theirs, define).serialize()
    expected = run_theirs(data)
    equal(run_ours(data), expected)
