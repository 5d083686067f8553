"""Targets of image files: decoders take them to the windows that they decode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.ops.decoders.image.image import encode

from .graphs import f32

HEIGHT, WIDTH = 90, 120
FORMATS = ("JPEG", "PNG", "JPEG")


def jpegs() -> tuple[gradiva.Batch, gradiva.Targets]:
    """Files with a bright square, and its box."""
    files, boxes = [], []
    for number in range(3):
        image = np.zeros((HEIGHT, WIDTH + 8 * number, 3), np.uint8)
        image[32:56, 40:72] = 255
        files.append(np.frombuffer(bytes(encode(image, FORMATS[number])), np.uint8))
        boxes.append(f32([[40, 32, 72, 56]]))
    return gradiva.batch(files), gradiva.Targets(boxes=gradiva.batch(boxes))


def square(image: Any) -> list[int]:
    """The box of what is bright."""
    ys, xs = np.nonzero(np.asarray(image)[:, :, 0] > 127)
    return [int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1]


CALLS: dict[str, Any] = {
    "image": gradiva.decoders.image,
    "half": lambda files, t: gradiva.decoders.image(files, t, min_size=40),
    "image_crop": lambda files, t: gradiva.decoders.image_crop(
        files, t, crop=(60, 70), crop_pos_x=0.6
    ),
    "image_random_crop": lambda files, t: gradiva.decoders.image_random_crop(
        files, t, random_area=(0.6, 1.0), seed=11
    ),
    "image_slice": lambda files, t: gradiva.decoders.image_slice(
        files, t, start=(20, 30), end=(80, 110), axis_names="HW"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_windows(name: str) -> None:
    files, targets = jpegs()
    images, targets = CALLS[name](files, targets)
    for image, boxes in zip(images, targets.boxes, strict=True):
        np.testing.assert_allclose(np.asarray(boxes)[0], square(image), atol=1)


def test_in_a_pipeline() -> None:
    """With random windows, fused with what follows."""

    @gradiva.pipeline_def(batch_size=3, num_threads=2, seed=5)
    def pipe() -> Any:
        files = gradiva.fn.external_source(lambda: jpegs()[0])
        targets = gradiva.Targets(boxes=f32([[40, 32, 72, 56]]))
        images, targets = gradiva.fn.decoders.image_random_crop(
            files, targets, random_area=(0.7, 1.0)
        )
        images, targets = gradiva.fn.resize(images, targets, size=(180, 240))
        return images, targets.boxes

    images, boxes = pipe().run()
    for image, box in zip(images, boxes, strict=True):
        np.testing.assert_allclose(np.asarray(box)[0], square(image), atol=2)


def test_decoded_after_moving() -> None:
    files, targets = jpegs()
    _, targets = gradiva.decoders.image(files, targets)
    with pytest.raises(gradiva.OperatorTypeError, match="followed others"):
        gradiva.decoders.image(files, targets)


def test_damaged_files_are_left_out() -> None:
    """Of a file that cannot be read nothing is left, not even its boxes."""
    good, _ = jpegs()
    damaged = [good.at(0), good.at(1)[:20], good.at(2)]

    @gradiva.pipeline_def(batch_size=3, num_threads=2, seed=5)
    def pipe() -> Any:
        files = gradiva.fn.external_source(lambda: gradiva.batch(damaged))
        boxes = gradiva.fn.external_source(
            lambda: gradiva.batch([f32([[k, 32, 72, 56]]) for k in (40, 41, 42)])
        )
        images = gradiva.fn.decoders.image(files, on_error="skip")
        targets = gradiva.Targets(boxes=boxes)
        images, targets = gradiva.fn.resize(images, targets, size=(90, 240))
        return images, targets.boxes

    with pytest.warns(UserWarning, match="left out"):
        images, boxes = pipe().run()
    assert len(images) == len(boxes) == 2
    assert [float(np.asarray(one)[0, 0]) for one in boxes] == pytest.approx(
        [80, 42 * 240 / (WIDTH + 16)], 1e-6
    )
