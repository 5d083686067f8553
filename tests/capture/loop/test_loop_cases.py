"""What may stand in the body of a captured loop: bits as without capture, and the share served."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import random
from tests.capture.loop.loops import all_served, normalized, same

pytestmark = pytest.mark.core

GAIN = 0.5
SIZE = [24, 20]
LARGE = np.linspace(0, 1, 28 * 28, dtype=np.float32).reshape(1, 28, 28)
SETTINGS = SimpleNamespace(brightness=1.25, crop=SimpleNamespace(size=(16, 12)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("loop")
    from tests.capture.loop.loops import make_folder

    return make_folder(path)


def validation(files: Any, labels: Any, step: int) -> Any:
    return normalized(files), labels


def arithmetic(files: Any, labels: Any, step: int) -> Any:
    x = normalized(files)
    return -x * 2 + 1 - x / 3, labels + 1, labels == 1, labels // 2 * labels


def subscripts(files: Any, labels: Any, step: int) -> Any:
    images = gradiva.decoders.image(files)
    return images.slice[2:20, 4:, 0], images.slice[..., ::1], labels.slice[0]


def mathematics(files: Any, labels: Any, step: int) -> Any:
    x = gradiva.math.sqrt(gradiva.cast(labels, dtype=gradiva.float32) + math.pi)
    return gradiva.math.sin(x), gradiva.math.clamp(x, 0.0, math.sqrt(4.0)), x**2


def constants(files: Any, labels: Any, step: int) -> Any:
    return normalized(files) * GAIN + np.float32(2), labels + np.array([3], np.int32)


def large_constant(files: Any, labels: Any, step: int) -> Any:
    return (normalized(files) * LARGE,)


def attributes(files: Any, labels: Any, step: int) -> Any:
    images = gradiva.brightness(gradiva.decoders.image(files), brightness=SETTINGS.brightness)
    return (gradiva.crop(images, crop=SETTINGS.crop.size),)


def local_lists(files: Any, labels: Any, step: int) -> Any:
    done = [gradiva.decoders.image(files)]
    for size in (SIZE, [10, 30]):
        done.append(gradiva.resize(done[-1], size=size))
    return [gradiva.flip(image) for image in done]


def helpers(files: Any, labels: Any, step: int) -> Any:
    def twice(value: Any) -> Any:
        return value * 2

    chosen = {"images": twice(normalized(files)), "labels": twice(labels)}
    return chosen.values()


def plain_if(files: Any, labels: Any, step: int) -> Any:
    images = gradiva.decoders.image(files)
    if GAIN < 1 and labels.batch_size:
        images = gradiva.flip(images)
    return (images,)


def random_calls(files: Any, labels: Any, step: int) -> Any:
    images = gradiva.decoders.image(files)
    count = images.batch_size
    images = gradiva.resize(images, resize_shorter=random.uniform(range=(30, 50), batch_size=count))
    noisy = images + random.normal(images, stddev=5.0)
    coin = random.coin_flip(batch_size=count)
    shared = random.uniform(range=(0.0, 1.0))
    generator = random.uniform(range=(0.0, 1.0), seed=5, batch_size=count)
    return (
        gradiva.crop_mirror_normalize(
            gradiva.cast(noisy, dtype=gradiva.uint8), crop=(20, 20), mirror=coin, crop_pos_x=shared
        ),
        generator,
        shared,
    )


ALL_SERVED = [
    validation,
    arithmetic,
    subscripts,
    mathematics,
    constants,
    large_constant,
    attributes,
    local_lists,
    helpers,
    plain_if,
    random_calls,
]


@pytest.mark.parametrize("body", ALL_SERVED)
def test_everything_is_served(folder: str, body: Any) -> None:
    """Six steps an epoch, the last one smaller: the very first is traced, all others are served."""
    assert all_served(same(folder, body), 6)


@pytest.mark.parametrize("body", [validation, random_calls])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"batch_size": 11},
        {"batch_size": 50},
        {"batch_size": 3, "pad_last_batch": True},
        {"batch_size": 2, "num_shards": 3, "shard_id": 1},
        {"batch_size": 2, "num_shards": 2, "shard_id": 1, "stick_to_shard": True},
        {"batch_size": 2, "strict": True},
    ],
)
def test_readers_and_batch_sizes(folder: str, body: Any, options: dict[str, Any]) -> None:
    for explanation in same(folder, body, epochs=3, **options):
        assert explanation.unserved == 0, str(explanation)
        assert explanation.share == 1.0


@pytest.mark.parametrize("body", [validation, random_calls, subscripts])
def test_a_loop_over_samples(folder: str, body: Any) -> None:
    def of_samples(file: Any, label: Any, step: int) -> Any:
        if body is not random_calls:
            return body(file, label, step)
        image = gradiva.resize(gradiva.decoders.image(file), size=(20, 20))
        coin = random.coin_flip()
        return image + random.normal(image, stddev=5.0), gradiva.flip(image, horizontal=coin)

    assert all_served(same(folder, of_samples, batch_size=None), 11)


def skipped(files: Any, labels: Any, step: int) -> Any:
    """One call is left out in every other step; the call after it reads its result."""
    images = gradiva.decoders.image(files)
    flipped = gradiva.flip(images)
    if step % 2:
        images = gradiva.brightness(images, brightness=1.5)
    return gradiva.resize(images, size=(16, 16)), flipped, labels + 1


def late(files: Any, labels: Any, step: int) -> Any:
    """A call that is first made in the third step."""
    x = normalized(files)
    return (x, x * 2) if step > 2 else (x,)


def skipped_random(files: Any, labels: Any, step: int) -> Any:
    """The random call left out gives its number to the next one."""
    images = gradiva.resize(gradiva.decoders.image(files), size=(20, 20))
    count = images.batch_size
    if step != 3:
        images = gradiva.flip(images, horizontal=random.coin_flip(batch_size=count))
    noise = random.uniform(range=(-20.0, 20.0), batch_size=count)
    return images, images + noise, random.uniform(batch_size=count), labels * 2


@pytest.mark.full
@pytest.mark.parametrize(
    ("body", "unserved"),
    [(skipped, {"brightness", "resize"}), (late, {"mul"}), (skipped_random, None)],
)
def test_skipped_calls(folder: str, body: Any, unserved: set[str] | None) -> None:
    for explanation in same(folder, body, forget=True):
        assert explanation.unserved
        assert explanation.served
        names = {entry.operator for entry in explanation}
        if unserved is not None:
            assert len(names) == len(unserved), names
            assert "flip" not in names
            assert "decoders.image" not in names
    # What a step does now and then is known to the next loop.
    *_, again = same(folder, body, epochs=3)
    assert again.unserved == 0 or body is skipped_random


def test_a_skipped_random_call_leaves_the_others_served(folder: str) -> None:
    for explanation in same(folder, skipped_random):
        lines = {(entry.operator, entry.first_step, entry.count) for entry in explanation}
        assert all(step == 3 for _, step, _ in lines), str(explanation)
        assert {name for name, _, _ in lines} <= {"random.uniform", "add"}


def tensor_arguments(files: Any, labels: Any, step: int) -> Any:
    """Arguments that are tensors, of the step or from outside, and numbers taken from data."""
    images = gradiva.resize(gradiva.decoders.image(files), size=(20, 20))
    bright = gradiva.brightness(images, brightness=gradiva.as_tensor(np.float32(1.25)))
    flipped = gradiva.flip(images, horizontal=labels.slice[0])
    return bright, flipped, gradiva.crop(images, crop=[8, 8], crop_pos_x=0.25)


def looked_at(files: Any, labels: Any, step: int) -> Any:
    """Data that the body looks at between calls, large and small, but does not change."""
    images = gradiva.resize(gradiva.decoders.image(files), size=(300, 300))
    assert np.asarray(images).shape[1:] == (300, 300, 3)
    assert labels.shape == [(1,)] * len(labels)
    return gradiva.flip(images), labels * 2 if np.asarray(labels).max() < 9 else labels


@pytest.mark.parametrize("body", [tensor_arguments, looked_at])
def test_tensors_and_looks(folder: str, body: Any) -> None:
    for explanation in same(folder, body, forget=True):
        assert explanation.unserved == 0, str(explanation)
        assert explanation.served == 5 * explanation.traced


def test_constants_that_change_in_the_loop(folder: str) -> None:
    def body(files: Any, labels: Any, step: int) -> Any:
        if step == 3:
            table[...] = 7
            settings.gain = 4
        return labels * settings.gain, labels + table, labels - 1

    table = np.full(1, 2, np.int32)
    settings = SimpleNamespace(gain=3)

    def restarted(files: Any, labels: Any, step: int) -> Any:
        if step == 0:
            table[...] = 2
            settings.gain = 3
        return body(files, labels, step)

    # Missed twice before it is computed ahead; three further steps are under way by then.
    for explanation in same(folder, restarted, batch_size=1, forget=True):
        entries = {entry.location.line for entry in explanation if entry.location}
        assert len(entries) == 1
        assert all(entry.first_step == 3 and entry.count <= 5 for entry in explanation)
