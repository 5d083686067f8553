"""Steps that samples have left (`on_error="skip"`) are served from what was computed ahead, with
the bits of dynamic mode, and decoded once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random, readers
from gradiva.capture.loop import defer
from gradiva.eager.execution.execute import execute
from tests.capture.loop.loops import bits
from tests.eager.execution.damaged import make
from tests.tiers import few

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

COUNT = 24
BAD = {3: "cut", 8: "zeroed", 9: "text", 17: "empty", 22: "cut"}


def decode(files: Any) -> Any:
    return gradiva.decoders.image(files, on_error="skip")


def val(files: Any, labels: Any) -> Any:
    images = gradiva.resize(decode(files), size=(9, 11))
    images = gradiva.crop_mirror_normalize(images, crop=(8, 8), mean=120.0, std=60.0)
    images, labels = gradiva.align(images, labels)
    return images, labels


def train(files: Any, labels: Any) -> Any:
    images = gradiva.random_resized_crop(decode(files), size=(9, 9))
    coin = random.coin_flip(batch_size=images.batch_size)
    images = gradiva.flip(images, horizontal=coin)
    twice = random.uniform(range=(0.5, 1.5))
    images = gradiva.brightness(images, brightness=twice)
    images, labels = gradiva.align(images, labels)
    return images, coin, labels + 1, random.normal(images), twice


def before(files: Any, labels: Any) -> Any:
    """Values of all samples, made before and after some are left out."""
    noise, order = random.uniform(batch_size=labels.batch_size), labels * 2
    images = gradiva.resize(decode(files), size=(7, 7))
    return noise, order, images, labels * 3, random.normal(batch_size=labels.batch_size)


def inside(files: Any, labels: Any) -> Any:
    """A value within a fused group is looked at in some steps, also as an input of another call."""
    images = decode(files)
    small = gradiva.resize(images, size=(7, 7))
    if np.asarray(labels.tensors[0]) % 2:
        return small, images, gradiva.flip(images), random.uniform(batch_size=len(images))
    return small, gradiva.flip(small)


def permuted(files: Any, labels: Any) -> Any:
    """Random numbers that are about a whole batch."""
    images = gradiva.resize(decode(files), size=(7, 7))
    order = gradiva.batch_permutation(batch_size=images.batch_size)
    return gradiva.permute_batch(images, indices=order), order


def two_decoders(files: Any, labels: Any) -> Any:
    one = gradiva.resize(decode(files), size=(7, 7))
    other = gradiva.decoders.image_crop(files, crop=(6, 5), on_error="skip")
    return gradiva.align(one, other, labels)


def statistics(files: Any, labels: Any) -> Any:
    """What is left of a batch, as a whole."""
    images = gradiva.resize(decode(files), size=(7, 7))
    return gradiva.normalize(images, batch=True), gradiva.stack(images, images)


BODIES = [val, train, before, inside, permuted, two_decoders, statistics]


def epochs(body: Any, paths: list[str], size: int, capture: bool) -> Any:
    random.set_seed(5)
    gradiva.quarantine().clear()
    reader = readers.File(files=paths, random_shuffle=True)
    found = []
    for _ in range(3):
        loop = reader.next_epoch(size, capture=True) if capture else reader.next_epoch(size)
        found += [[bits(value) for value in body(*batch)] for batch in loop]
    listed = [entry.position for entry in gradiva.quarantine()]
    gradiva.quarantine().clear()
    return found, listed, random.get_default_rng().state


@pytest.fixture(name="paths")
def damaged(tmp_path: Path) -> list[str]:
    return make(tmp_path / "files", BAD, COUNT)


@pytest.mark.full
@pytest.mark.parametrize("body", few(BODIES, train))
def test_same_bits(body: Any, paths: list[str]) -> None:
    for size in (6, 1) if body is not permuted else (6, 5):
        assert epochs(body, paths, size, True) == epochs(body, paths, size, False)


@pytest.mark.parametrize("body", few([val, train], val))
def test_nothing_is_decoded_twice(
    body: Any, paths: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def noted(operator: Any, *arguments: Any, **given: Any) -> Any:
        ran.append(operator.name)
        return execute(operator, *arguments, **given)

    monkeypatch.setattr(defer, "execute", noted)
    epochs(body, paths, 6, True)
    assert ran.count("decoders.image") == 1  # of the first step, which is traced
    assert ran.count("resize") + ran.count("random_resized_crop") == 1


def test_strict_loops_go_on(paths: list[str]) -> None:
    """What is made for the samples that are left was not computed ahead, and need not be."""
    reader = readers.File(files=paths)
    loop = reader.next_epoch(6, capture=True, strict=True)
    assert sum(len(val(*batch)[0]) for batch in loop) == COUNT - len(BAD)
