"""Random values of converted transforms have the distributions of Albumentations.

Both sides draw many times with fixed seeds. Each argument of a transform is compared, and so are
statistics of the images that come out, by tests of Kolmogorov and Smirnov; kinds of results by
chi-square.
"""

from __future__ import annotations

import json
import random as python_random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva

A: Any = pytest.importorskip("albumentations", reason="Albumentations is absent")
if not A.__version__.startswith("2."):
    pytest.skip("the distributions are those of Albumentations 2", allow_module_level=True)
pytest.importorskip("torch", reason="torch is absent")

from gradiva.convert.from_albumentations.nodes import node_of  # noqa: E402
from gradiva.convert.from_albumentations.settings import settings_for, told  # noqa: E402
from gradiva.ops.image.albumentations.blurs import motion_window  # noqa: E402
from gradiva.ops.image.albumentations.draw import draw  # noqa: E402
from gradiva.ops.image.albumentations.warps import WARPS  # noqa: E402

from .albumentations_cases import random, values_in  # noqa: E402

pytestmark = pytest.mark.full
SIZE = (40, 56, 3)
HALF = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])


def picture() -> Any:
    y, x, c = np.mgrid[: SIZE[0], : SIZE[1], :3]
    noise = np.random.default_rng(0).integers(0, 30, SIZE)
    waves = 110 + 60 * np.sin(x / (5 + c)) + 40 * np.cos(y / (7 - c)) + noise
    return waves.clip(0, 255).astype(np.uint8)


def agree(mine: Any, theirs: Any, name: str) -> None:
    """Two samples of one distribution: the distance of their steps, for each column."""
    mine, theirs = (np.asarray(one, np.float64).reshape(len(one), -1) for one in (mine, theirs))
    assert mine.shape[1] == theirs.shape[1], name
    # Numbers that differ in the last bits are the same number.
    mine, theirs = np.round(mine, 6), np.round(theirs, 6)
    limit = 2.5 * np.sqrt(1 / len(mine) + 1 / len(theirs))
    for column, (one, other) in enumerate(zip(mine.T, theirs.T, strict=True)):
        places = np.unique(np.concatenate([one, other]))
        steps = [
            np.searchsorted(np.sort(side), places, "right") / len(side) for side in (one, other)
        ]
        distance = np.abs(steps[0] - steps[1]).max()
        assert distance < limit, (
            f"{name}, number {column}: {distance:.3f} and not below {limit:.3f}"
        )


def as_often(mine: list[Any], theirs: list[Any]) -> None:
    """Two samples of one distribution over a few kinds."""
    kinds = sorted({*mine, *theirs})
    counts = np.array([[side.count(kind) for kind in kinds] for side in (mine, theirs)], float)
    expected = counts.sum(axis=0) / 2
    assert len(mine) == len(theirs)
    freedom = max(1, len(kinds) - 1)
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    # The cube root of chi-square is almost normal; 4.5 deviations.
    normal = ((chi_square / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (
        2 / (9 * freedom)
    ) ** 0.5
    assert normal < 4.5, (chi_square, freedom, counts)


def drawn(transform: Any, count: int) -> list[list[float]]:
    """What gradiva draws, where the transform is applied."""
    node = node_of(transform)
    settings = json.dumps(settings_for(node.name, told(node.name, node.arguments)))
    images = gradiva.batch([np.zeros(SIZE, np.uint8)] * count, layout="HWC")
    rows = draw(images, transform=node.name, settings=settings, seed=5).arrays()
    assert all(row[0] == 1 for row in rows)
    return [row[1:].tolist() for row in rows]


def params(transform: Any, count: int) -> list[dict[str, Any]]:
    """What Albumentations draws."""
    transform.set_random_seed(3)
    data, found = {"image": picture()}, []
    for _ in range(count):
        one = transform.update_transform_params(transform.get_params(), data)
        one.update(transform.get_params_dependent_on_data(one, data))
        found.append(one)
    return found


def named(*names: str) -> Callable[[dict[str, Any]], Any]:
    return lambda one: [one[name] for name in names]


def window(one: dict[str, Any]) -> Any:
    return one["crop_coords"]


def shifts(one: dict[str, Any]) -> Any:
    return one["noise_map"]


def holes(one: dict[str, Any]) -> Any:
    return [len(one["holes"]), *(one["holes"][0] if len(one["holes"]) else [0] * 4)]


def mine_holes(row: list[float]) -> Any:
    return [len(row) // 4, *(row[1:5] if len(row) > 1 else [0] * 4)]


def kernel(one: dict[str, Any]) -> Any:
    return moments(one["kernel"])


def moments(weights: Any) -> Any:
    y, x = np.mgrid[: weights.shape[0], : weights.shape[1]]
    return [len(weights), (weights * x).sum(), (weights * y).sum(), (weights * x * y).sum()]


def matrix(one: dict[str, Any]) -> Any:
    return np.asarray(one["matrix"])[:2].reshape(-1)


def same(row: list[float]) -> Any:
    return row


def mine_matrix(transform: Any) -> Callable[[list[float]], Any]:
    node = node_of(transform)
    settings = settings_for(node.name, told(node.name, node.arguments))

    def find(row: list[float]) -> Any:
        move = WARPS[node.name](SIZE[:2], row, settings)
        return (np.linalg.inv(HALF) @ move.matrix @ HALF)[:2].reshape(-1)

    return find


def first(count: int) -> Callable[[list[float]], Any]:
    return lambda row: row[:count]


JITTER = ("brightness", "contrast", "saturation", "hue")
WARPED = [A.Affine(scale=(0.7, 1.3), rotate=(-30, 30), shear=(-9, 9), translate_px=(-4, 4), p=1)]
ARGUMENTS: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]] = {
    "brightness": (
        A.RandomBrightnessContrast(p=1),
        named("alpha", "beta"),
        lambda row: [1 + row[0], 255 * row[1]],
    ),
    "gamma": (A.RandomGamma(p=1), named("gamma"), lambda row: [row[0] / 100]),
    "hsv": (A.HueSaturationValue(p=1), named("hue_shift", "sat_shift", "val_shift"), same),
    "rgb": (A.RGBShift(p=1), shifts, lambda row: 255 * np.array(row)),
    "jitter": (A.ColorJitter(p=1), lambda one: [one[k] for k in JITTER] + one["order"], same),
    "posterize": (A.Posterize((2, 6), p=1), named("num_bits"), same),
    "solarize": (A.Solarize((0.2, 0.9), p=1), named("threshold"), same),
    "clahe": (A.CLAHE((1, 4), p=1), named("clip_limit"), same),
    "shuffle": (A.ChannelShuffle(p=1), named("channels_shuffled"), lambda row: [row]),
    "dropped": (
        A.ChannelDropout((1, 2), p=1),
        lambda one: [len(one["channels_to_drop"]), one["channels_to_drop"][0]],
        lambda row: [len(row), row[0]],
    ),
    "blur": (A.Blur((3, 11), p=1), named("kernel"), same),
    "motion": (A.MotionBlur((3, 9), p=1), kernel, lambda row: moments(motion_window(row))),
    "defocus": (A.Defocus(p=1), named("radius", "alias_blur"), same),
    "quality": (A.ImageCompression(quality_range=(20, 60), p=1), named("quality"), same),
    "iso": (A.ISONoise(p=1), named("color_shift", "intensity"), first(2)),
    "downscale": (A.Downscale((0.2, 0.8), p=1), named("scale"), same),
    "unsharp": (A.UnsharpMask((3, 9), (0.5, 2), p=1), named("ksize", "sigma", "alpha"), same),
    "scale": (A.RandomScale((-0.3, 0.3), p=1), named("scale"), lambda row: [row[0] + 1]),
    "crop": (A.RandomCrop(20, 30), window, first(4)),
    "sized crop": (A.RandomSizedCrop((10, 30), (24, 32), w2h_ratio=1.2), window, first(4)),
    "resized crop": (A.RandomResizedCrop((24, 32)), window, first(4)),
    "narrow crop": (A.RandomResizedCrop((9, 9), (0.5, 1), (0.4, 0.6)), window, first(4)),
    "rotate": (A.Rotate(p=1), matrix, None),
    "affine": (WARPED[0], matrix, None),
    "shift": (
        A.Affine(translate_percent=(-0.2, 0.2), scale=(0.5, 2), keep_ratio=True),
        matrix,
        None,
    ),
    "balanced": (A.Affine(scale=(0.5, 3), balanced_scale=True), matrix, None),
    "perspective": (
        A.Perspective((0.05, 0.3), keep_size=False, p=1),
        lambda one: np.asarray(one["matrix"] / one["matrix"][2, 2])[:2].reshape(-1),
        None,
    ),
    "turn": (A.RandomRotate90(p=1), named("factor"), same),
    "holes": (A.CoarseDropout((1, 3), p=1), holes, mine_holes),
    "large holes": (A.CoarseDropout((1, 3), (2, 30), (3, 20), p=1), holes, mine_holes),
    "grid": (A.GridDropout(0.4, unit_size_range=(6, 12), p=1), holes, mine_holes),
    "erasing": (A.Erasing((0.05, 0.6), (0.3, 3), p=1), holes, mine_holes),
    "padding": (
        A.PadIfNeeded(50, 70, position="random"),
        named("pad_top", "pad_bottom", "pad_left", "pad_right"),
        same,
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    transform, theirs, mine = ARGUMENTS[name]
    find = mine_matrix(transform) if mine is None else mine
    count = 1500
    agree(
        [np.ravel(find(row)) for row in drawn(transform, count)],
        [np.ravel(theirs(one)) for one in params(transform, count)],
        name,
    )


def seed_all(compose: Any, seed: int) -> None:
    """Seed a pipeline with one generator for all transforms. The argument `seed` of a Compose gives
    each transform a generator of its own with the same seed, so that they draw the same numbers."""
    compose.set_random_state(np.random.default_rng(seed), python_random.Random(seed))


def statistics(image: Any) -> Any:
    """Numbers that tell much about an image."""
    wide = np.asarray(image, np.float64)
    height, width = wide.shape[:2]
    places = [(height // 3, width // 4), (height // 2, width // 2), (height - 1, 0)]
    values = [wide[y, x, c] for (y, x), c in zip(places, (0, 1, 2), strict=True)]
    rows = [wide[: height // 2].mean(), wide[:, : width // 2].mean()]
    return [height, width, *wide.mean(axis=(0, 1)), wide.std(), *rows, *values]


CASES = random()


@pytest.mark.parametrize("number", range(len(CASES)))
def test_images(number: int) -> None:
    """What comes out of all of it."""
    transform, count, image = CASES[number], 400, picture()
    compose = A.Compose([transform])
    seed_all(compose, 11)
    function = gradiva.convert.albumentations(compose)
    assert function.random
    gradiva.random.set_seed(7)
    images = gradiva.batch([image] * count, layout="HWC")
    mine = [statistics(one) for one in function(images).arrays()]
    theirs = [statistics(values_in(compose(image=image)["image"])) for _ in range(count)]
    agree(mine, theirs, str(transform))


CONTAINERS = {
    "one of": lambda a, b, c, d: A.OneOf([a(0.9), b(0.3), c(0.6)], p=0.8),
    "some of": lambda a, b, c, d: A.SomeOf([a(0.9), b(0.3), c(0.6), d(1)], n=2, p=0.9),
    "some again": lambda a, b, c, d: A.SomeOf([a(1), b(0.7), c(1)], n=3, replace=True, p=0.9),
    "order": lambda a, b, c, d: A.RandomOrder([a(0.9), b(0.5), c(1)], n=3, p=0.9),
    "order again": lambda a, b, c, d: A.RandomOrder([a(0.9), b(0.5), c(1)], n=2, replace=True),
    "other": lambda a, b, c, d: A.OneOrOther(a(0.2), A.Sequential([b(0.5), c(0.5)], p=0.1), p=0.7),
    "sequence": lambda a, b, c, d: A.Sequential([a(0.5), A.OneOf([b(1), c(1)], p=0.4)], p=0.6),
    "nested": lambda a, b, c, d: A.OneOf(
        [A.Sequential([a(0.5), b(0.5)], p=0.7), A.OneOf([c(0.1), d(0.3)], p=0.2), A.NoOp(p=0.4)],
        p=1,
    ),
    "compose": lambda a, b, c, d: A.Compose([a(0.5), A.Compose([b(0.5), c(1)], p=0.5)], p=0.8),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name: str) -> None:
    """How often each combination and order occurs."""
    kinds = [
        lambda p: A.HorizontalFlip(p=p),
        lambda p: A.Posterize((1, 1), p=p),
        lambda p: A.RandomBrightnessContrast((0.25, 0.25), (-0.3, -0.3), p=p),
        lambda p: A.Transpose(p=p),
    ]
    given = CONTAINERS[name](*kinds)
    compose = given if isinstance(given, A.Compose) else A.Compose([given])
    seed_all(compose, 5)
    image, count = picture(), 1500
    function = gradiva.convert.albumentations(compose)
    gradiva.random.set_seed(9)
    made = function(gradiva.batch([image] * count, layout="HWC"))
    mine = [hash(one.tobytes()) for one in made.arrays()]
    theirs = [hash(compose(image=image)["image"].tobytes()) for _ in range(count)]
    as_often(mine, theirs)


def test_symmetries() -> None:
    """The eight of D4 are as likely."""
    function = gradiva.convert.albumentations(A.D4(p=1))
    compose, image, count = A.Compose([A.D4(p=1)]), picture(), 1200
    seed_all(compose, 1)
    made = function(gradiva.batch([image] * count, layout="HWC"))
    mine = [hash(one.tobytes()) for one in made.arrays()]
    assert len(set(mine)) == 8
    as_often(mine, [hash(compose(image=image)["image"].tobytes()) for _ in range(count)])
