"""`segmentation.random_object_bbox` with as many classes as each sample has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

drawn: Any = gradiva.segmentation.random_object_bbox
BOXES = {2: (0, 1, 2, 3), 3: (3, 0, 5, 2), 5: (2, 4, 4, 6), 7: (5, 5, 6, 7)}
CLASSES = [[2], [3, 5], [2, 5, 7], [7, 3]]
WEIGHTS = [[1.0], [0.0, 2.0], [0.0, 0.0, 3.0], [1.0, 0.0]]
DRAWN = [2, 5, 7, 7]
"""The only class of each sample that has a weight."""


def mask() -> Any:
    made = np.zeros((6, 7), np.int32)
    for label, (top, left, bottom, right) in BOXES.items():
        made[top:bottom, left:right] = label
    return made


def masks() -> Any:
    return gradiva.batch([mask()] * 4)


def uneven(rows: list[list[Any]], dtype: Any) -> Any:
    return gradiva.batch([np.array(row, dtype) for row in rows])


def check(boxes: Any, labels: Any, expected: list[int]) -> None:
    assert [int(np.asarray(label)) for label in labels] == expected
    for box, label in zip(boxes, expected, strict=True):
        np.testing.assert_array_equal(box, BOXES[label])


OPTIONS: dict[str, Any] = {"format": "box", "output_class": True, "seed": 5}


@pytest.mark.parametrize("listed", [True, False])
def test_weights(listed: bool) -> None:
    classes: Any = CLASSES if listed else uneven(CLASSES, np.int32)
    weights: Any = WEIGHTS if listed else uneven(WEIGHTS, np.float32)
    boxes, labels = drawn(masks(), classes=classes, class_weights=weights, **OPTIONS)
    check(boxes, labels, DRAWN)


def test_in_a_pipeline() -> None:
    @pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def pipeline() -> Any:
        given = [(masks(), uneven(CLASSES, np.int32), uneven(WEIGHTS, np.float32))]
        data, classes, weights = fn.external_source(given, num_outputs=3)
        made = fn.segmentation.random_object_bbox(
            data, classes=classes, class_weights=weights, **OPTIONS
        )
        return tuple(made)

    with pipeline() as pipe:
        boxes, labels = pipe.run()
        check(boxes, labels, DRAWN)


def test_classes_alone() -> None:
    """Each sample draws what it draws with its own classes for all."""
    made = drawn(masks(), classes=CLASSES, **OPTIONS)
    for sample, classes in enumerate(CLASSES):
        alone = drawn(masks(), classes=classes, **OPTIONS)
        for one, other in zip(made, alone, strict=True):
            np.testing.assert_array_equal(one.at(sample), other.at(sample))


def test_weights_alone() -> None:
    """Of the labels 1, 2, ...; 0 in the place of the background."""
    rows = [[0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0], [0.0] * 6 + [1.0]]
    boxes, labels = drawn(masks(), class_weights=rows, **OPTIONS)
    check(boxes, labels, [2, 3, 5, 7])
    given: Any = {"class_weights": [[0.0, 1.0, 1.0], [0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0]]}
    boxes, labels = drawn(masks(), background=[2, 0, 0, 0], **given, **OPTIONS)
    check([boxes.at(i) for i in range(4)], [labels.at(i) for i in range(4)], [3, 2, 3, 2])


WHOLE = (0, 0, 6, 7)


@pytest.mark.parametrize(
    "given",
    [
        {"classes": [[2], [], [5], []]},
        {"classes": [[2], [], [5], []], "class_weights": [[1.0], [], [1.0], []]},
        {"class_weights": [[0.0, 1.0], [], [0.0] * 4 + [1.0], []]},
    ],
)
def test_where_no_label_is_an_object(given: dict[str, Any]) -> None:
    boxes, labels = drawn(masks(), **given, **OPTIONS)
    assert [int(np.asarray(label)) for label in labels] == [2, 0, 5, 0]
    for box, wanted in zip(boxes, (BOXES[2], WHOLE, BOXES[5], WHOLE), strict=True):
        np.testing.assert_array_equal(box, wanted)


@pytest.mark.parametrize("given", [{"classes": []}, {"class_weights": []}])
def test_no_classes_at_all(given: dict[str, Any]) -> None:
    boxes, labels = drawn(masks(), **given, **OPTIONS)
    assert not any(int(np.asarray(label)) for label in labels)
    for box in boxes:
        np.testing.assert_array_equal(box, WHOLE)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"classes": CLASSES, "class_weights": [[1.0], [1.0], [1.0] * 3, [1.0] * 2]}, "sample 1"),
        ({"classes": [[2], [3, 5], [2], [7]], "background": 5}, "than the background.*sample 1"),
        ({"class_weights": [[1.0], [1.0, -1.0], [1.0], [1.0]]}, "numbers from 0 on.*sample 1"),
    ],
)
def test_errors_name_the_sample(given: dict[str, Any], words: str) -> None:
    with pytest.raises(gradiva.OperatorValueError, match=f"(?s){words}"):
        drawn(masks(), **given, **OPTIONS)
