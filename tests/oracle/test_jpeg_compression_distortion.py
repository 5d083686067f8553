"""jpeg_compression_distortion against DALI: exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import batch

from .pictures import part, pictures
from .reference import REFUSALS, check, reference


@pytest.mark.parametrize("quality", [None, *range(1, 101, 7), 96, 100, 0, -5, 101, 1000])
def test_pictures(quality: int | None) -> None:
    given: dict[str, Any] = {} if quality is None else {"quality": quality}
    check("jpeg_compression_distortion", pictures(), **given)


def test_per_sample() -> None:
    check("jpeg_compression_distortion", pictures(), quality=np.array([3, 20, 40, 60, 80, 99]))


@pytest.mark.parametrize("layout", ["FHWC", ""])
def test_frames(layout: str) -> None:
    frames = np.stack([part("astronaut", 40 + k, 150, 33, 47) for k in range(3)])
    check("jpeg_compression_distortion", [frames], layout=layout, quality=25)


@pytest.mark.parametrize(
    ("layout", "shape"),
    [("CHW", (3, 8, 8)), ("HWC", (8, 8, 1)), ("HW", (8, 8)), ("HWC", (1, 66000, 3))],
)
def test_refused_by_both(layout: str, shape: tuple[int, ...]) -> None:
    image = np.ones(shape, np.uint8)
    with pytest.raises(REFUSALS):
        reference("jpeg_compression_distortion", [[image]], layout=layout)
    with pytest.raises(gradiva.GradivaError):
        gradiva.jpeg_compression_distortion(batch([image], layout=layout))
