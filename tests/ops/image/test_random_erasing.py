"""`random_erasing`: one rectangle, the same in all layouts; what it is filled with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch, batch

SURE: dict[str, Any] = {"probability": 1.0, "seed": 3}
LAYOUTS = {"HWC": (0, 1, 2), "CHW": (2, 0, 1)}


def ones(count: int = 6) -> np.ndarray[Any, Any]:
    return np.full((count, 20, 31, 3), 77, np.uint8)


def erased(images: np.ndarray[Any, Any], layout: str = "HWC", **options: Any) -> Any:
    given = images.transpose(0, *(1 + axis for axis in LAYOUTS[layout]))
    made = gradiva.random_erasing(as_batch(given, layout=layout), **SURE, **options).as_array()
    back = np.argsort(LAYOUTS[layout])
    return made.transpose(0, *(1 + axis for axis in back))


def test_one_rectangle() -> None:
    """Which is erased in all channels, in its range of areas."""
    made = erased(ones(), fill_value=5)
    for image in made:
        rows, columns = np.nonzero(image[:, :, 0] == 5)
        part = image[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        assert (part == 5).all()
        assert (image == 5).sum() == part.size
        assert 0.015 < part.size / image.size < 0.35


@pytest.mark.parametrize("fill", ["constant", "color", "pixel"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float32, np.float64])
def test_layouts(fill: str, dtype: Any) -> None:
    """HWC and CHW get the same values; outside of the rectangle nothing changes."""
    images = ones().astype(dtype)
    options: dict[str, Any] = {"fill": fill, "fill_value": (1, 2, 3)}
    rows = erased(images, "HWC", **options)
    np.testing.assert_array_equal(rows, erased(images, "CHW", **options))
    inside = erased(images, fill_value=1)[..., :1] == 1
    assert (rows[~np.repeat(inside, 3, axis=3)] == 77).all()
    for image, mask in zip(rows, inside[..., 0], strict=True):
        values = image[mask]
        if fill == "constant":
            assert (values == [1, 2, 3]).all()
        elif fill == "color":
            assert (values == values[:1]).all()
            assert len(set(values[0].tolist())) == 3
        else:
            assert len(np.unique(values[:, 0])) > len(values) / 4


def test_videos() -> None:
    """All frames lose the same rectangle, and get the same values."""
    frames = np.full((2, 5, 12, 14, 3), 9, np.uint8)
    made = gradiva.random_erasing(as_batch(frames, layout="FHWC"), fill="pixel", **SURE).as_array()
    assert (made != 9).any(axis=(1, 2, 3, 4)).all()
    np.testing.assert_array_equal(made, np.repeat(made[:, :1], 5, axis=1))
    planes = as_batch(frames.transpose(0, 1, 4, 2, 3), layout="FCHW")
    other = gradiva.random_erasing(planes, fill="pixel", **SURE).as_array()
    np.testing.assert_array_equal(other.transpose(0, 1, 3, 4, 2), made)


def test_ragged_and_per_sample() -> None:
    shapes = [(20, 30, 3), (9, 8, 3), (14, 40, 3)]
    images = batch([np.full(shape, 1, np.uint8) for shape in shapes], layout="HWC")
    made = gradiva.random_erasing(
        images, probability=[1, 0, 1], fill_value=[[7, 8, 9], [0, 0, 0], [4, 5, 6]], seed=1
    )
    first, second, third = (np.asarray(one) for one in made)
    assert (np.unique(first[..., 1])).tolist() == [1, 8]
    assert (second == 1).all()
    assert (np.unique(third[..., 2])).tolist() == [1, 6]


def test_probability() -> None:
    images = as_batch(np.ones((4000, 6, 6), np.uint8), layout="HW")
    made = gradiva.random_erasing(images, probability=0.25, random_area=(0.2, 0.3), seed=1)
    part = (made.as_array() == 0).any(axis=(1, 2)).mean()
    assert abs(part - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)


def test_torchvisions_names_are_told() -> None:
    with pytest.raises(TypeError, match="did you mean `random_area`"):
        gradiva.random_erasing(as_batch(ones()), scale=(0.1, 0.2))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="did you mean `random_aspect_ratio`"):
        gradiva.random_erasing(as_batch(ones()), ratio=(0.1, 0.2))  # type: ignore[call-overload]
