"""Arguments per frame against DALI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import batch

from .pictures import part, ramp
from .reference import assert_close, feed, fn, run

COUNTS = (4, 2)


def videos() -> gradiva.Batch:
    frames = [part("coffee", 10 * k, 100, 33, 41) for k in range(4)]
    return batch([np.stack(frames), ramp(2, 15, 17, 3)], layout="FHWC")


def numbers(low: float, high: float, *shape: int) -> list[Any]:
    generator = np.random.default_rng(5)
    return [generator.uniform(low, high, (n, *shape)).astype(np.float32) for n in COUNTS]


MATRICES = [
    rows + np.array([[1, 0, 3], [0, 1, -2]], np.float32) for rows in numbers(-0.3, 0.3, 2, 3)
]
SQUARES = [rows + np.eye(3, dtype=np.float32) for rows in numbers(0.0, 0.002, 3, 3)]


def function(root: Any, name: str) -> Any:
    for part_of in name.split("."):
        root = getattr(root, part_of)
    return root


def compare(
    name: str, inputs: list[gradiva.Batch], rows: dict[str, list[Any]], **others: Any
) -> None:
    def build() -> Any:
        nodes = [feed([one.at(i) for i in range(2)], one.layout) for one in inputs]
        given = {key: fn.per_frame(feed(value)) for key, value in rows.items()}
        return function(fn, name)(*nodes, **given, **others)

    (theirs,) = run(build, 2)
    given = {key: gradiva.per_frame(batch(value)) for key, value in rows.items()}
    ours = function(gradiva, name)(*inputs, **given, **others)
    # Sequences of points whose layout is not known have none there.
    assert_close(ours, theirs, exact=False, float_range=1e-5, layout=name != "coord_transform")


@pytest.mark.parametrize(
    ("name", "rows", "others"),
    [
        ("brightness", {"brightness": numbers(0, 2)}, {"brightness_shift": 0.1}),
        ("brightness_contrast", {"contrast": numbers(0, 2), "brightness": numbers(0, 2)}, {}),
        ("contrast", {"contrast_center": numbers(50, 200)}, {"contrast": 0.5}),
        ("color_twist", {"hue": numbers(-90, 90), "saturation": numbers(0, 2)}, {}),
        ("hsv", {"hue": numbers(-90, 90), "value": numbers(0, 2)}, {}),
        ("hue", {"hue": numbers(-90, 90)}, {}),
        ("saturation", {"saturation": numbers(0, 2)}, {}),
        ("gaussian_blur", {"sigma": numbers(0.5, 2, 1)}, {"window_size": 7}),
        ("gaussian_blur", {"sigma": numbers(0.5, 2, 2)}, {}),
        ("laplacian", {"scale": numbers(0.1, 0.5, 1)}, {"window_size": 3}),
        ("rotate", {"angle": numbers(-90, 90)}, {"keep_size": True, "fill_value": 0.0}),
        ("warp_affine", {"matrix": MATRICES}, {"fill_value": 0.0}),
        ("warp_affine", {"matrix": MATRICES}, {"fill_value": 0.0, "size": [20.0, 30.0]}),
        ("experimental.warp_perspective", {"matrix": SQUARES}, {"fill_value": [0.0]}),
    ],
)
def test_images(name: str, rows: dict[str, Any], others: dict[str, Any]) -> None:
    compare(name, [videos()], rows, **others)


def test_one_value_for_all_frames() -> None:
    compare("brightness", [videos()], {"brightness": [row[:1] for row in numbers(0, 2)]})


@pytest.mark.parametrize("most", [10.0, 45.0, 90.0, 180.0])
def test_sizes_of_turned_frames(most: float) -> None:
    """All frames of a sample get one size: the largest."""
    compare("rotate", [videos()], {"angle": numbers(-most, most)}, fill_value=0.0)


def test_transforms() -> None:
    compare("transforms.rotation", [], {"angle": numbers(-90, 90)}, **_sized())
    compare("transforms.scale", [], {"scale": numbers(1, 2, 2), "center": numbers(0, 9, 2)})
    compare("transforms.shear", [], {"shear": numbers(0, 1, 2)})
    compare("transforms.translation", [], {"offset": numbers(0, 9, 3)})
    compare("transforms.crop", [], {"from_end": numbers(2, 9, 2)})
    fixed = batch([np.array([[1, 0, 2], [0, 1, 3]], np.float32)] * 2)
    compare("transforms.scale", [fixed], {"scale": numbers(1, 2, 2)})


def _sized() -> dict[str, Any]:
    return {"center": [1.0, 2.0]}


def test_points() -> None:
    points = batch([np.random.default_rng(1).random((5, 2), np.float32)] * 2)
    compare("coord_transform", [points], {"MT": MATRICES})
    compare("coord_transform", [points], {"T": numbers(0, 3, 2)})
