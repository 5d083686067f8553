"""Random transforms of torchvision: the distributions of what they draw, argument by argument.

An image whose pixels say where they are, or a known color, shows what a transform drew. Both sides
draw from fixed seeds, and are compared by the tests of Kolmogorov and Smirnov and of chi-square.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva

T: Any = pytest.importorskip("torchvision.transforms")
v2: Any = pytest.importorskip("torchvision.transforms.v2")
torch: Any = pytest.importorskip("torch")

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]

Array = np.ndarray[Any, Any]
COUNT = 2000
NEAREST = T.InterpolationMode.NEAREST


def both(transform: Any, image: Array, look: Callable[[Array], float | tuple[float, ...]]) -> Any:
    """What was drawn for COUNT images, by gradiva and by torchvision: two arrays."""
    function = gradiva.convert.torchvision(transform, backend="tensor")
    gradiva.random.set_seed(11)
    torch.manual_seed(12)
    made = function(gradiva.batch([image] * COUNT, layout="HWC"))
    ours = [look(made.at(k)) for k in range(COUNT)]
    planes = torch.from_numpy(image.transpose(2, 0, 1).copy())
    theirs = [look(transform(planes.clone()).numpy()) for _ in range(COUNT)]
    return np.array(ours), np.array(theirs)


def same_values(ours: Array, theirs: Array) -> bool:
    """Kolmogorov and Smirnov, at one in 10,000."""
    points = np.sort(np.concatenate([ours, theirs]))
    parts = [np.searchsorted(np.sort(one), points, "right") / len(one) for one in (ours, theirs)]
    limit = math.sqrt(-math.log(0.00005) / 2) * math.sqrt(2 / len(ours))
    return bool(np.abs(parts[0] - parts[1]).max() < limit)


def same_counts(ours: Array, theirs: Array) -> bool:
    """Chi-square of whole numbers, or of rows of them; rare ones are one class."""
    rows = np.concatenate([ours, theirs]).reshape(2 * COUNT, -1)
    _, classes = np.unique(rows, axis=0, return_inverse=True)
    counts = np.stack(
        [np.bincount(part, minlength=classes.max() + 1) for part in np.split(classes.ravel(), 2)]
    ).astype(float)
    rare = counts.sum(axis=0) < 20
    counts = np.concatenate([counts[:, ~rare], counts[:, rare].sum(axis=1, keepdims=True)], axis=1)
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] == 1:
        return True
    chi = ((counts[0] - counts[1]) ** 2 / counts.sum(axis=0)).sum()
    freedom = counts.shape[1] - 1
    # Wilson and Hilferty: nearly normal; 3.9 deviations are one in 10,000.
    normal = ((chi / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return bool(normal < 3.9)


def places(height: int, width: int) -> Array:
    """Each pixel says its row, its column, and that it is inside."""
    y, x = np.mgrid[:height, :width]
    return np.stack([y, x, np.full_like(y, 255)], axis=-1).astype(np.uint8)


def corner(planes: Array) -> tuple[float, ...]:
    """Row and column of the pixel at the upper left."""
    return tuple(planes[:, 0, 0].tolist())


def test_crops() -> None:
    for transform in (
        T.RandomCrop((8, 5)),
        v2.RandomCrop(6, padding=2),
        v2.RandomCrop((14, 4), pad_if_needed=True),
        T.RandomCrop((14, 4), pad_if_needed=True),
    ):
        look = corner
        if transform.pad_if_needed:
            look = lambda planes: tuple(planes[2, :, 0].tolist())  # noqa: E731
        assert same_counts(*both(transform, places(10, 8), look)), transform


def test_flips() -> None:
    for transform in (T.RandomHorizontalFlip(0.3), v2.RandomVerticalFlip(0.8)):
        assert same_counts(*both(transform, places(2, 2), corner)), transform


def window(planes: Array) -> tuple[float, ...]:
    """Upper left and lower right of a window, from the pixels at its corners."""
    return (*planes[:2, 0, 0].tolist(), *planes[:2, -1, -1].tolist())


def test_resized_crops() -> None:
    """The places of the windows, and their areas."""
    for options in ({}, {"scale": (0.2, 0.6)}, {"ratio": (0.5, 3.0)}):
        transform = T.RandomResizedCrop(64, interpolation=NEAREST, **options)
        ours, theirs = both(transform, places(40, 56), window)
        for column in range(4):
            assert same_values(ours[:, column], theirs[:, column]), (transform, column)
        areas = [np.prod(one[:, 2:] - one[:, :2] + 1, axis=1) for one in (ours, theirs)]
        assert same_values(*areas), transform


GRAY = np.full((2, 2, 3), 100, np.uint8)
COLORS = np.array([[[200, 100, 50], [40, 90, 140]], [[120, 60, 90], [10, 80, 30]]], np.uint8)


def first(planes: Array) -> float:
    return float(planes[0, 0, 0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("brightness", {"brightness": 0.5}),
        ("contrast", {"contrast": (0.2, 1.2)}),
        ("saturation", {"saturation": 0.7}),
        ("hue", {"hue": 0.2}),
    ],
)
def test_factors_of_jitter(name: str, options: dict[str, Any]) -> None:
    for module in (T, v2):
        transform = module.ColorJitter(**options)
        assert same_values(*both(transform, COLORS, first)), (name, module)


def test_order_of_jitter() -> None:
    """Fixed factors, whose results differ by the order: each as likely."""
    transform = v2.ColorJitter((1.9, 1.9), (0.4, 0.4), (3.0, 3.0), (0.3, 0.3))
    ours, theirs = both(transform, COLORS, lambda planes: tuple(planes.ravel().tolist()))
    assert len(np.unique(theirs, axis=0)) > 10
    assert same_counts(ours, theirs)


@pytest.mark.parametrize(
    "transform",
    [
        T.RandomInvert(0.3),
        T.RandomPosterize(1, 0.6),
        v2.RandomSolarize(50, 0.2),
        T.RandomGrayscale(0.7),
        v2.RandomAutocontrast(0.4),
        T.RandomEqualize(0.4),
        v2.RandomApply([v2.RandomInvert(0.5), v2.RandomSolarize(60, 0.5)], 0.3),
        T.RandomChoice([T.RandomInvert(1.0), T.RandomPosterize(1, 1.0)]),
        v2.RandomChoice([v2.RandomInvert(1.0), v2.RandomPosterize(1, 1.0)], [1, 4]),
        T.RandomOrder([T.RandomInvert(1.0), T.RandomPosterize(1, 1.0), T.RandomSolarize(90, 1.0)]),
    ],
)
def test_probabilities(transform: Any) -> None:
    def look(planes: Array) -> tuple[float, ...]:
        return tuple(planes.ravel().tolist())

    assert same_counts(*both(transform, COLORS, look))


def test_angles_and_moves() -> None:
    """The angle of a rotation by the place of a pixel; the moves of an affine map."""
    image = places(41, 41)

    def seen(planes: Array) -> tuple[float, ...]:
        return tuple(planes[:2, 20, 30].tolist())

    for transform in (
        T.RandomRotation(40, fill=0),
        v2.RandomRotation((10, 70)),
        v2.RandomAffine(0, translate=(0.1, 0.3)),
        T.RandomAffine(0, scale=(0.5, 2.0)),
        v2.RandomAffine(0, shear=30),
        T.RandomAffine((0, 20), shear=(-10, 10, 5, 30)),
        T.RandomPerspective(0.6, p=0.7),
    ):
        ours, theirs = both(transform, image, seen)
        assert same_counts(ours, theirs), transform


def test_blurs() -> None:
    image = np.zeros((9, 9, 3), np.uint8)
    image[4, 4] = 255
    look = lambda planes: float(planes[0, 4, 4])  # noqa: E731
    assert same_values(*both(v2.GaussianBlur(5, (0.3, 1.5)), image, look))


def test_erasing() -> None:
    """Height, width and place of the rectangle, and how often there is one."""
    image = np.full((24, 30, 3), 9, np.uint8)

    def look(planes: Array) -> tuple[float, ...]:
        erased = np.argwhere(planes[0] == 0)
        if not len(erased):
            return -1.0, -1.0, -1.0, -1.0
        return (*erased.min(axis=0).tolist(), *np.ptp(erased, axis=0).tolist())

    for transform in (T.RandomErasing(0.6), v2.RandomErasing(1.0, (0.1, 0.4), (0.2, 0.9))):
        ours, theirs = both(transform, image, look)
        for column in range(4):
            assert same_values(ours[:, column], theirs[:, column]), (transform, column)


def test_zooms() -> None:
    """The size of the canvas, and where the image lies."""

    def look(planes: Array) -> tuple[float, ...]:
        inside = np.argwhere(planes[2] == 255)
        return (*planes.shape[1:], *inside.min(axis=0).tolist())

    ours, theirs = both(v2.RandomZoomOut(0, (1.0, 2.0), 0.7), places(20, 30), look)
    for column in range(4):
        assert same_values(ours[:, column], theirs[:, column]), column


def test_sizes() -> None:
    shape = lambda planes: float(planes.shape[1])  # noqa: E731
    for transform in (
        v2.RandomResize(10, 20),
        v2.RandomShortestSize([9, 12, 20]),
        v2.ScaleJitter((20, 30), (0.5, 1.5)),
    ):
        assert same_counts(*both(transform, places(30, 40), shape)), transform


@pytest.mark.parametrize(
    "transform",
    [
        T.RandAugment(1, 20),
        v2.RandAugment(2, 9),
        T.TrivialAugmentWide(),
        v2.TrivialAugmentWide(5),
        T.AutoAugment(),
        v2.AutoAugment(v2.AutoAugmentPolicy.SVHN),
        T.AutoAugment(T.AutoAugmentPolicy.CIFAR10, fill=[1.0, 2.0, 3.0]),
    ],
)
def test_policies(transform: Any) -> None:
    """The results for a small image: the same ones, as often. A factor of float32 changes some
    values by a step, and an angle some pixels."""
    image = np.random.default_rng(3).integers(0, 256, (12, 10, 3)).astype(np.uint8)
    known: list[Array] = []

    def which(planes: Array) -> float:
        values = planes.astype(np.int16)
        if known:
            apart = (np.abs(np.stack(known) - values) > 2).mean(axis=(1, 2, 3))
            if apart.min() < 0.05:
                return float(apart.argmin())
        known.append(values)
        return float(len(known) - 1)

    assert same_counts(*both(transform, image, which))
