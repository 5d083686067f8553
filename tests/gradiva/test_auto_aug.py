"""Automatic augmentation: the same bits in all modes, fair draws, clear errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, fn, pipeline_def
from gradiva.auto_aug import augmentations as a
from gradiva.auto_aug import auto_augment as aa
from gradiva.auto_aug import rand_augment as ra
from gradiva.auto_aug import trivial_augment as ta
from gradiva.auto_aug.core import Augmentation, Policy, augmentation, select
from gradiva.capture.recording.data_node import DataNode
from tests.needs import needs_opencv

SIZE = 5
SEED = 11
PHOTOGRAPHS = Path(gradiva.__file__).parent / "photographs"


def extents(images: Any) -> Any:
    return images.shape() if isinstance(images, DataNode) else gradiva.shapes(images)


@augmentation(mag_range=(0, 8), randomly_negate=True, mag_to_param=int)
def wobble(data: Any, shift: Any) -> Any:
    """Draws: each sample moves by its bin and a random amount."""
    noise = gradiva.random.uniform(range=(0.0, 9.0), batch_size=data.batch_size)
    return gradiva.cast(data + noise + shift, dtype=gradiva.uint8)


@augmentation(mag_range=np.array([0.25, 0.5, 2.0]))
def dim(data: Any, factor: Any) -> Any:
    return gradiva.brightness(data, brightness=factor)


OWN = Policy("own", 3, [[(wobble, 0.5, 2), (dim, 1.0, 1)], [(a.invert, 1.0, None)], []])
CALLS: dict[str, Callable[[Any], Any]] = {
    "rand": lambda images: ra.rand_augment(images, n=2, m=9),
    "rand, not monotonic": lambda images: ra.rand_augment(
        images, n=1, m=3, num_magnitude_bins=11, monotonic_mag=False, excluded=["rotate"]
    ),
    "rand, by shape": lambda images: ra.rand_augment(
        images, 3, 9, shape=extents(images), fill_value=None, max_translate_rel=(0.5, 0.25)
    ),
    "trivial": lambda images: ta.trivial_augment_wide(images, seed=3),
    "auto": lambda images: aa.auto_augment(images, seed=4),
    "auto, one shape": lambda images: aa.auto_augment(images, "svhn", shape=(20, 30)),
    "own suite": lambda images: ra.apply_rand_augment([wobble, dim, wobble], images, 2, 1, 3),
    "own policy": lambda images: aa.apply_auto_augment(OWN, images),
    "select": lambda images: select(
        [lambda x: x, lambda x: np.uint8(255) - x],
        gradiva.random.coin_flip(batch_size=images.batch_size),
        images,
    ),
}


@functools.cache
def pictures() -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(3)
    shapes = [(9, 12, 3), (7, 5, 3), (12, 9, 3), (4, 4, 3), (9, 12, 3), (1, 8, 3), (8, 1, 3)]
    return [generator.integers(0, 256, shape).astype(np.uint8) for shape in shapes * 3]


def eager(call: Callable[[Any], Any], size: int) -> list[np.ndarray[Any, Any]]:
    """All pictures in batches of `size`, as in a loop over a reader."""
    gradiva.random.set_seed(SEED)
    made: list[np.ndarray[Any, Any]] = []
    for first in range(0, len(pictures()), size):
        part = pictures()[first : first + size]
        with gradiva.step(first, len(part)):
            made += [np.array(one) for one in call(gradiva.batch(part, layout="HWC"))]
    return made


def piped(call: Callable[[Any], Any], size: int, conditionals: bool) -> list[Any]:
    taken = pictures()

    @pipeline_def(batch_size=size, num_threads=2, seed=SEED, enable_conditionals=conditionals)
    def pipeline() -> Any:
        images = fn.external_source(
            source=lambda info: taken[info.idx_in_epoch], batch=False, layout="HWC"
        )
        return call(images)

    made: list[Any] = []
    pipe = pipeline()
    while len(made) < len(taken):
        made += [np.array(one) for one in pipe.run()[0]]
    pipe.close()
    return made


def assert_same(one: list[Any], other: list[Any]) -> None:
    assert len(one) == len(other)
    for sample, (left, right) in enumerate(zip(one, other, strict=True)):
        np.testing.assert_array_equal(left, right, f"sample {sample}")


@pytest.mark.full
@pytest.mark.parametrize("name", CALLS)
def test_same_bits_in_all_modes(name: str) -> None:
    call = CALLS[name]
    whole = eager(call, len(pictures()))
    assert any(not np.array_equal(*pair) for pair in zip(whole, pictures(), strict=True))
    assert_same(whole, eager(call, SIZE))
    assert_same(whole, eager(capture.compile(call), SIZE))
    assert_same(whole, piped(call, 7, name != "auto"))


@pytest.mark.full
def test_captured_loop() -> None:
    def run(captured: bool) -> list[np.ndarray[Any, Any]]:
        gradiva.random.set_seed(SEED)
        reader = gradiva.readers.File(file_root=str(PHOTOGRAPHS))
        made: list[np.ndarray[Any, Any]] = []
        for files, _ in reader.next_epoch(batch_size=3, capture=captured):
            images = gradiva.resize(gradiva.decoders.image(files), resize_shorter=20)
            images = ra.rand_augment(images, n=2, m=15)
            made += [np.array(one) for one in ra.apply_rand_augment([wobble, dim], images, 1, 1, 3)]
        return made

    assert_same(run(False), run(True))


def test_a_single_sample() -> None:
    image = gradiva.tensor(pictures()[0], layout="HWC")
    result = ra.rand_augment(image, n=2, m=9, seed=5)
    assert isinstance(result, gradiva.Tensor)
    batch = ra.rand_augment(gradiva.batch([image]), n=2, m=9, seed=5)
    np.testing.assert_array_equal(np.array(result), batch.at(0))


def test_empty_batches() -> None:
    empty = gradiva.batch([pictures()[0]], layout="HWC").select([])
    for call in CALLS.values():
        result = call(empty)
        assert (len(result), result.dtype, result.ndim) == (0, gradiva.uint8, 3)


def test_if_in_an_augmentation() -> None:
    @augmentation(mag_range=(0, 10))
    def branching(data: Any, parameter: Any) -> Any:
        return gradiva.flip(data) if parameter > 4 else np.uint8(255) - data

    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        images = fn.external_source(source=lambda info: image, batch=False, layout="HWC")
        bins = fn.external_source(source=lambda info: np.int32(info.idx_in_batch * 10), batch=False)
        return branching(images, magnitude_bin=bins, num_magnitude_bins=11)

    image = pictures()[0]
    (result,) = pipeline().run()
    np.testing.assert_array_equal(result.at(0), 255 - image)
    np.testing.assert_array_equal(result.at(1), image[:, ::-1])


@pytest.mark.full
def test_frequencies_of_rand_augment() -> None:
    """Each of the augmentations as often as the others, in each turn, and both signs."""
    count = 8000
    marks = [_marking(number) for number in range(5)]
    data = gradiva.batch(np.zeros((count, 2), np.float32))
    result = ra.apply_rand_augment(marks, data, n=2, m=1, num_magnitude_bins=2, seed=1).as_array()
    # Two digits of base 5, and how often the sign was negative.
    seen = np.bincount(np.round(result[:, 0]).astype(np.int64), minlength=25)
    expected = count / 25
    assert ((seen - expected) ** 2 / expected).sum() < 51.2  # chi-square, 24: 0.001
    signs = np.bincount((result[:, 1] + 2).astype(np.int64) // 2, minlength=3)
    wanted = np.array([0.25, 0.5, 0.25]) * count
    assert ((signs - wanted) ** 2 / wanted).sum() < 13.8  # chi-square, 2: 0.001


def _marking(number: int) -> Augmentation:
    def mark(data: Any, sign: Any) -> Any:
        digits = gradiva.stack(data.slice[0] * 5 + number, data.slice[1] + sign)
        return gradiva.cast(digits, dtype=gradiva.float32)

    return augmentation(mark, mag_range=(0, 1), randomly_negate=True, name=f"mark{number}")


def test_frequencies_of_trivial_augment() -> None:
    count, bins = 8000, 7
    marks = [
        augmentation(
            lambda data, own, number=number: data + number * bins + own,
            mag_range=(0, bins - 1),
            mag_to_param=int,
            name=f"mark{number}",
        )
        for number in range(3)
    ]
    data = gradiva.batch(np.zeros(count, np.int32))
    result = ta.apply_trivial_augment(marks, data, num_magnitude_bins=bins, seed=1).as_array()
    expected = count / (3 * bins)
    seen = np.bincount(result, minlength=3 * bins)
    assert ((seen - expected) ** 2 / expected).sum() < 45.3  # chi-square, 20: 0.001


@pytest.mark.full
def test_frequencies_of_auto_augment() -> None:
    count = 8000

    def add(number: int) -> Augmentation:
        return augmentation(lambda data, _: data + number, name=f"add{number}")

    policy = Policy(
        "counts", 11, [[(add(1), 0.25, None), (add(10), 0.5, None)], [(add(100), 1.0, None)]]
    )
    data = gradiva.batch(np.zeros(count, np.int32))
    result = aa.apply_auto_augment(policy, data, seed=1).as_array()
    chances = {0: 0.1875, 1: 0.0625, 10: 0.1875, 11: 0.0625, 100: 0.5}
    wanted = np.array(list(chances.values())) * count
    seen = np.array([(result == value).sum() for value in chances])
    assert seen.sum() == count
    assert ((seen - wanted) ** 2 / wanted).sum() < 18.5  # chi-square, 4: 0.001


def test_copies_of_augmentations() -> None:
    own = a.rotate.augmentation(mag_range=(0, 45), name="turn")
    assert (own.name, own.mag_range, own.randomly_negate, own.op) == (
        "turn",
        (0, 45),
        True,
        a.rotate.op,
    )
    assert (a.rotate.name, a.rotate.mag_range) == ("rotate", (0, 30))
    assert "mag_range=(0, 45)" in repr(own)
    assert a.brightness.augmentation(mag_to_param=None).mag_to_param(0.5) == 0.5


@pytest.mark.full
def test_seeds_fix_the_choice() -> None:
    images = gradiva.batch(pictures(), layout="HWC")
    once = list(ra.rand_augment(images, 2, 9, seed=5))
    assert_same(once, list(ra.rand_augment(images, 2, 9, seed=5)))
    other = list(ra.rand_augment(images, 2, 9, seed=6))
    assert any(not np.array_equal(*pair) for pair in zip(once, other, strict=True))


@needs_opencv  # for the sharpness
@pytest.mark.parametrize("shape", [(12, 14, 3), (2, 12, 14, 3)])
@pytest.mark.parametrize(
    "call",
    [
        lambda data: ra.rand_augment(data, n=2, m=9, shape=[12, 14], seed=4),
        lambda data: ta.trivial_augment_wide(data, shape=[12, 14], seed=4),
        lambda data: aa.auto_augment(data, shape=[12, 14], seed=4),
    ],
)
def test_samples_without_a_layout(call: Any, shape: tuple[int, ...]) -> None:
    """They are HWC, or sequences FHWC: the samples of a batch that says so."""
    data = np.random.default_rng(1).integers(0, 256, (24, *shape), np.uint8)
    layout = "HWC" if len(shape) == 3 else "FHWC"
    given = call(gradiva.as_batch(data, layout=layout))
    found = call(gradiva.as_batch(data))
    assert found.layout == layout
    assert np.array_equal(found.as_array(), given.as_array())
    one = call(data[0])
    assert np.asarray(one).shape == shape


def test_other_layouts_are_refused_at_once() -> None:
    for layout in ("CHW", "HW"):
        data = gradiva.as_batch(np.zeros((2, 8, 9, 3)[: len(layout) + 1], np.uint8), layout=layout)
        with pytest.raises(gradiva.OperatorTypeError, match=r"rand_augment: argument `data`.*HWC"):
            ra.rand_augment(data, n=2, m=9)
