"""Defects that random programs have found, each as small as it could be made."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.types.batch_shape
from gradiva import capture, random
from gradiva.capture.loop.program import LoopProgram


def images(count: int = 3) -> Any:
    noise = np.random.default_rng(2)
    if not count:
        return gradiva.as_batch(np.empty((0, 6, 7, 3), np.uint8), layout="HWC")
    arrays = [noise.integers(0, 256, (6 + k, 7, 3), np.uint8) for k in range(count)]
    return gradiva.as_batch(arrays, layout="HWC")


def same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and all(
        np.array_equal(np.asarray(x), np.asarray(y)) for x, y in zip(one, other, strict=True)
    )


def test_a_constant_of_an_empty_batch() -> None:
    """A folded argument per sample, when there are no samples."""

    def function(batch: Any) -> Any:
        return gradiva.brightness(batch, brightness=gradiva.math.sqrt(np.float32(4.0)))

    assert len(capture.compile(function)(images(0))) == 0
    batch_shape = gradiva.eager.types.batch_shape.BatchShape.repeated(0, (2,))
    assert (batch_shape.size, len(batch_shape)) == (0, 0)


def test_one_value_that_was_looked_at_serves_all_samples() -> None:
    """A random value without a batch size, first evaluated, then an argument."""
    random.set_seed(5)
    factor = random.uniform(range=(0.5, 1.5))
    wanted = gradiva.brightness(images(), brightness=factor)
    random.set_seed(5)
    with gradiva.EvalMode.deferred:
        lazy = random.uniform(range=(0.5, 1.5))
        assert np.asarray(lazy.evaluate()) == np.asarray(factor)
        assert same(gradiva.brightness(images(), brightness=lazy), wanted)


def test_one_value_as_a_result_and_as_an_argument() -> None:
    def function(batch: Any) -> Any:
        factor = random.uniform(range=(0.5, 1.5))
        return gradiva.brightness(batch, brightness=factor), factor

    for count in (3, 1, 0):
        random.set_seed(5)
        wanted, factor = function(images(count))
        random.set_seed(5)
        found, same_factor = capture.compile(function)(images(count))
        assert same(found, wanted)
        assert np.asarray(same_factor) == np.asarray(factor)


def test_one_value_or_one_per_sample_on_the_same_line() -> None:
    """What was compiled for the one is not taken for the other."""

    def function(batch: Any, size: Any) -> Any:
        factor = random.uniform(range=(0.5, 1.5), batch_size=size)
        return gradiva.brightness(batch, brightness=factor)

    compiled = capture.compile(function)
    for size in (None, 3, None):
        random.set_seed(5)
        wanted = function(images(), size)
        random.set_seed(5)
        assert same(compiled(images(), size), wanted)


def test_one_value_in_a_step_without_samples() -> None:
    source = gradiva.ExternalSource(iter([images(), images(0), images(2)]))
    found = []
    for batch in source.captured(3):
        small = gradiva.brightness(batch, brightness=1.5)
        found.append((len(small), float(random.uniform(range=(0, 1)))))
    random.set_seed(1234)
    source = gradiva.ExternalSource(iter([images(), images(0), images(2)]))
    for size, value in found:
        assert len(source()) == size
        assert float(random.uniform(range=(0, 1))) == value


def test_a_random_call_that_fails_is_counted_in_every_mode() -> None:
    states = []
    for mode in (gradiva.EvalMode.eager, gradiva.EvalMode.deferred):
        random.set_seed(5)
        with mode, pytest.raises(gradiva.OperatorValueError):
            gradiva.random_resized_crop(images(), size=4, random_area=(0.9, 0.2))
        states.append(random.get_default_rng().state)
    assert states[0] == states[1]


def test_a_defect_while_computing_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps run at once and say why; the loop does not wait for ever."""

    def broken(self: LoopProgram, item: Any, pool: Any) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(LoopProgram, "compute", broken)
    found: list[Any] = []

    def loop() -> None:
        captured = gradiva.ExternalSource(iter([images()] * 3)).captured(3)
        found.extend(gradiva.flip(batch).evaluate() for batch in captured)
        found.append(str(captured.explain()))

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert len(found) == 4
    assert "a defect" in found[-1]
