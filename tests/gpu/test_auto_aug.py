"""Automatic augmentations of batches on a GPU, on the simulated device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import auto_aug
from gradiva.auto_aug import augmentations
from tests.tiers import few

from .shim import COMPILER, NO_COMPILER
from .simulated import simulated

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

NAMES = [
    "auto_contrast",
    "brightness",
    "color",
    "contrast",
    "equalize",
    "identity",
    "invert",
    "posterize",
    "rotate",
    "sharpness",
    "shear_x",
    "shear_y",
    "solarize",
    "solarize_add",
    "translate_x_no_shape",
    "translate_y_no_shape",
]


def images() -> gradiva.Batch:
    generator = np.random.default_rng(0)
    return gradiva.as_batch(
        [generator.integers(0, 256, (20, 17, 3)).astype(np.uint8) for _ in range(4)], layout="HWC"
    )


def most_different(one: gradiva.Batch, other: gradiva.Batch) -> int:
    pairs = zip(one.cpu().arrays(), other.arrays(), strict=True)
    return max(int(np.abs(a.astype(int) - b.astype(int)).max()) for a, b in pairs)


@pytest.mark.parametrize("name", few(NAMES, "rotate"))
def test_each(name: str) -> None:
    """The CPU's bits; `sharpness` stands on `filter`, which may differ by 1."""
    augment: Any = getattr(augmentations, name)
    with simulated():
        for bin in (0, 3, 9):
            results = []
            for batch in (images(), images().gpu()):
                gradiva.random.set_seed(1)
                results.append(augment(batch, magnitude_bin=bin, num_magnitude_bins=11))
            expected, made = results
            assert str(made.device) == "gpu:0"
            assert most_different(made, expected) <= (name == "sharpness")
        del batch, results, made


@pytest.mark.full
def test_policies() -> None:
    """The same choices as on the CPU, put together in one batch there, with the same bits."""
    offered = [getattr(augmentations, name) for name in NAMES if name != "sharpness"]
    rand, trivial = auto_aug.rand_augment, auto_aug.trivial_augment
    policies: list[Any] = [
        lambda x, seed: rand.apply_rand_augment(offered, x, n=2, m=9, seed=seed),
        lambda x, seed: trivial.apply_trivial_augment(offered, x, seed=seed),
        lambda x, seed: auto_aug.auto_augment.auto_augment(x, seed=seed),
    ]
    with simulated():
        for policy in policies:
            for seed in range(4):
                made = policy(images().gpu(), seed)
                assert str(made.device) == "gpu:0"
                assert most_different(made, policy(images(), seed)) == 0
        del made
