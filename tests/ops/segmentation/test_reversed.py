"""`random_bbox_crop` of boxes that end before they begin, as data sets hold them by mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, pipeline_def

ROWS = np.array(
    [[0.25, 0.25, 0.75, 0.75], [0.5, 0.25, 0.25, 0.75], [0.75, 0.75, 0.5, 0.5]], np.float32
)
SIZED = ROWS - [[1], [1], [1]] * np.concatenate([np.zeros((3, 2)), ROWS[:, :2]], 1)
LABELS = np.arange(3, dtype=np.int32)
CROP: dict[str, Any] = {"scaling": (0.9, 1.0), "aspect_ratio": (0.5, 2), "allow_no_crop": False}


def crop(rows: Any, **more: Any) -> Any:
    return gradiva.random_bbox_crop(
        gradiva.batch([rows.astype(np.float32)]), gradiva.batch([LABELS]), seed=1, **CROP | more
    )


@pytest.mark.parametrize("layout", ["xyXY", "xyWH"])
def test_they_are_taken_with_a_warning(layout: str) -> None:
    rows = ROWS if layout == "xyXY" else SIZED
    with pytest.warns(UserWarning, match="ends before it begins") as said:
        start, size, boxes, labels = crop(rows, bbox_layout=layout)
    assert said[0].filename == __file__
    assert labels.at(0).tolist() == [0, 1, 2]  # the centers are in the window
    edges = np.tile(start.at(0), 2), np.tile(size.at(0), 2)
    expected = np.clip((ROWS - edges[0]) / edges[1], 0, 1)
    if layout == "xyWH":
        expected[:, 2:] -= expected[:, :2]
    np.testing.assert_allclose(boxes.at(0), expected, atol=1e-6)


@pytest.mark.parametrize("prune", [0.0, 0.25])
def test_they_have_nothing_in_common_with_a_window(prune: float) -> None:
    with pytest.warns(UserWarning, match="overlaps with nothing"):
        labels = crop(ROWS, bbox_prune_threshold=prune)[3]
    assert labels.at(0).tolist() == [0]


@pytest.mark.parametrize("kind", ["iou", "overlap"])
def test_no_window_reaches_their_threshold(kind: str) -> None:
    more = {"thresholds": (0.1,), "threshold_type": kind, "total_num_attempts": 50}
    with pytest.warns(UserWarning, match="no window fits|ends before") as said:
        crop(ROWS, **more)
    assert len(said) == 2
    with pytest.warns(UserWarning, match="ends before"):
        crop(ROWS, **more, all_boxes_above_threshold=False)


def test_pipelines_draw_the_same() -> None:
    @pipeline_def(batch_size=1, num_threads=1, exec_async=False)
    def boxes() -> Any:
        rows, labels = fn.external_source(lambda: ([ROWS], [LABELS]), num_outputs=2)
        return tuple(fn.random_bbox_crop(rows, labels, seed=1, **CROP))

    pipe: Pipeline = boxes()
    with pipe, pytest.warns(UserWarning, match="ends before it begins"):
        found = pipe.run()
    with pytest.warns(UserWarning, match="ends before it begins"):
        alone = crop(ROWS)
    for ours, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(ours.at(0), other.at(0))


def test_boxes_outside_of_the_input_are_refused() -> None:
    for row in ([0.5, 0.5, 1.25, 0.75], [-0.25, 0, 0.5, 0.5], [np.nan, 0, 1, 1]):
        with pytest.raises(gradiva.OperatorValueError, match="a box is not inside the input"):
            crop(np.array([[0, 0, 1, 1], row, [0, 0, 1, 1]]))
