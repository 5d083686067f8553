"""`mosaic` and `copy_paste` with `gradiva.Targets`: the same as with boxes, labels and masks as
inputs, in all modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch, batch, fn

COUNT = 6


def data() -> tuple[Any, ...]:
    """Images, boxes in pixels, labels, scores, classes of pixels, masks of objects."""
    generator = np.random.default_rng(4)
    images = as_batch(generator.integers(0, 256, (COUNT, 20, 24, 3)).astype(np.uint8), layout="HWC")
    rows = [generator.integers(0, 3, (number, 4)) for number in (2, 0, 1, 3, 1, 2)]
    boxes = batch([(row * 2 + [0, 0, 9, 8]).astype(np.float32) for row in rows])
    labels = batch([np.arange(len(row)) + 10 * k for k, row in enumerate(rows)])
    scores = batch([generator.uniform(0, 1, (len(row), 2)) for row in rows])
    classes = as_batch(generator.integers(0, 5, (COUNT, 20, 24)).astype(np.uint8), layout="HW")
    masks = batch([(generator.uniform(0, 1, (len(row), 20, 24)) > 0.7) for row in rows])
    return images, boxes, labels, scores, classes, masks


def check_same(left: Any, right: Any) -> None:
    for one, other in zip(left.arrays(), right.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("how", ["seed", "generator", "default"])
def test_mosaic(how: str) -> None:
    images, boxes, labels, scores, classes, _ = data()
    targets = gradiva.Targets(
        boxes=boxes, labels=labels, masks=classes, columns={"score": scores}, min_visibility=0.2
    )
    size: dict[str, Any] = {"output_size": (40, 44), "mix_group": 3}

    def drawn() -> dict[str, Any]:
        if how == "seed":
            return {"seed": 5}
        gradiva.random.set_seed(5)
        return {"rng": gradiva.random.RNG(5)} if how == "generator" else {}

    made, after = gradiva.mosaic(images, targets, fill_value=9, **size, **drawn())
    limits: dict[str, Any] = {"bbox_normalized": False, "remove_threshold": 0.2, **size}
    whole, *expected = gradiva.mosaic(
        images, boxes, labels, scores, fill_value=9, **limits, **drawn()
    )
    check_same(made, whole)
    for name, wanted in zip(("boxes", "labels", "score"), expected, strict=True):
        check_same(after[name], wanted)
    check_same(after.masks, gradiva.mosaic(classes, **size, **drawn()))
    # They follow what comes next.
    _, flipped = gradiva.flip(made, after, horizontal=1)
    first = np.asarray(after.boxes.at(0))
    turned = np.asarray(flipped.boxes.at(0))
    np.testing.assert_allclose(turned[:, 0], 44 - first[:, 2], atol=1e-4)


def test_targets_that_have_moved() -> None:
    """What an operator has moved before is merged where it is then."""
    images, boxes, labels, *_ = data()
    images, targets = gradiva.flip(images, gradiva.Targets(boxes=boxes, labels=labels))
    made, after = gradiva.mosaic(images, targets, output_size=(40, 44), seed=2)
    whole, rows, _ = gradiva.mosaic(
        images,
        targets.boxes,
        targets.labels,
        output_size=(40, 44),
        bbox_normalized=False,
        remove_threshold=0.0,
        seed=2,
    )
    check_same(made, whole)
    check_same(after.boxes, rows)


@pytest.mark.parametrize("relative", [False, True])
def test_copy_paste(relative: bool) -> None:
    images, _, labels, scores, _, masks = data()
    boxes = batch([np.zeros((len(row), 4), np.float32) for row in labels.arrays()])
    targets = gradiva.Targets(
        masks=masks,
        boxes=boxes,
        labels=labels,
        columns={"score": scores},
        relative=relative,
        format="xywh",
        invalid="drop",
    )
    made, tree = gradiva.copy_paste(images, {"all": [targets]}, object_probability=0.8, seed=3)
    after = tree["all"][0]
    whole, shown, around, numbers, others = gradiva.copy_paste(
        images,
        masks,
        labels,
        scores,
        object_probability=0.8,
        bbox_layout="xyWH",
        bbox_normalized=relative,
        seed=3,
    )
    check_same(made, whole)
    check_same(after.masks, shown)
    check_same(after.boxes, around)
    check_same(after.labels, numbers)
    check_same(after["score"], others)


def test_modes() -> None:
    """The same bits in a pipeline and compiled."""
    images, boxes, labels, *_ = data()

    def augment(images: Any, boxes: Any, labels: Any) -> Any:
        targets = gradiva.Targets(boxes=boxes, labels=labels)
        images, targets = gradiva.mosaic(images, targets, output_size=(30, 30))
        images, targets = gradiva.flip(images, targets, horizontal=1)
        return images, targets.boxes, targets.labels

    @gradiva.pipeline_def(batch_size=COUNT, num_threads=2, seed=6)
    def defined() -> Any:
        source = [(images, boxes, labels)]
        return augment(*fn.external_source(source, num_outputs=3, cycle=True))

    pipe = defined()
    found = [as_batch(one) for one in pipe.run()]
    pipe.close()
    with gradiva.step(0, COUNT):
        gradiva.random.set_seed(6)
        eager = augment(images, boxes, labels)
    with gradiva.step(0, COUNT):
        gradiva.random.set_seed(6)
        compiled = gradiva.capture.compile(augment)(images, boxes, labels)
    for one, other, third in zip(eager, found, compiled, strict=True):
        check_same(one, other)
        check_same(one, third)


def test_random_erasing() -> None:
    """Nothing moves."""
    images, boxes, labels, *_ = data()
    made, after = gradiva.random_erasing(
        images, gradiva.Targets(boxes=boxes, labels=labels), probability=1.0, seed=2
    )
    check_same(made, gradiva.random_erasing(images, probability=1.0, seed=2))
    check_same(after.boxes, boxes)


def test_mistakes() -> None:
    images, boxes, labels, _, _, masks = data()
    size: dict[str, Any] = {"output_size": (30, 30)}
    keypoints = batch([np.zeros((2, 3, 2), np.float32)] * COUNT)
    with pytest.raises(gradiva.OperatorTypeError, match="keypoints"):
        gradiva.mosaic(images, gradiva.Targets(keypoints=keypoints), **size)
    with pytest.raises(gradiva.OperatorTypeError, match="without boxes"):
        gradiva.mosaic(images, gradiva.Targets(labels=labels), **size)
    with pytest.raises(gradiva.OperatorTypeError, match="none of objects"):
        gradiva.mosaic(images, gradiva.Targets(boxes=boxes, masks=masks), **size)
    for mix in (gradiva.mixup, gradiva.cutmix):
        with pytest.raises(gradiva.OperatorTypeError, match="two images at once"):
            mix(images, gradiva.Targets(boxes=boxes))
    with pytest.raises(gradiva.OperatorTypeError, match="`bbox_layout`"):
        gradiva.mosaic(images, gradiva.Targets(boxes=boxes), bbox_layout="xyXY", **size)
    with pytest.raises(gradiva.OperatorTypeError, match="the images alone"):
        gradiva.copy_paste(images, masks, gradiva.Targets(masks=masks))
    with pytest.raises(gradiva.OperatorTypeError, match="by their masks"):
        gradiva.copy_paste(images, gradiva.Targets(boxes=boxes))
