"""`debayer` of batches that do not fit into caches: the same bits by way of memory that does."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

import gradiva
from gradiva.eager.jit.later import at_once
from gradiva.eager.jit.streaming import move_past
from gradiva.ops.image.debayer import debayer as module


@pytest.mark.parametrize(
    ("dtype", "shape", "layout"),
    [(np.uint8, (900, 1304), "HW"), (np.uint16, (3, 400, 602), "FHW")],
    ids=["images", "sequences of uint16"],
)
def test_large_batches(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, shape: tuple[int, ...], layout: str
) -> None:
    random = np.random.default_rng(0)
    mosaics = [random.integers(0, np.iinfo(dtype).max, shape).astype(dtype) for _ in range(6)]
    moved: list[int] = []

    def noted(source: Any, at: int, target: Any, to: int, count: int) -> None:
        moved.append(count)
        move_past(source, at, target, to, count)

    monkeypatch.setattr(module, "move_past", noted)
    monkeypatch.setattr(module._later, "pays", lambda *_: True)
    with at_once():
        made = gradiva.debayer(gradiva.as_batch(mosaics, layout=layout), blue_position=[1, 0])
    assert sum(moved) == made.as_array().size
    for mosaic, image in zip(mosaics, made.as_array(), strict=True):
        frames = mosaic.reshape(-1, *shape[-2:])
        for frame, found in zip(frames, image.reshape(-1, *image.shape[-3:]), strict=True):
            np.testing.assert_array_equal(found, cv2.demosaicing(frame, cv2.COLOR_BayerGR2RGB))
    moved.clear()
    gradiva.debayer(gradiva.as_batch(mosaics[:1], layout=layout), blue_position=[1, 0])
    assert not moved, "what fits into a cache stays there"
