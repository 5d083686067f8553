"""`equalize` and `clahe` give the bits of OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva

cv2: Any = pytest.importorskip("cv2")


@pytest.mark.parametrize("shape", [(14, 15), (1, 7), (40, 33)])
@pytest.mark.parametrize("top", [2, 40, 256])
def test_histograms(shape: tuple[int, int], top: int) -> None:
    image = np.random.default_rng(top).integers(0, top, (*shape, 3)).astype(np.uint8)
    planes = [np.ascontiguousarray(image[..., c]) for c in range(3)]
    expected = np.stack([cv2.equalizeHist(plane) for plane in planes], -1)
    np.testing.assert_array_equal(gradiva.equalize(image), expected)
    by_tiles = cv2.createCLAHE(2.0, (2, 3))
    options: dict[str, Any] = {"tiles_x": 2, "tiles_y": 3, "clip_limit": 2.0, "luma_only": False}
    expected = np.stack([by_tiles.apply(plane) for plane in planes], -1)
    np.testing.assert_array_equal(gradiva.clahe(image, **options), expected)
    gray = np.asarray(gradiva.clahe(planes[0][..., None], **options))
    np.testing.assert_array_equal(gray[..., 0], expected[..., 0])
