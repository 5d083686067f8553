"""Targets are the same in dynamic mode, deferred, compiled, in captured loops and in pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

from .graphs import f32, i32

pytestmark = pytest.mark.core

COUNT = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of several sizes."""
    cv2 = pytest.importorskip("cv2")
    where = tmp_path_factory.mktemp("images")
    random = np.random.default_rng(0)
    for number in range(COUNT):
        small = random.integers(0, 255, (6, 8, 3)).astype(np.uint8)
        size = (90 + 10 * number, 80 + 7 * number)
        cv2.imwrite(str(where / f"{number}.jpg"), cv2.resize(small, size))
    return where


def boxes_of(position: int) -> Any:
    """The boxes of the image at this place, of which some images have none."""
    random = np.random.default_rng(position)
    low = random.uniform(0, 50, (position % 4, 2))
    return np.concatenate([low, low + random.uniform(5, 30, low.shape)], axis=1).astype(np.float32)


def augment(images: Any, targets: Any, coin: Any, angle: Any) -> Any:
    """What a training does; random in each way."""
    images, targets = gradiva.random_resized_crop(images, targets, size=(64, 72))
    images, targets = gradiva.flip(images, targets, horizontal=coin)
    images, (targets,) = gradiva.brightness(images, (targets,), brightness=1.2)
    images, targets = gradiva.rotate(images, targets, angle=angle, keep_size=True, fill_value=0)
    return gradiva.crop_mirror_normalize(images, targets, crop=(60, 70), std=[60, 60, 60])


def names() -> list[str]:
    return [f"{number}.jpg" for number in range(COUNT)]


TABLE = [boxes_of(number) for number in range(COUNT)]
CLASSES = [np.arange(len(one), dtype=np.int32) + number for number, one in enumerate(TABLE)]


def look_up(number: Any) -> tuple[Any, Any]:
    place = int(number[0])
    return TABLE[place], CLASSES[place]


def eager_epoch(folder: Path, capture: bool = False) -> list[list[Any]]:
    """The samples of one epoch."""
    reader = gradiva.readers.File(
        file_root=str(folder), files=names(), labels=list(range(COUNT)), random_shuffle=True, seed=3
    )
    gradiva.random.set_seed(3)
    made: list[list[Any]] = []
    for files, numbers in reader.next_epoch(batch_size=4, capture=capture):
        images = gradiva.decoders.image(files)
        boxes, classes = gradiva.python_function(numbers, function=look_up, num_outputs=2)
        made += samples_of(everything(images, boxes, classes))
    return made


def everything(images: Any, boxes: Any, classes: Any) -> tuple[Any, ...]:
    """All outputs for images and boxes."""
    coin = gradiva.random.coin_flip(batch_size=images.batch_size)
    angle = gradiva.random.uniform(range=(-40, 40), batch_size=images.batch_size)
    images, targets = augment(images, gradiva.Targets(boxes=boxes, labels=classes), coin, angle)
    return images, targets.boxes, targets.labels


def samples_of(outputs: Any) -> list[list[Any]]:
    return [list(map(np.array, one)) for one in zip(*outputs, strict=True)]


@pipeline_def(batch_size=4, num_threads=2, seed=3)
def training(folder: str) -> Any:
    files, numbers = fn.readers.file(
        file_root=folder,
        files=names(),
        labels=list(range(COUNT)),
        random_shuffle=True,
        seed=3,
        name="reader",
    )
    images = fn.decoders.image(files)
    boxes, classes = fn.python_function(numbers, function=look_up, num_outputs=2)
    coin, angle = fn.random.coin_flip(), fn.random.uniform(range=(-40, 40))
    images, targets = augment(images, gradiva.Targets(boxes=boxes, labels=classes), coin, angle)
    return images, targets.boxes, targets.labels


def same(one: list[list[Any]], other: list[list[Any]]) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        for a, b in zip(left, right, strict=True):
            assert a.shape == b.shape, (a.shape, b.shape)
            np.testing.assert_array_equal(a, b)


def test_eager_captured_and_pipeline(folder: Path) -> None:
    eager = eager_epoch(folder)
    assert sum(len(one[1]) for one in eager) > 3
    same(eager, eager_epoch(folder, capture=True))
    pipe = training(str(folder))
    made: list[list[Any]] = []
    for _ in range(3):
        made += samples_of(pipe.run())
    same(eager[:COUNT], made[:COUNT])


def test_resumed(folder: Path) -> None:
    pipe = training(str(folder), enable_checkpointing=True)
    pipe.run()
    state = pipe.checkpoint()
    expected = samples_of(pipe.run())
    resumed = training(str(folder), enable_checkpointing=True, checkpoint=state)
    same(expected, samples_of(resumed.run()))


def test_compiled() -> None:
    images = gradiva.as_batch(
        [np.arange(60 * 70 * 3, dtype=np.uint8).reshape(60, 70, 3)] * 3, layout="HWC"
    )
    boxes = gradiva.as_batch([boxes_of(number) for number in (1, 3, 0)])
    classes = gradiva.as_batch([np.arange(number, dtype=np.int64) for number in (1, 3, 0)])
    gradiva.random.set_seed(7)
    expected = [samples_of(everything(images, boxes, classes)) for _ in range(3)]
    compiled = gradiva.capture.compile(everything)
    gradiva.random.set_seed(7)
    for one in expected:
        same(one, samples_of(compiled(images, boxes, classes)))
    gradiva.random.set_seed(7)
    with gradiva.EvalMode.deferred:
        deferred = [everything(images, boxes, classes) for _ in range(3)]
    for wanted, outputs in zip(expected, deferred, strict=True):
        same(wanted, samples_of(outputs))


def test_images_keep_their_groups_and_bits(folder: Path) -> None:
    """The path of the images is fused as without targets, and the images have the same bits."""

    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def plain() -> Any:
        files, _ = fn.readers.file(file_root=str(folder), files=names(), seed=3)
        images = fn.decoders.image(files)
        images = fn.random_resized_crop(images, size=(64, 72))
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        return fn.crop_mirror_normalize(images, std=[60, 60, 60])

    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def followed() -> Any:
        files, _ = fn.readers.file(file_root=str(folder), files=names(), seed=3)
        images = fn.decoders.image(files)
        targets = gradiva.Targets(boxes=f32([[10, 10, 30, 40]]))
        images, targets = fn.random_resized_crop(images, targets, size=(64, 72))
        images, targets = fn.flip(images, targets, horizontal=fn.random.coin_flip())
        images, targets = fn.crop_mirror_normalize(images, targets, std=[60, 60, 60])
        return images, targets.boxes

    one, other = plain(), followed()
    for _ in range(2):
        (images,), (others, _) = one.run(), other.run()
        np.testing.assert_array_equal(np.asarray(images.as_array()), np.asarray(others.as_array()))
    assert (
        groups(one)
        == groups(other)
        == [["decoders.image", "random_resized_crop", "flip", "normalize_pixels", "transpose"]]
    )


def groups(pipe: Any) -> list[list[str]]:
    return [[one.operator.name for one in node.members] for node in pipe.graph if node.members]


def test_explain_says_what_moves(folder: Path) -> None:
    pipe = training(str(folder))
    text = (
        "targets: boxes move once, along 4 operators: random_resized_crop, flip, rotate, "
        "crop_mirror_normalize"
    )
    assert text in str(pipe.explain())
    compiled = gradiva.capture.compile(everything)
    images = gradiva.as_batch([np.zeros((60, 70, 3), np.uint8)] * 2, layout="HWC")
    boxes = gradiva.as_batch([boxes_of(1)] * 2)
    np.asarray(compiled(images, boxes, gradiva.as_batch([np.zeros(1)] * 2))[1].at(0))
    assert text in str(compiled.explain())


def test_conditions(folder: Path) -> None:
    """`if` in a pipeline: both branches, or one alone, move the targets."""

    @pipeline_def(batch_size=4, num_threads=2, seed=3, enable_conditionals=True)
    def pipe() -> Any:
        files, _ = fn.readers.file(file_root=str(folder), files=names(), seed=3)
        images = fn.decoders.image(files)
        targets = gradiva.Targets(boxes=f32([[10, 10, 30, 40]]), labels=i32([5]))
        turned = fn.random.coin_flip(dtype=gradiva.types.BOOL)
        mirrored = fn.random.coin_flip(dtype=gradiva.types.BOOL)
        size = images.shape()
        if mirrored:
            images, targets = fn.flip(images, targets, horizontal=1)
        if turned:
            images, targets = fn.rotate(images, targets, angle=90.0)
        else:
            images, targets = fn.resize(images, targets, size=(80, 80))
        return images, targets.boxes, targets.labels, turned, mirrored, size

    made = pipe()
    for _ in range(2):
        images, boxes, labels, *facts = made.run()
        for image, box, label, turned, mirrored, size in zip(
            images, boxes, labels, *facts, strict=True
        ):
            height, width, _ = np.asarray(size).tolist()
            x1, y1, x2, y2 = 10, 10, 30, 40
            if np.asarray(mirrored):
                x1, x2 = width - x2, width - x1
            if np.asarray(turned):
                expected = [y1, width - x2, y2, width - x1]
                assert np.asarray(image).shape[:2] == (width, height)
            else:
                sx, sy = 80 / width, 80 / height
                expected = [x1 * sx, y1 * sy, x2 * sx, y2 * sy]
            np.testing.assert_allclose(np.asarray(box), [expected], atol=1e-4)
            assert np.asarray(label).tolist() == [5]


def test_conditions_on_other_targets(folder: Path) -> None:
    @pipeline_def(batch_size=4, num_threads=2, seed=3, enable_conditionals=True)
    def pipe() -> Any:
        files, _ = fn.readers.file(file_root=str(folder), files=names(), seed=3)
        images = fn.decoders.image(files)
        targets = gradiva.Targets(boxes=f32([[10, 10, 30, 40]]))
        if fn.random.coin_flip(dtype=gradiva.types.BOOL):
            targets = gradiva.Targets(boxes=f32([[10, 10, 30, 40]]), format="xywh")
        return images, targets.boxes

    with pytest.raises(gradiva.OperatorTypeError, match="differ in what they hold"):
        pipe().build()


def test_images_that_moved_alone(folder: Path) -> None:
    """Where targets were forgotten in a call, the next one says so."""
    targets = gradiva.Targets(boxes=f32([[10, 10, 30, 40]]))
    image, targets = gradiva.flip(np.zeros((60, 80, 3), np.uint8), targets)
    image = gradiva.resize(image, size=(30, 40))
    with pytest.raises(gradiva.OperatorValueError, match="without these targets"):
        gradiva.flip(image, targets)

    @pipeline_def(batch_size=4, num_threads=2, seed=3)
    def pipe(forgotten: bool) -> Any:
        files, _ = fn.readers.file(file_root=str(folder), files=names(), seed=3)
        images = fn.decoders.image(files)
        targets = gradiva.Targets(boxes=f32([[10, 10, 30, 40]]))
        images, targets = fn.resize(images, targets, size=(90, 90))
        images = fn.brightness(images, brightness=1.1) * 2
        if forgotten:
            images = fn.crop(images, crop=(50, 50))
        images, targets = fn.flip(images, targets)
        return images, targets.boxes

    pipe(False).build()
    with pytest.raises(gradiva.OperatorValueError, match="moved by crop without these"):
        pipe(True).build()
