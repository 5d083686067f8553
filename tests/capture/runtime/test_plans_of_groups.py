"""Calls of a fused group that are kept from batch to batch: never for a batch of another kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.capture.runtime import fused_group

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
