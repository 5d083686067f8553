"""Calls of a fused group that are kept from batch to batch: never for a batch of another kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.capture.runtime import fused_cpu, fused_group
from gradiva.eager.operators import pixelwise

SHAPES = [(30, 40, 3), (30, 40, 3), (24, 24, 3), None, (30, 40, 3), (30, 40, 1), (24, 24, 3)]


def make(number: int) -> list[np.ndarray[Any, Any]]:
    """Images of one shape, or of several."""
    draw = np.random.default_rng(number)
    shape = SHAPES[number % len(SHAPES)]
    shapes = [shape or (20 + i, 30, 3) for i in range(5)]
    return [draw.integers(0, 256, shape, np.uint8) for shape in shapes]


def augment(images: Any, f: Any) -> Any:
    images = f.crop(f.resize(images, resize_shorter=21), crop=(16, 16))
    return f.cast(f.brightness(images, brightness=1.5), dtype=gradiva.types.FLOAT)


def test_batches_of_changing_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    known = fused_group._known
    kept: list[bool] = []

    def watched(*arguments: Any) -> Any:
        found = known(*arguments)
        kept.append(found is not None)
        return found

    monkeypatch.setattr(fused_group, "_known", watched)

    counted = iter(range(100))
    pipe = gradiva.Pipeline(batch_size=5, num_threads=2)
    with pipe:
        images = fn.external_source(lambda: make(next(counted)), layout="HWC")
        pipe.set_outputs(augment(images, fn))
    for number in range(2 * len(SHAPES)):
        (found,) = pipe.run()
        expected = augment(gradiva.as_batch(make(number), layout="HWC"), gradiva)
        for left, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(left), np.asarray(right))
    assert any(kept)
    assert not all(kept)


@pytest.mark.parametrize("fixed", [True, False])
def test_parameters_that_are_fixed_are_computed_once(
    fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    step_of = pixelwise.step_of
    made: list[str] = []

    def watched(call: Any, *arguments: Any) -> Any:
        made.append(call.operator.name)
        return step_of(call, *arguments)

    monkeypatch.setattr(fused_cpu, "step_of", watched)
    image = np.full((8, 8, 3), 50, np.uint8)
    pipe = gradiva.Pipeline(batch_size=3, num_threads=1, exec_async=False, exec_pipelined=False)
    with pipe:
        images = fn.external_source(lambda: [image] * 3, layout="HWC")
        factor = 1.5 if fixed else fn.external_source(lambda: [np.float32(1.5)] * 3)
        images = fn.brightness(fn.resize(images, size=(6, 6)), brightness=factor)
        pipe.set_outputs(images)
    expected = gradiva.brightness(gradiva.as_batch([image[:6, :6]] * 3), brightness=1.5)
    for _ in range(5):
        np.testing.assert_array_equal(pipe.run()[0].as_array(), np.asarray(expected))
    # The first batch prepares a call, the second keeps what follows from it.
    assert made == ["brightness"] * (2 if fixed else 5)
