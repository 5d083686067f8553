"""experimental.remap against OpenCV, and jitter by its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import batch

cv2: Any = pytest.importorskip("cv2")


@pytest.mark.full
def test_like_opencv() -> None:
    """At places that are multiples of 1/32, which all versions of OpenCV hold exactly."""
    generator = np.random.default_rng(0)
    image = generator.uniform(0, 1, (20, 30, 3)).astype(np.float32)
    mapx, mapy = (
        (generator.integers(-64, 32 * size + 64, (15, 40)) / 32).astype(np.float32)
        for size in (30, 20)
    )
    expected = cv2.remap(image, mapx, mapy, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    one = batch([image], layout="HWC")
    ours = gradiva.experimental.remap(one, batch([mapx]), batch([mapy]), pixel_origin="center")
    np.testing.assert_allclose(ours.at(0), expected, 1e-5, 1e-6)
    half = np.float32(0.5)
    corner = gradiva.experimental.remap(one, batch([mapx + half]), batch([mapy + half]))
    np.testing.assert_array_equal(corner.at(0), ours.at(0))


@pytest.mark.full
def test_jitter_stays_near() -> None:
    """Pixels come from within half of nDegree, and spread evenly over that square."""
    grid = np.moveaxis(np.indices((200, 300)), 0, -1).astype(np.float32).copy()
    one = batch([grid], layout="HWC")
    moved = gradiva.jitter(one, nDegree=5, fill_value=-1, seed=3).at(0)
    offsets = (moved - grid)[10:-10, 10:-10].reshape(-1, 2)
    assert set(np.unique(offsets)) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    shares = [(offsets == place).mean() for place in (-2, -1, 0, 1, 2)]
    np.testing.assert_allclose(shares, 0.2, atol=0.01)
