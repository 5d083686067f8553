"""Promise: one digest of a program for all settings: threads, depths, sizes of batches, shards."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, random, readers
from tests.soaking import Figures, scaled

EPOCHS = scaled(3)


def augment(files: Any) -> tuple[Any, Any]:
    """Every random operator, arithmetic, and arguments per sample."""
    images = gradiva.decoders.image(files)
    count = images.batch_size
    images = gradiva.resize(images, resize_shorter=random.uniform(range=(40, 60), batch_size=count))
    images = gradiva.flip(
        images,
        horizontal=random.coin_flip(batch_size=count),
        vertical=random.coin_flip(batch_size=count, probability=0.3),
    )
    images = gradiva.brightness_contrast(
        images, brightness=random.normal(mean=1.0, stddev=0.2, batch_size=count)
    )
    noisy = images + random.normal(images, stddev=5.0)
    noisy = gradiva.cast(noisy, dtype=gradiva.uint8)
    out = gradiva.crop_mirror_normalize(
        noisy,
        crop=(32, 32),
        crop_pos_x=random.uniform(range=(0, 1), batch_size=count),
        mirror=random.coin_flip(batch_size=count),
        mean=[120.0, 110.0, 100.0],
        std=[60.0, 59.0, 58.0],
    )
    return out, images


def by_position(outputs: tuple[Any, ...], found: dict[int, tuple[bytes, bytes]]) -> None:
    for position, normal, image in zip(outputs[0].positions.tolist(), *outputs, strict=True):
        assert position not in found
        found[position] = (np.asarray(normal).tobytes(), np.asarray(image).tobytes())


def eager_samples(root: str, batch_size: int, threads: int) -> dict[int, tuple[bytes, bytes]]:
    random.set_seed(99)
    gradiva.set_num_threads(threads)
    reader = readers.File(file_root=root, random_shuffle=True)
    found: dict[int, tuple[bytes, bytes]] = {}
    for _ in range(EPOCHS):
        for files, _labels in reader.next_epoch(batch_size=batch_size):
            by_position(augment(files), found)
    gradiva.set_num_threads(None)
    return found


@pytest.fixture(scope="module")
def expected(photographs: Path) -> dict[int, tuple[bytes, bytes]]:
    found = eager_samples(str(photographs), 3, 1)
    assert sorted(found) == list(range(7 * EPOCHS))
    assert len(set(found.values())) == len(found)
    return found


@pytest.mark.parametrize(("threads", "batch_size"), [(1, 7), (2, 4), (8, 3), (8, 5)])
def test_eager(
    photographs: Path,
    expected: dict[int, tuple[bytes, bytes]],
    threads: int,
    batch_size: int,
    figures: Figures,
) -> None:
    assert eager_samples(str(photographs), batch_size, threads) == expected
    figures(samples=len(expected))


QUICK = ((1, 2, 5), (2, 1, 3), (8, 4, 3))


@pytest.mark.parametrize(
    ("threads", "depth", "batch_size"),
    [
        pytest.param(*one, marks=() if one in QUICK else pytest.mark.full)
        for one in itertools.product((1, 2, 8), (1, 2, 4), (3, 5))
    ],
)
def test_pipeline(
    photographs: Path,
    expected: dict[int, tuple[bytes, bytes]],
    threads: int,
    depth: int,
    batch_size: int,
    figures: Figures,
) -> None:
    root = str(photographs)

    @gradiva.pipeline_def(
        batch_size=batch_size, num_threads=threads, prefetch_queue_depth=depth, seed=99
    )
    def pipeline() -> Any:
        files, _labels = fn.readers.file(file_root=root, random_shuffle=True)
        return augment(files)

    pipe = pipeline()
    found: dict[int, tuple[bytes, bytes]] = {}
    while len(found) < len(expected):
        by_position(pipe.run(), found)
    pipe.close()
    for position, sample in expected.items():
        assert found[position] == sample, position
    figures(samples=len(expected))


@pytest.mark.parametrize("options", [{"exec_async": False}, {"exec_pipelined": False}])
def test_pipeline_in_the_callers_thread(
    photographs: Path, expected: dict[int, tuple[bytes, bytes]], options: Any
) -> None:
    root = str(photographs)

    @gradiva.pipeline_def(batch_size=7, num_threads=2, seed=99, **options)
    def pipeline() -> Any:
        files, _labels = fn.readers.file(file_root=root, random_shuffle=True)
        return augment(files)

    found: dict[int, tuple[bytes, bytes]] = {}
    by_position(pipeline().run(), found)
    assert all(expected[position] == sample for position, sample in found.items())


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_make_up_the_whole(
    photographs: Path, expected: dict[int, tuple[bytes, bytes]], shards: int
) -> None:
    """What a sample looks like does not depend on the shard that reads it."""
    random.set_seed(99)
    found: dict[int, tuple[bytes, bytes]] = {}
    for shard in range(shards):
        reader = readers.File(
            file_root=str(photographs), random_shuffle=True, num_shards=shards, shard_id=shard
        )
        for files, _labels in reader.next_epoch(batch_size=2):
            by_position(augment(files), found)
    assert found == {position: expected[position] for position in range(7)}


def test_one_value_for_all_samples(photographs: Path) -> None:
    """Without a batch size a random call is one Tensor, shared by the batch, in both modes."""

    def shared(files: Any) -> tuple[Any, Any]:
        images = gradiva.decoders.image(files)
        angle = random.uniform(range=(0.0, 1.0))
        small = gradiva.crop(images, crop=(64, 64), crop_pos_x=angle)
        return small, gradiva.crop(images, crop=(8, 8), crop_pos_y=random.uniform(range=(0, 1)))

    root = str(photographs)
    random.set_seed(5)
    eager = [shared(files) for files, _ in readers.File(file_root=root).next_epoch(batch_size=7)]

    @gradiva.pipeline_def(batch_size=7, num_threads=2, seed=5)
    def pipeline() -> Any:
        files, _labels = fn.readers.file(file_root=root)
        return shared(files)

    for left, right in zip(eager[0], pipeline().run(), strict=True):
        np.testing.assert_array_equal(left.as_array(), right.as_array())
