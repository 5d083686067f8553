"""Boxes in pixels, where fractions of the image are meant: computed all the same, with a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

PIXELS = [np.array([[0.1, 0.2, 0.3, 0.4]], np.float32), np.array([[10, 20, 50, 60]], np.float32)]
OUTSIDE = [np.array([[-1.5, 0.2, 2.0, np.nan]], np.float32), np.zeros((0, 4), np.float32)]


@pytest.mark.parametrize(("name", "more"), [("bb_flip", {}), ("bbox_paste", {"ratio": 1.0})])
def test_boxes_in_pixels_are_noticed(name: str, more: dict[str, Any]) -> None:
    call = getattr(gradiva, name)
    with pytest.warns(
        UserWarning, match=f"{name}: boxes are in fractions .* over 2; divide"
    ) as said:
        found = call(gradiva.batch(PIXELS), ltrb=True, **more)
    assert said[0].filename == __file__
    assert found.at(1).tolist() == [[-49, 20, -9, 60] if name == "bb_flip" else [10, 20, 50, 60]]
    assert len(call(gradiva.batch(OUTSIDE), ltrb=True, **more)) == 2  # warnings are errors here


def test_in_a_pipeline() -> None:
    @pipeline_def(batch_size=2, num_threads=1, exec_async=False)
    def boxes() -> Any:
        return fn.bb_flip(fn.external_source(lambda: PIXELS))

    with boxes() as pipe, pytest.warns(UserWarning, match="bb_flip: boxes are in fractions"):
        pipe.run()


def test_a_crop_refuses_them() -> None:
    with pytest.raises(gradiva.OperatorValueError, match="divide pixels by the width"):
        gradiva.random_bbox_crop(gradiva.batch(PIXELS[1:]))
    beside = gradiva.batch([np.array([[0.5, 0.5, 1.5, 0.75]], np.float32)])
    with pytest.raises(gradiva.OperatorValueError, match="not inside the input; expected"):
        gradiva.random_bbox_crop(beside)
