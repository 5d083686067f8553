"""`experimental.torchvision.functional` against DALI's, where torchvision gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from tests.gradiva.torchvision.pictures import assert_same, picture, planes

functional: Any = gradiva.experimental.torchvision.functional
torch = pytest.importorskip("torch")
theirs = pytest.importorskip("nvidia.dali.experimental.torchvision.v2.functional")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("horizontal_flip", (), {}),
    ("vertical_flip", (), {}),
    ("center_crop", (5,), {}),
    ("center_crop", ([8, 3],), {}),
    ("crop", (-2, -1, 20, 30), {}),
    *(("pad", ([1, 2, 3, 4],), {"padding_mode": mode}) for mode in ("constant", "edge")),
    *(("pad", ([1, 2],), {"padding_mode": mode}) for mode in ("reflect", "symmetric")),
    ("pad", (1,), {"fill": (1, 2, 3)}),
    ("get_size", (), {}),
    ("get_image_size", (), {}),
    ("get_dimensions", (), {}),
]


@pytest.mark.parametrize(("name", "args", "given"), CALLS)
def test_same_bits(name: str, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    for image in (
        picture(13, 17),
        planes(torch, (), 3, (13, 17), np.uint8),
        planes(torch, (2,), 3, (13, 17), np.float32),
    ):
        mine = getattr(functional, name)(image, *args, **given)
        assert_same(mine, getattr(theirs, name)(image, *args, **given))


def test_conversions() -> None:
    for mode in ("L", "RGB", "RGBA"):
        image = picture(5, 7, mode)
        assert_same(functional.pil_to_tensor(image), theirs.pil_to_tensor(image))
        assert_same(functional.to_tensor(image), theirs.to_tensor(image))
        tensor = theirs.pil_to_tensor(image)
        assert_same(functional.to_pil_image(tensor), theirs.to_pil_image(tensor))


def test_close() -> None:
    image = planes(torch, (), 3, (13, 17), np.float32)
    numbers = [0.1, 0.2, 0.3], [0.4, 0.5, 0.6]
    mine, other = functional.normalize(image, *numbers), theirs.normalize(image, *numbers)
    np.testing.assert_allclose(mine, other, atol=1e-6)
    for photo in (picture(13, 17), planes(torch, (2,), 3, (13, 17), np.uint8)):
        mine = np.asarray(functional.gaussian_blur(photo, 3, 1.0)).astype(int)
        assert np.abs(mine - np.asarray(theirs.gaussian_blur(photo, 3, 1.0))).max() <= 1
