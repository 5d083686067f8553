"""Targets follow the operators that have the arithmetic of torchvision or Pillow: a spot that is
painted, and the point that was in its middle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradiva

CORNERS = (0, 0, 82, 0, 82, 60, 0, 60)
MOVED = (5, 3, 80, 0, 75, 55, 2, 58)
BENT: dict[str, Any] = {"angle": 15.0, "translate": (3, -4), "scale": 1.2, "shear": (5, 3)}

CALLS: dict[str, Callable[..., Any]] = {
    "pad": partial(gradiva.pad, axis_names="HW", before=(4, 9), after=2, mode="edge"),
    "smart_resize": partial(gradiva.smart_resize, min_pixels=64 * 64),
    "pad, reflected": partial(gradiva.pad, axis_names="HW", before=3, mode="reflect"),
}
for compat in (None, "torchvision", "pil"):
    turn = partial(gradiva.rotate, compat=compat, fill_value=0)
    CALLS |= {
        f"rotate, {compat}": partial(turn, angle=25.0),
        f"rotate, {compat}, size kept": partial(turn, angle=-40.0, keep_size=True),
        f"rotate, {compat}, by a right angle": partial(turn, angle=90.0),
    }
    if compat is None:
        continue
    CALLS |= {
        f"rotate, {compat}, center": partial(turn, angle=25.0, keep_size=True, center=(30, 30)),
        f"rotate, {compat}, center, larger": partial(turn, angle=25.0, center=(20, 30)),
        f"affine, {compat}": partial(gradiva.affine, **BENT, compat=compat),
        f"affine, {compat}, center": partial(
            gradiva.affine, angle=15.0, center=(10, 12), compat=compat
        ),
        f"perspective, {compat}": partial(
            gradiva.perspective, startpoints=CORNERS, endpoints=MOVED, compat=compat
        ),
    }


@pytest.mark.parametrize("name", CALLS)
def test_a_point_stays_in_its_spot(name: str) -> None:
    image, (x, y) = np.zeros((61, 83, 3), np.uint8), (50, 20)
    image[y - 1 : y + 2, x - 1 : x + 2] = 255
    points = np.array([[[x + 0.5, y + 0.5]]], np.float32)
    targets = gradiva.Targets(keypoints=gradiva.batch([points]))
    images, moved = CALLS[name](gradiva.batch([image], layout="HWC"), targets)
    light = np.asarray(images.at(0))[..., 0].astype(np.float64)
    rows, columns = np.indices(light.shape) + 0.5
    middle = [(places * light).sum() / light.sum() for places in (columns, rows)]
    np.testing.assert_allclose(moved.keypoints.at(0).reshape(2), middle, atol=0.25)
