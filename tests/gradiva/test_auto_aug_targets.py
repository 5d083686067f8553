"""Automatic augmentations with targets: they move with each image, alike in all modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
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
from tests.needs import needs_opencv
from tests.ops.targets.graphs import f32, found, painted

pytestmark = needs_opencv  # warps and filters call it

full = pytest.mark.full
SIZE = 5
COUNT = 12
GEOMETRY = [
    a.shear_x,
    a.shear_y,
    a.translate_x_no_shape.augmentation((0, 20)),
    a.translate_y_no_shape.augmentation((0, 20)),
    a.rotate,
    a.identity,
]


@augmentation(mag_range=(0, 30), moves=True)
def lean(data: Any, angle: Any, targets: Any = ()) -> Any:
    return gradiva.rotate(data, *targets, angle=angle, fill_value=0)


OWN = Policy("own", 3, [[(lean, 0.5, 2), (a.shear_x, 1.0, 1)], [(a.invert, 1.0, None)], []])
CALLS: dict[str, Callable[..., Any]] = {
    "rand": functools.partial(ra.rand_augment, n=2, m=20),
    "trivial": functools.partial(ta.trivial_augment_wide, seed=3),
    "auto": functools.partial(aa.auto_augment, policy_name="svhn"),
    "own policy": functools.partial(aa.apply_auto_augment, OWN, seed=2),
    "own suite": functools.partial(
        ra.apply_rand_augment, [lean, a.invert, lean], n=2, m=1, num_magnitude_bins=3
    ),
    "select": lambda images, *targets: select(
        [gradiva.flip, lambda *both: both if targets else both[0]],
        gradiva.random.coin_flip(batch_size=images.batch_size),
        images,
        *targets,
    ),
}


@functools.cache
def pictures() -> list[Any]:
    random = np.random.default_rng(3)
    shapes = [(19 + number, 32 - number, 3) for number in range(COUNT)]
    return [random.integers(0, 256, shape).astype(np.uint8) for shape in shapes]


@functools.cache
def boxes() -> list[Any]:
    """Of several objects an image, or of none."""
    random = np.random.default_rng(4)
    made = []
    for number in range(COUNT):
        low = random.uniform(1, 9, (number % 4, 2))
        made.append(np.concatenate([low, low + random.uniform(3, 9, low.shape)], 1).astype("f4"))
    return made


@functools.cache
def labels() -> list[Any]:
    return [np.arange(len(one), dtype=np.int32) + 10 * n for n, one in enumerate(boxes())]


def batches(size: int = SIZE) -> list[tuple[Any, Any, Any]]:
    made = []
    for first in range(0, COUNT, size):
        rows = slice(first, first + size)
        images = gradiva.batch(pictures()[rows], layout="HWC")
        made.append((images, gradiva.batch(boxes()[rows]), gradiva.batch(labels()[rows])))
    return made


def samples(outputs: Any) -> list[list[Any]]:
    return [[np.array(one) for one in row] for row in zip(*outputs, strict=True)]


def eager(call: Callable[..., Any], size: int = SIZE) -> list[list[Any]]:
    gradiva.random.set_seed(11)
    made: list[list[Any]] = []
    for first, (images, box, label) in zip(range(0, COUNT, size), batches(size), strict=True):
        with gradiva.step(first, len(images)):
            moved, targets = call(images, gradiva.Targets(boxes=box, labels=label))
            made += samples((moved, targets.boxes, targets.labels))
    return made


def same(one: list[list[Any]], other: list[list[Any]]) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        for x, y in zip(left, right, strict=True):
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            np.testing.assert_array_equal(x, y)


def piped(call: Callable[..., Any], steps: int, checkpoint: str | None = None) -> Any:
    @pipeline_def(batch_size=SIZE, num_threads=2, seed=11, enable_checkpointing=True)
    def build() -> Any:
        images, box, label = fn.external_source(
            source=list(zip(pictures(), boxes(), labels(), strict=True)),
            num_outputs=3,
            batch=False,
            cycle="no",
            layout=["HWC", "", ""],
        )
        images, targets = call(images, gradiva.Targets(boxes=box, labels=label))
        return images, targets.boxes, targets.labels

    pipe = build(checkpoint=checkpoint)
    made: list[list[Any]] = []
    for _ in range(steps):
        made += samples([[np.array(one) for one in output] for output in pipe.run()])
    return made, pipe


@full
@pytest.mark.parametrize("name", CALLS)
def test_same_in_all_modes(name: str) -> None:
    call = CALLS[name]
    expected = eager(call)
    assert any(not np.array_equal(one[1], own) for one, own in zip(expected, boxes(), strict=True))
    alone: list[Any] = []
    gradiva.random.set_seed(11)
    for first, (images, _, _) in zip(range(0, COUNT, SIZE), batches(), strict=True):
        with gradiva.step(first, len(images)):
            alone += [np.array(one) for one in call(images)]
    for one, other in zip(expected, alone, strict=True):
        np.testing.assert_array_equal(one[0], other)  # as without targets
    same(expected, eager(call, COUNT))
    compiled = capture.compile(call)
    same(expected, eager(compiled))
    made, pipe = piped(call, 2)
    same(expected[: 2 * SIZE], made)
    assert "boxes move once" in str(pipe.explain())


def test_resumed() -> None:
    expected, _ = piped(CALLS["rand"], 2)
    made, pipe = piped(CALLS["rand"], 1)
    more, _ = piped(CALLS["rand"], 1, pipe.checkpoint())
    same(expected, made + more)
    same(expected, eager(CALLS["rand"])[: 2 * SIZE])


@full
def test_captured_loop(tmp_path: Any) -> None:
    cv2 = pytest.importorskip("cv2")
    for number, picture in enumerate(pictures()):
        cv2.imwrite(str(tmp_path / f"{number:02}.png"), picture)
    runs = []
    for kept in (False, True):
        reader = gradiva.readers.File(
            file_root=str(tmp_path),
            files=[f"{number:02}.png" for number in range(COUNT)],
            labels=list(range(COUNT)),
            random_shuffle=True,
            seed=3,
        )
        gradiva.random.set_seed(5)
        made: list[list[Any]] = []
        for files, numbers in reader.next_epoch(batch_size=4, capture=kept):
            images = gradiva.decoders.image(files)
            box = gradiva.python_function(numbers, function=lambda one: boxes()[int(one[0])])
            images, targets = ra.rand_augment(images, gradiva.Targets(boxes=box), n=2, m=20)
            images, targets = gradiva.flip(images, targets)
            made += samples((images, targets.boxes))
        runs.append(made)
    same(*runs)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=full), pytest.param(3, marks=full)])
def test_painted_points(seed: int) -> None:
    """Points that were painted into images, and keypoints, stay together."""
    random = np.random.default_rng(seed)
    points = [random.uniform((20, 20), (80, 60), (2, 2)) for _ in range(8)]
    images = gradiva.batch([painted(one, 80, 100) for one in points], layout="HWC")
    seen = [np.concatenate([one, np.full((2, 1), 2)], axis=1).astype(np.float32) for one in points]
    targets = gradiva.Targets(keypoints=gradiva.batch(seen))
    images, targets = ra.apply_rand_augment(
        GEOMETRY, images, targets, 3, 20, seed=seed, fill_value=0
    )
    compared = 0
    for image, keypoints in zip(images, targets.keypoints, strict=True):
        mass, places = found(image)
        for number, (x, y, visible) in enumerate(np.asarray(keypoints).tolist()):
            if visible and 9 < x < 91 and 9 < y < 71:
                compared += 1
                assert mass[number] > 0.5
                assert np.hypot(*(places[number] - (x, y))) < 0.5
    assert compared >= 8


def test_one_image_and_what_holds_targets() -> None:
    picture, box = pictures()[0], f32([[2, 3, 9, 12]])
    image, found = a.rotate(
        gradiva.as_tensor(picture, layout="HWC"),
        {"cat": [gradiva.Targets(boxes=box)], "none": ()},
        magnitude_bin=3,
        num_magnitude_bins=4,
    )
    assert image.shape == picture.shape
    assert found["none"] == ()
    angles = [30.0, -30.0]
    expected = []
    for angle in angles:
        _, moved = gradiva.rotate(
            gradiva.as_tensor(picture, layout="HWC"),
            gradiva.Targets(boxes=box),
            angle=angle,
            keep_size=True,
        )
        expected.append(np.asarray(moved.boxes))
    made = np.asarray(found["cat"][0].boxes)
    assert any(np.array_equal(made, one) for one in expected)
    images, box_batch, _ = batches()[0]
    _, both = ra.rand_augment(images, {"a": [gradiva.Targets(boxes=box_batch)]}, n=1, m=5)
    assert len(both["a"][0].boxes) == SIZE
    _, left = gradiva.transform(
        images, gradiva.Targets(boxes=box_batch), ops=[functools.partial(ra.rand_augment, n=1, m=3)]
    )
    assert left.names == ("boxes",)


def test_colors_leave_targets_as_they_are() -> None:
    images, box, _ = batches()[0]
    targets = gradiva.Targets(boxes=box)
    colors = [a.brightness, a.invert, a.equalize]
    _, after = ra.apply_rand_augment(colors, images, targets, n=2, m=3)
    assert after.boxes is box
    _, after = ra.rand_augment(images, targets, n=0, m=3)
    assert after is targets


def test_masks_are_not_copied_for_a_part_of_the_samples() -> None:
    """What targets hold is put together only if an operation has changed it."""
    images, box, label = batches()[0]
    index = gradiva.batch(np.array([0, 1, 0, 1, 2], np.int32))
    targets = gradiva.Targets(boxes=box, labels=label)

    def other(images: Any, targets: Any) -> Any:
        fields = {"boxes": targets.boxes, "labels": targets.labels + 1}
        return images, targets.with_fields(fields).begun(images)

    _, after = select([a.identity, lean_by_two, lambda *both: both], index, images, targets)
    assert after._fields["labels"] is label
    _, after = select([lambda *both: both, other, lambda *both: both], index, images, targets)
    kept = [np.asarray(one) for one in after.labels]
    for number, change in enumerate([0, 1, 0, 1, 0]):
        np.testing.assert_array_equal(kept[number], labels()[number] + change)


def lean_by_two(images: Any, targets: Any) -> Any:
    return gradiva.rotate(images, targets, angle=2.0, keep_size=True)


@augmentation(mag_range=(0, 1))
def unknown(data: Any, parameter: Any) -> Any:
    return data


def test_empty() -> None:
    images = gradiva.batch(np.empty((0, 4, 4, 3), np.uint8), layout="HWC")
    targets = gradiva.Targets(boxes=gradiva.batch(np.empty((0, 1, 4), np.float32)))
    images, targets = ra.rand_augment(images, targets, n=2, m=3)
    assert len(images) == len(targets.boxes) == 0


def test_refused() -> None:
    images, box, _ = batches()[0]
    targets = gradiva.Targets(boxes=box)
    with pytest.raises(gradiva.OperatorTypeError, match=r"auto_aug.unknown.*moves pixels"):
        ra.apply_rand_augment([unknown], images, targets, n=1, m=1)
    with pytest.raises(gradiva.OperatorTypeError, match=r"an argument `targets`"):
        augmentation(lambda data, parameter: data, moves=True)
    with pytest.raises(gradiva.OperatorTypeError, match=r"only targets stand behind"):
        a.rotate(images, 3, magnitude_bin=1, num_magnitude_bins=3)
    wrong = augmentation(lambda data, parameter, targets: data, moves=True, name="wrong")
    with pytest.raises(gradiva.OperatorTypeError, match=r"auto_aug.wrong.*returns images"):
        wrong(images, targets)

    def renamed(images: Any, targets: Any) -> Any:
        return images, gradiva.Targets(labels=targets.boxes)

    index = gradiva.batch(np.array([0, 1, 0, 1, 0], np.int32))
    with pytest.raises(gradiva.OperatorTypeError, match=r"auto_aug.select.*differ in what"):
        select([lambda *both: both, renamed], index, images, targets)


def test_copies_keep_what_moves() -> None:
    assert a.rotate.augmentation((0, 3)).moves is True
    assert a.invert.moves is False
    assert unknown.moves is None
    assert unknown.augmentation(moves=False).moves is False
    assert isinstance(a.rotate.augmentation(augmentation_cls=Augmentation), Augmentation)
    assert "targets" not in a.rotate.keywords
