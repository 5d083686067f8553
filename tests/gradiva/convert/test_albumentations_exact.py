"""What `gradiva.convert.albumentations` makes of transforms that draw nothing has the bits of
Albumentations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva

A: Any = pytest.importorskip("albumentations", reason="Albumentations is absent")
if not A.__version__.startswith("2."):
    pytest.skip("the bits are those of Albumentations 2", allow_module_level=True)
pytest.importorskip("torch", reason="torch is absent")

from .albumentations_cases import exact, values_in  # noqa: E402

CASES = exact()
QUICK = frozenset(range(0, len(CASES), 9))


def names() -> list[Any]:
    """The cases, most of them for the full tier."""
    return [
        pytest.param(
            case, marks=() if number in QUICK else pytest.mark.full, id=title(case, number)
        )
        for number, case in enumerate(CASES)
    ]


def title(case: Any, number: int) -> str:
    return f"{number}-{type(case).__name__}"


def pictures() -> list[Any]:
    """Smooth ones and noise."""
    random = np.random.default_rng(1)
    y, x, c = np.mgrid[:97, :131, :3]
    smooth = (127 + 90 * np.sin(x / (7 + c)) + 37 * np.cos(y / (11 - c))).clip(0, 255)
    noise = random.integers(0, 256, (120, 90, 3))
    dark = random.integers(20, 60, (98, 140, 3))
    return [one.astype(np.uint8) for one in (smooth, noise, dark)]


def check(case: Any, images: list[Any]) -> None:
    compose = case if isinstance(case, A.Compose) else A.Compose([case])
    function = gradiva.convert.albumentations(compose)
    assert function.exact
    assert not function.random
    found = function(gradiva.batch(images, layout="HWC"))
    for mine, image in zip(found.arrays(), images, strict=True):
        theirs = values_in(compose(image=image.copy())["image"])
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("case", names())
def test_bytes(case: Any) -> None:
    check(case, pictures())


@pytest.mark.full
@pytest.mark.parametrize("case", names())
def test_floats(case: Any) -> None:
    if any(name in str(case) for name in ("Normalize", "Float", "Tensor")):
        pytest.skip("it begins with uint8")
    check(case, [(one / np.float32(255)).astype(np.float32) for one in pictures()])


SHAPES = [(97, 131), (64, 40, 1), (70, 60, 4), (50, 80, 5), (2, 77, 3), (33, 3, 3)]


@pytest.mark.full
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: tuple[int, ...]) -> None:
    """Images with other axes and channels, where both sides take them."""
    random = np.random.default_rng(2)
    image = random.integers(0, 256, shape, np.uint8)
    compared = 0
    for case in CASES:
        if isinstance(case, A.Compose) or type(case).__name__ in NATIVE:
            continue
        compose = A.Compose([case])
        try:
            theirs = values_in(compose(image=image.copy())["image"])
        except Exception:  # noqa: BLE001  whatever they raise for it
            continue
        function = gradiva.convert.albumentations(compose)
        mine = function(gradiva.batch([image], layout="HWC"[: image.ndim])).arrays()[0]
        np.testing.assert_array_equal(mine, theirs, err_msg=str(case))
        compared += 1
    assert compared > 20


NATIVE = {"CenterCrop", "Normalize", "Posterize", "Resize", "ToFloat", "ToGray", "ToTensorV2"}
"""Transforms that are converted for images (H, W, 3) alone, or that refuse others."""
