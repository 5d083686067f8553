"""experimental.warp_perspective against DALI: both are OpenCV's, of one version exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradiva.eager.types.dtypes import InterpType

from .pictures import part, scaled
from .reference import check

BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")
MAP = (1.1, 0.1, -3.3, -0.05, 0.9, 4.2, 0.001, -0.002, 1.02)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int16, np.float32])
@pytest.mark.parametrize("pixel_origin", ["corner", "center"])
@pytest.mark.parametrize("inverse_map", [True, False])
def test_pictures(inverse_map: bool, pixel_origin: str, kind: Any) -> None:
    arrays = [scaled(part("astronaut", 40, 150, 31, 45), kind)]
    for border in BORDERS:
        for interp_type in (0, 1, 2):
            check(
                "experimental.warp_perspective",
                arrays,
                layout="HWC",
                matrix=MAP,
                size=(50, 80),
                border_mode=border,
                interp_type=InterpType(interp_type),
                pixel_origin=pixel_origin,
                inverse_map=inverse_map,
                fill_value=(7.6, 300.0, -5.0),
                exact=False,
            )


@pytest.mark.parametrize("layout", ["HW", "CHW", "FHWC", "FCHW", ""])
def test_layouts(layout: str) -> None:
    image = part("coffee", 50, 60, 20, 30)
    planes = np.ascontiguousarray(image.transpose(2, 0, 1))
    inputs = {
        "HW": image[..., 0].copy(),
        "CHW": planes,
        "FHWC": image[None],
        "FCHW": planes[None],
        "": image,
    }
    # DALI fills planes with one number alone.
    fill = (7.0, 8.0, 9.0) if layout in ("FHWC", "") else (9.0,)
    check(
        "experimental.warp_perspective",
        [inputs[layout]],
        layout=layout,
        matrix=MAP,
        exact=False,
        fill_value=fill,
        size=(2.5, 33.49),
    )
