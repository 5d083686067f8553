"""`mixup` and `cutmix` beside torchvision's, where that is installed: the same bits for the same
shares, boxes and partners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch

torch: Any = pytest.importorskip("torch")
v2: Any = pytest.importorskip("torchvision.transforms.v2")

COUNT = 4


@pytest.fixture(scope="module")
def seed() -> int:
    """One for which the partner of each sample is the one before it, as torchvision has it."""
    numbers = as_batch(np.arange(COUNT, dtype=np.float32).reshape(COUNT, 1))
    for seed in range(1000):
        partners = gradiva.mixup(numbers, lam=0.0, seed=seed).as_array().reshape(-1)
        if (partners == np.roll(np.arange(COUNT), 1)).all():
            return seed
    raise AssertionError("no such seed")


def fixed(transform: Any, **params: Any) -> Any:
    """A transform that draws nothing."""
    transform.make_params = lambda _: {"batch_size": COUNT, **params}
    return transform


def test_mixup(seed: int) -> None:
    images, labels = torch.rand(COUNT, 3, 8, 9), torch.arange(COUNT)
    for lam in np.random.default_rng(1).uniform(0, 1, 10).astype(np.float32):
        transform = fixed(v2.MixUp(num_classes=5), labels=labels, lam=float(lam))
        theirs, their_labels = transform(images, labels)
        ours, our_labels = gradiva.mixup(
            as_batch(images.numpy(), layout="CHW"),
            as_batch(labels.numpy()),
            lam=float(lam),
            num_classes=5,
            seed=seed,
        )
        np.testing.assert_array_equal(ours.as_array(), theirs.numpy())
        np.testing.assert_array_equal(our_labels.as_array(), their_labels.numpy())


@pytest.mark.parametrize("size", [(8, 9), (21, 32)])
def test_cutmix(seed: int, size: tuple[int, int]) -> None:
    generator = np.random.default_rng(2)
    height, width = size
    images, labels = torch.rand(COUNT, 3, height, width), torch.arange(COUNT)
    for lam in generator.uniform(0, 1, 20).astype(np.float32):
        y, x = int(generator.integers(height)), int(generator.integers(width))
        half = 0.5 * np.sqrt(1.0 - float(lam))
        tall, wide = int(half * height), int(half * width)
        box = max(x - wide, 0), max(y - tall, 0), min(x + wide, width), min(y + tall, height)
        left = 1.0 - (box[2] - box[0]) * (box[3] - box[1]) / (width * height)
        transform = fixed(v2.CutMix(num_classes=5), labels=labels, box=box, lam_adjusted=left)
        theirs, their_labels = transform(images, labels)
        ours, our_labels = gradiva.cutmix(
            as_batch(images.numpy(), layout="CHW"),
            as_batch(labels.numpy()),
            lam=float(lam),
            center=((y + 0.5) / height, (x + 0.5) / width),
            num_classes=5,
            seed=seed,
        )
        np.testing.assert_array_equal(ours.as_array(), theirs.numpy())
        np.testing.assert_allclose(our_labels.as_array(), their_labels.numpy(), atol=1e-6)
