"""Random programs that look at values in the middle and write into them, in all modes: the bits of
dynamic mode, or the error of an array that is read-only."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, capture
from tests.tiers import few, is_quick

from .loops import bits

pytestmark = pytest.mark.core

CALLS: list[Callable[[Any], Any]] = [
    lambda x: gradiva.flip(x) if x.layout == "HWC" else x + 3,
    lambda x: gradiva.crop(x, crop=(4, 4), out_of_bounds_policy="pad") if x.ndim == 3 else x * 2,
    lambda x: x + 1,
    lambda x: x.slice[1:],
    lambda x: gradiva.cast(x, dtype=gradiva.uint8),  # in a program it is left out
    lambda x: gradiva.reshape(x, shape=[-1]),  # views
    lambda x: gradiva.expand_dims(x, axes=0) if x.ndim < 5 else x + 2,
]
TURNS = 5


def draw(dice: random.Random, source: bool) -> list[tuple[Any, ...]]:
    """Steps of a program. source: whether it may write into the batch of the source."""
    steps: list[tuple[Any, ...]] = []
    values = 1
    for _ in range(dice.randrange(2, 11)):
        choice, value = dice.random(), dice.randrange(values)
        if choice < 0.6:
            steps.append(("call", value, dice.randrange(len(CALLS))))
            values += 1
        elif choice < 0.7:
            steps.append(("outside", 0, dice.randrange(len(CALLS))))
            values += 1
        elif choice < 0.8:
            steps.append((dice.choice(["look", "drop", "dlpack"]), value, 0))
        elif value or source:
            steps.append(
                (dice.choice(["write", "write a sample"]), value, dice.choice([None, 2, 3]))
            )
    return steps


def body(steps: list[tuple[Any, ...]], given: Any, outside: Any, turn: int) -> list[Any]:
    """The bits of all values, at the end of a turn."""
    values = [given]
    for kind, number, which in steps:
        value = values[number]
        if kind == "outside":
            values.append(CALLS[which](outside))
        elif kind == "call":
            values.append(None if value is None else CALLS[which](value))
        elif value is None:
            continue
        elif kind == "look":
            np.asarray(value).sum()
        elif kind == "drop":
            values[number] = None
        elif kind == "dlpack":
            assert "dltensor" in repr(value.__dlpack__())
        elif which in (None, turn):
            array = np.asarray(value if kind == "write" else value.tensors[0])
            array[...] = 7 + turn
    return [bits(value) for value in values if value is not None]


def eager(steps: Any, source: Any, outside: Any) -> Iterator[Any]:
    for turn in range(TURNS):
        yield body(steps, source(), outside, turn)


def captured(steps: Any, source: Any, outside: Any) -> Iterator[Any]:
    for turn, batch in enumerate(source.captured(3)):
        yield body(steps, batch, outside, turn)


def deferred(steps: Any, source: Any, outside: Any) -> Iterator[Any]:
    for turn in range(TURNS):
        given = source()
        with EvalMode.deferred:
            found = body(steps, given, outside, turn)
        yield found


def compiled(steps: Any, source: Any, outside: Any) -> Iterator[Any]:
    function = capture.compile(body)
    for turn in range(TURNS):
        yield function(steps, source(), outside, turn)


def run(way: Callable[..., Iterator[Any]], steps: Any, size: int) -> tuple[list[Any], bool]:
    """What each turn gave, until the end or a write that was refused; and which it was."""
    pixels = np.random.default_rng(0).integers(0, 255, (TURNS, 3, size, size, 3), np.uint8)
    array = pixels[0].copy()
    source = gradiva.ExternalSource(iter([gradiva.batch(one, layout="HWC") for one in pixels]))
    found: list[Any] = []
    try:
        for turn in way(steps, source, gradiva.as_batch(array, layout="HWC")):
            found.append(turn)
            if len(found) == 3:
                array += 1  # an array of the user's own, which each call sees as it is
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        return found, True
    return found, False


def check(way: Callable[..., Iterator[Any]], seed: int) -> bool:
    """Compare a program with itself in dynamic mode. Returns whether a write was refused."""
    dice = random.Random(seed)
    steps, size = draw(dice, way is captured), 90 if seed % 5 == 0 else 8
    expected, refused = run(eager, steps, size)
    assert not refused
    found, refused = run(way, steps, size)
    assert found == expected[: len(found)], (seed, steps)
    assert refused == (len(found) < TURNS)
    return refused


WAYS = [captured, deferred, compiled]


@pytest.mark.parametrize("way", few(WAYS, captured))
def test_writes(way: Any) -> None:
    count = 20 if is_quick() else 60
    refused = [check(way, seed) for seed in range(count)]
    assert count / 12 < sum(refused) < count / 1.2


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
def test_many_writes(way: Any) -> None:
    for seed in range(60, 400):
        check(way, seed)
