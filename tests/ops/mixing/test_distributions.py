"""Shares, partners, boxes and rectangles are distributed as they are in torchvision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch

MOST = 4.5
"""How many standard deviations a count may be from its mean; the seeds are fixed."""


def check_counts(found: np.ndarray[Any, Any], chances: np.ndarray[Any, Any]) -> None:
    """A chi-square test."""
    expected = found.sum() * chances / chances.sum()
    square = ((found - expected) ** 2 / expected).sum()
    freedom = len(found) - 1
    assert square < freedom + MOST * math.sqrt(2 * freedom), (square, freedom)


def check_same_distribution(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> None:
    """A two-sample test of Kolmogorov and Smirnov, at a level of about one in a thousand."""
    values = np.concatenate([one, other])
    places = [np.searchsorted(np.sort(given), values, side="right") for given in (one, other)]
    distance = np.abs(places[0] / len(one) - places[1] / len(other)).max()
    assert distance < 1.95 * math.sqrt(1 / len(one) + 1 / len(other)), distance


def numbered(count: int) -> gradiva.Batch:
    return as_batch(np.arange(count, dtype=np.float32).reshape(count, 1, 1, 1), layout="HWC")


def test_partners() -> None:
    """Each of the others is as likely as any."""
    counts = np.zeros((8, 8), np.int64)
    for seed in range(50):
        made = gradiva.mixup(numbered(640), lam=0.0, mix_group=8, seed=seed)
        found = made.as_array().reshape(-1).astype(np.int64)
        np.add.at(counts, (np.arange(640) % 8, found % 8), 1)
    assert (np.diagonal(counts) == 0).all()
    others = counts[~np.eye(8, dtype=bool)]
    check_counts(others, np.ones(56))


@pytest.mark.full
@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
def test_shares(alpha: float) -> None:
    """A beta distribution, against NumPy's."""
    images = as_batch(np.eye(4000, dtype=np.float32))
    mixed = gradiva.mixup(images, alpha=alpha, mix_group=4000, seed=1).as_array()
    beta = np.random.default_rng(2).beta(alpha, alpha, 20000)
    check_same_distribution(np.diagonal(mixed), beta)


def torchvision_cutmix(alpha: float, height: int, width: int, count: int) -> Any:
    """(count, 4): top, left, bottom and right of boxes as torchvision's CutMix draws them."""
    generator = np.random.default_rng(3)
    lam = generator.beta(alpha, alpha, count)
    y, x = generator.integers(0, height, count), generator.integers(0, width, count)
    half = 0.5 * np.sqrt(1.0 - lam)
    tall, wide = (half * height).astype(int), (half * width).astype(int)
    low = np.maximum(y - tall, 0), np.maximum(x - wide, 0)
    return np.stack([*low, np.minimum(y + tall, height), np.minimum(x + wide, width)], axis=1)


def boxes_of(changed: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(N, 4): top, left, bottom and right of what has changed in images, (N, H, W)."""
    rows: Any = changed.any(axis=2)
    columns: Any = changed.any(axis=1)
    low = rows.argmax(axis=1), columns.argmax(axis=1)
    high = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    right = columns.shape[1] - columns[:, ::-1].argmax(axis=1)
    found = np.stack([*low, high, right], axis=1)
    return np.where(rows.any(axis=1)[:, None], found, 0)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_boxes(alpha: float) -> None:
    count, height, width = 6000, 20, 32
    images = np.broadcast_to(
        np.arange(count, dtype=np.float32)[:, None, None], (count, height, width)
    )
    options: dict[str, Any] = {"alpha": alpha, "num_classes": 2, "mix_group": count, "seed": 4}
    labels = as_batch(np.zeros(count, np.int64))
    made, _ = gradiva.cutmix(as_batch(images, layout="HW"), labels, **options)
    ours = boxes_of(made.as_array() != images)
    theirs = torchvision_cutmix(alpha, height, width, count)
    empty = (theirs[:, 2:] - theirs[:, :2]).prod(axis=1) == 0
    theirs[empty] = 0
    for column in range(4):
        check_same_distribution(ours[:, column], theirs[:, column])
    areas = [(one[:, 2:] - one[:, :2]).prod(axis=1) for one in (ours, theirs)]
    check_same_distribution(*areas)


def test_centers_of_mosaics() -> None:
    count = 4000
    images = as_batch(np.ones((count, 40, 60, 1), np.uint8), layout="HWC")
    boxes = as_batch(np.tile(np.array([[0, 0, 1, 1]], np.float32), (count, 1, 1)))
    _, moved = gradiva.mosaic(
        images, boxes, output_size=(80, 120), center_range=(0.25, 0.75), bbox_layout="xyXY", seed=5
    )
    centers = np.stack([np.asarray(moved.at(sample))[0, 2:] for sample in range(count)])
    for axis, size in enumerate((120, 80)):
        found = np.rint(centers[:, axis] * size).astype(int)
        counts = np.bincount(found, minlength=size)[size // 4 : size * 3 // 4]
        assert counts.sum() == count
        check_counts(counts, np.ones(len(counts)))


def torchvision_erasing(count: int, size: tuple[int, int], scale: Any, ratio: Any) -> Any:
    """(count, 4): rectangles as torchvision's RandomErasing draws them."""
    generator = np.random.default_rng(6)
    found = np.zeros((count, 4), int)
    for box in found:
        for _ in range(10):
            area = size[0] * size[1] * generator.uniform(*scale)
            aspect = math.exp(generator.uniform(math.log(ratio[0]), math.log(ratio[1])))
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if h < size[0] and w < size[1]:
                top, left = (
                    generator.integers(0, size[0] - h + 1),
                    generator.integers(0, size[1] - w + 1),
                )
                box[:] = top, left, top + h, left + w
                break
    return found


def test_rectangles() -> None:
    count, height, width = 6000, 24, 40
    images = as_batch(np.ones((count, height, width), np.uint8), layout="HW")
    made = gradiva.random_erasing(images, probability=1.0, seed=7)
    ours = boxes_of(made.as_array() == 0)
    theirs = torchvision_erasing(count, (height, width), (0.02, 0.33), (0.3, 3.3))
    for column in range(4):
        check_same_distribution(ours[:, column], theirs[:, column])
    areas = [(one[:, 2:] - one[:, :2]).prod(axis=1) for one in (ours, theirs)]
    check_same_distribution(*areas)


def test_random_fill_values() -> None:
    sure: dict[str, Any] = {"probability": 1.0, "random_area": (0.9, 0.95), "seed": 8}
    square: dict[str, Any] = {**sure, "random_aspect_ratio": (1.0, 1.0), "fill": "pixel"}
    zeros = as_batch(np.full((40, 50, 50, 3), 1e9, np.float32), layout="HWC")
    values = gradiva.random_erasing(zeros, **square).as_array()
    normal = values[values != 1e9]
    assert normal.size > 200000
    check_same_distribution(normal[:40000], np.random.default_rng(9).normal(size=40000))
    for dtype, low in ((np.uint8, 0), (np.int8, -128)):
        images = as_batch(np.zeros((40, 50, 50, 3), dtype), layout="HWC")
        made = gradiva.random_erasing(images, **square).as_array().astype(int)
        again = made[:, 10:40, 10:40]  # inside of each rectangle
        counts = np.bincount(again.reshape(-1) - low, minlength=256)
        check_counts(counts, np.ones(256))
