"""Points that were painted into an image, and points that moved with it, stay together."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from tests.needs import needs_opencv
from tests.tiers import examples

from .graphs import BENDS, SPREAD, Step, found, painted, run, steps

HEIGHT, WIDTH = 96, 120
POINTS = 4
RADIUS = 3.5 * SPREAD


def check_points(program: list[Step], seed: int) -> int:
    """Check one graph; returns how many points could be compared."""
    random = np.random.default_rng(seed)
    points = random.uniform((12, 12), (WIDTH - 12, HEIGHT - 12), (POINTS, 2))
    image = gradiva.as_tensor(painted(points, HEIGHT, WIDTH), layout="HWC")
    # Beside each point four others, which tell by how much the image is scaled there, and four at
    # the edge of the spot: if these are seen, all of the spot is.
    ring = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * RADIUS
    around = np.concatenate([[[0, 0], [0.5, 0], [0, 0.5], [-0.5, 0], [0, -0.5]], ring])
    around = points[:, None] + around
    visible = np.full((*around.shape[:2], 1), 2.0)
    keypoints = np.concatenate([around, visible], axis=2)
    targets = gradiva.Targets(keypoints=keypoints)
    image, targets = run(image, targets, program)
    moved = np.asarray(targets.keypoints)
    mass, places = found(image)
    bent = any(name in BENDS for name, _ in program)
    right, left = moved[:, 1, :2] - moved[:, 3, :2], moved[:, 2, :2] - moved[:, 4, :2]
    area = np.abs(right[:, 0] * left[:, 1] - right[:, 1] * left[:, 0])
    # What is not seen any more after a bend is at no place.
    mass /= np.where((moved[:, 1:5, 2] > 0).all(axis=1) | (not bent), area, 1)
    compared = 0
    for number in range(POINTS):
        if mass[number] < 0.01:
            assert moved[number, 0, 2] == 0, (program, number, mass)
        if (moved[number, 5:, 2] == 0).any():
            continue  # part of the spot has left the image
        middle = moved[number, 5:, :2].mean(axis=0) - moved[number, 0, :2]
        if bent and (np.hypot(*middle) > 1.0 or not 0.1 < area[number] < 10):
            continue  # the spot is no spot any more
        compared += 1
        assert moved[number, 0, 2] == 2, (program, number, mass)
        assert 0.9 < mass[number] < 1.1, (program, number, mass)
        distance = np.linalg.norm(places[number] - moved[number, 0, :2])
        assert distance < 0.5, (program, number, distance)
    return compared


@needs_opencv
@given(st.lists(steps(bends=True), min_size=1, max_size=5), st.integers(0, 1 << 20))
@settings(max_examples=examples(2000, 20), deadline=None)
def test_painted_points(program: list[Step], seed: int) -> None:
    check_points(program, seed)


def check_masks(program: list[Step], seed: int) -> float:
    """Check the masks of two objects after one graph; returns the smaller part of agreement."""
    random = np.random.default_rng(seed)
    ys, xs = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    centers = random.uniform((20, 20), (WIDTH - 20, HEIGHT - 20), (2, 2))
    masks = np.stack([(xs - x) ** 2 + (ys - y) ** 2 < 25**2 for x, y in centers]).astype(np.uint8)
    image = gradiva.as_tensor(masks.transpose(1, 2, 0).astype(np.float32), layout="HWC")
    targets = gradiva.Targets(masks=masks)
    image, targets = run(image, targets, program, nearest=True)
    made, seen = np.asarray(targets.masks), np.asarray(image).transpose(2, 0, 1) > 0.5
    agreed = 1.0
    for one, other in zip(made != 0, seen, strict=True):
        union = int((one | other).sum())
        if union > 400:
            agreed = min(agreed, int((one & other).sum()) / union)
    return agreed


@needs_opencv
@given(st.lists(steps(bends=True), min_size=1, max_size=1), st.integers(0, 1 << 20))
@settings(max_examples=examples(100), deadline=None)
def test_masks(program: list[Step], seed: int) -> None:
    """Beside the operator itself, which takes the nearest pixels, too."""
    assert check_masks(program, seed) >= 0.98, program


def test_masks_of_windows() -> None:
    """Where operators move whole pixels, masks are what the operators would make of them."""
    masks = np.random.default_rng(1).integers(0, 3, (2, 40, 50)).astype(np.uint8)
    image: Any = gradiva.as_tensor(masks.transpose(1, 2, 0).copy(), layout="HWC")
    targets = gradiva.Targets(masks=masks)
    image, targets = gradiva.flip(image, targets, vertical=1)
    image, targets = gradiva.crop(image, targets, crop=(30, 20), crop_pos_x=0.3)
    image, targets = gradiva.paste(image, targets, ratio=1.5, fill_value=0)
    image, targets = gradiva.rotate(image, targets, angle=90.0)
    image, targets = gradiva.slice(image, targets, start=(3, 4), end=(25, 30), axis_names="HW")
    expected = np.asarray(image).transpose(2, 0, 1)
    np.testing.assert_array_equal(np.asarray(targets.masks), expected)


def area(corners: Any) -> float:
    """The area of a polygon whose outline runs one way."""
    x, y = corners[:, 0], corners[:, 1]
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2


@needs_opencv
@given(st.lists(steps(), min_size=1, max_size=4), st.integers(0, 1 << 20))
@settings(max_examples=examples(60), deadline=None)
def test_polygons(program: list[Step], seed: int) -> None:
    """A star, which need not be convex, has the area of its mask, however it was cut."""
    random = np.random.default_rng(seed)
    angles = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    radii = random.uniform(12, 45, 14)
    star = np.stack([60 + radii * np.cos(angles), 48 + radii * np.sin(angles)], axis=1)
    ys, xs = np.mgrid[: HEIGHT * 4, : WIDTH * 4] / 4 + 0.125
    inside = np.zeros(xs.shape, np.bool_)
    for one, other in zip(star, np.roll(star, -1, axis=0), strict=True):
        crosses = (one[1] <= ys) != (other[1] <= ys)
        with np.errstate(divide="ignore"):
            inside ^= crosses & (
                xs < one[0] + (ys - one[1]) * (other[0] - one[0]) / (other[1] - one[1])
            )
    image = gradiva.as_tensor(np.zeros((HEIGHT * 4, WIDTH * 4, 1), np.float32), layout="HWC")
    targets = gradiva.Targets(
        masks=inside.astype(np.uint8)[None],
        polygons=np.array([[0, 0, 14]], np.int32),
        vertices=star * 4,
    )
    _, targets = run(image, targets, program)
    seen = int(np.count_nonzero(np.asarray(targets.masks)))
    vertices = np.asarray(targets.vertices, np.float64)
    parts = [area(vertices[first:end]) for _, first, end in np.asarray(targets.polygons).tolist()]
    assert abs(sum(parts) - seen) <= 60 + 0.03 * seen, program
