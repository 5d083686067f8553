"""Vectors of frames whose content moves by known distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import batch
from gradiva.eager.types.dtypes import ImageType
from gradiva.ops.video.optical_flow import optical_flow, sliding
from tests.needs import needs_opencv
from tests.tiers import few


@needs_opencv
@pytest.mark.parametrize("preset", few([0.0, 0.5, 1.0], 0.0))
@pytest.mark.parametrize("grid", [1, 4])
def test_distances(preset: float, grid: int) -> None:
    right, down = 3, -2
    frames = sliding(96, 130, right, down)
    made = np.asarray(
        optical_flow(batch([frames], layout="FHWC"), preset=preset, output_grid=grid).at(0)
    )
    assert made.shape == (2, -(-96 // grid), -(-130 // grid), 2)
    inner = made[:, made.shape[1] // 4 : -made.shape[1] // 4, made.shape[2] // 4 : -40 // grid]
    assert np.abs(np.median(inner, axis=(0, 1, 2)) - (right, down)).max() < 0.2


@needs_opencv
def test_cells_are_means() -> None:
    video = batch([sliding(45, 51, 2, 1)], layout="FHWC")
    fine = np.asarray(optical_flow(video, output_grid=1).at(0))
    coarse = np.asarray(optical_flow(video, output_grid=8).at(0))
    assert coarse.shape == (2, 6, 7, 2)
    np.testing.assert_allclose(coarse[:, 1, 2], fine[:, 8:16, 16:24].mean((1, 2)), rtol=1e-5)
    np.testing.assert_allclose(coarse[:, 5, 6], fine[:, 40:, 48:].mean((1, 2)), rtol=1e-5)


@pytest.mark.full
def test_hints() -> None:
    """From hints the search finds a distance that is too far for it without them."""
    rng = np.random.default_rng(0)
    noise = gradiva.gaussian_blur(
        batch([rng.integers(0, 256, (160, 300, 3)).astype(np.uint8)], layout="HWC"), sigma=1.0
    )
    picture = np.asarray(noise.at(0))
    video = np.stack([picture[:, 100:260], picture[:, 40:200]])
    given = np.zeros((1, 40, 40, 2), np.float32)
    given[..., 0] = 60
    made = optical_flow(
        batch([video], layout="FHWC"),
        batch([given], layout="FHWC"),
        enable_external_hints=True,
        preset=1.0,
    )
    middle = np.asarray(made.at(0))[0, 10:30, 20:36]
    assert np.abs(np.median(middle, axis=(0, 1)) - (60, 0)).max() < 1


@needs_opencv
@pytest.mark.parametrize("size", [(1, 1), (5, 300), (300, 9), (17, 100), (31, 640), (33, 1000)])
def test_sizes_that_opencv_does_not_take(size: tuple[int, int]) -> None:
    """Narrow images make OpenCV read outside of them."""
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (3, *size, 1)).astype(np.uint8)
    made = optical_flow(batch([video], layout="FHWC"), image_type=ImageType.GRAY, output_grid=2)
    found: Any = np.asarray(made.at(0))
    assert found.shape == (2, -(-size[0] // 2), -(-size[1] // 2), 2)
    assert np.isfinite(found).all()
