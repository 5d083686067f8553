"""Random values that are drawn once for a step of a captured loop, for samples and for batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, random
from tests.capture.loop.loops import bits, make_folder, no_thread_is_left, normalized, same

__all__ = ["no_thread_is_left"]

pytestmark = [
    pytest.mark.core,
    pytest.mark.usefixtures("no_thread_is_left"),
    pytest.mark.filterwarnings("ignore:.*draws one value for the whole batch"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("single"), 6)


def flipped(images: Any) -> Any:
    """A sample that is flipped by one coin, as an argument."""
    return [gradiva.flip(images.tensors[0], horizontal=random.coin_flip())]


def several_arguments(images: Any) -> Any:
    sample = images.tensors[-1]
    angle, size = random.uniform(range=(-20, 20)), random.choice(3) + 8
    return [
        gradiva.rotate(sample, angle=angle),
        gradiva.resize(sample, size=gradiva.stack(size, size)),
        gradiva.crop(sample, crop=(5, 5), crop_pos_x=random.uniform(range=(0, 1))),
        gradiva.rotate(images, angle=angle, keep_size=True),
    ]


def arithmetic(images: Any) -> Any:
    """A single value as an input, with samples, batches, constants and other single values."""
    sample, number = images.tensors[0], random.normal()
    pair = random.uniform(shape=(2,))
    return [
        sample * number,
        images * number,
        number + 1,
        number * random.normal(),
        pair * np.array([1, 2], np.float32),
        gradiva.tensor([1, 2]) * pair,
    ]


def single_images(images: Any) -> Any:
    """A single value that is no number, and parts of it."""
    made = random.uniform(shape=(4, 5, 3))
    return [
        gradiva.flip(gradiva.as_tensor(made, layout="HWC"), horizontal=random.coin_flip()),
        gradiva.as_batch([made, made]),
        made[1:, 2] + images.tensors[0][0, 0],
        gradiva.cat(made, made, axis=0),
    ]


BODIES = [flipped, several_arguments, arithmetic, single_images]


@pytest.mark.parametrize("batch_size", [2, 3])
@pytest.mark.parametrize("body", BODIES)
def test_one_value_for_a_sample_and_for_a_batch(folder: str, body: Any, batch_size: int) -> None:
    def step(files: Any, labels: Any, number: int) -> Any:
        return body(resized(files))

    same(folder, step, batch_size=batch_size)


def resized(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(16, 18))


@pytest.mark.parametrize("body", BODIES)
def test_in_deferred_mode(body: Any) -> None:
    def found(mode: Any) -> list[Any]:
        random.set_seed(3)
        images = gradiva.as_batch(np.arange(2 * 9 * 8 * 3, dtype=np.uint8).reshape(2, 9, 8, 3))
        images = gradiva.reshape(images, layout="HWC")
        with mode:
            made = [value for _ in range(3) for value in body(images)]
        return [bits(value) for value in made]

    assert found(EvalMode.deferred) == found(EvalMode.eager)


def test_it_is_still_computed_ahead(folder: str) -> None:
    def step(files: Any, labels: Any, number: int) -> Any:
        return normalized(files), random.coin_flip() + labels

    for explanation in same(folder, step, batch_size=2):
        assert explanation.unserved == 0, str(explanation)
