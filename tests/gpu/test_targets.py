"""Targets of images on a simulated GPU: they stay in host memory, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

from .recipes import device
from .shim import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="g++ is not there")

BOXES = np.array([[4, 6, 20, 22]], np.float32)


def change(images: Any, targets: Any) -> Any:
    images, targets = gradiva.resize(images, targets, size=(30, 50))
    images, targets = gradiva.crop(images, targets, crop=(24, 40))
    images, targets = gradiva.flip(images, targets, horizontal=1)
    return gradiva.rotate(images, targets, angle=20.0, fill_value=0)


def pictures() -> list[Any]:
    random = np.random.default_rng(1)
    return [random.integers(0, 255, (24, 32 + k, 3)).astype(np.uint8) for k in range(3)]


def same(one: Any, other: Any) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


def test_dynamic_mode() -> None:
    images = gradiva.batch(pictures(), layout="HWC")
    targets = gradiva.Targets(boxes=gradiva.batch([BOXES] * 3), labels=gradiva.batch([[7]] * 3))
    plain, expected = change(images, targets)

    def check() -> None:
        made, moved = change(images.gpu(), targets)
        assert made.device.device_type == "gpu"
        assert moved.boxes.device.device_type == moved.labels.device.device_type == "cpu"
        same(moved.boxes, expected.boxes)
        same(moved.labels, expected.labels)
        same(made.cpu(), plain)

    with device():
        check()


def test_pipeline() -> None:
    @pipeline_def(batch_size=3, num_threads=2, seed=1)
    def pipe(where: str) -> Any:
        images = fn.external_source(pictures, layout="HWC")
        images = images.gpu() if where == "gpu" else images
        images, targets = change(images, gradiva.Targets(boxes=BOXES))
        images, targets = fn.random_resized_crop(images, targets, size=(20, 20))
        return images, targets.boxes

    def boxes(where: str, number: int | None) -> list[Any]:
        return [np.array(one) for one in pipe(where, device_id=number).run()[1]]

    expected = boxes("cpu", None)
    with device():
        same(boxes("gpu", 0), expected)
