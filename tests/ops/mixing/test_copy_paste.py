"""`copy_paste`: pixels, masks, boxes and labels, by pasting objects one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch, batch


def blobs(generator: Any, count: int, height: int, width: int) -> np.ndarray[Any, Any]:
    """(count, height, width): masks of rectangles, some empty."""
    masks = np.zeros((count, height, width), np.uint8)
    for mask in masks:
        top, left = generator.integers(0, height), generator.integers(0, width)
        mask[top : top + generator.integers(0, 9), left : left + generator.integers(0, 9)] = 200
    return masks


def box_of(mask: np.ndarray[Any, Any]) -> list[int]:
    rows, columns = np.nonzero(mask)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


def pasted(
    images: list[Any], masks: list[Any], sample: int, other: int, chosen: list[int], least: int
) -> Any:
    """The image, the masks, and of each mask the sample and the number it was."""
    image = images[sample].copy()
    height, width = image.shape[:2]
    cover, added = np.zeros((height, width), bool), []
    for number in chosen:
        mask = np.zeros((height, width), np.uint8)
        part = masks[other][number][:height, :width]
        mask[: part.shape[0], : part.shape[1]] = part
        if (mask != 0).sum() >= max(least, 1):
            added.append((mask, (other, number)))
            cover |= mask != 0
    rows, columns = np.nonzero(cover)
    image[rows, columns] = images[other][rows, columns]
    kept = []
    for number, mask in enumerate(masks[sample]):
        rest = np.where(cover, 0, mask)
        if (rest != 0).sum() >= max(least, 1):
            kept.append((rest, (sample, number)))
    return image, kept + added


@pytest.mark.parametrize("least", [0, 1, 12])
@pytest.mark.parametrize("ragged", [False, True])
def test_every_object(least: int, ragged: bool) -> None:
    generator = np.random.default_rng(3)
    images, masks, labels = [], [], []
    for number in range(8):
        height, width = generator.integers(6, 24, 2) if ragged else (20, 16)
        images.append(generator.integers(0, 256, (height, width, 3)).astype(np.uint8))
        masks.append(blobs(generator, number % 5, height, width))
        labels.append(np.arange(number % 5) + 10 * number)
    numbers = as_batch(np.arange(8, dtype=np.float32).reshape(8, 1))
    partners = gradiva.mixup(numbers, lam=0.0, seed=7).as_array().reshape(-1).astype(int)
    made, found, boxes, names = gradiva.copy_paste(
        batch(images, layout="HWC"),
        batch(masks),
        batch(labels),
        object_probability=1.0,
        min_area=least,
        bbox_normalized=False,
        seed=7,
    )
    for sample in range(8):
        other = partners[sample]
        every = list(range(len(masks[other])))
        image, rows = pasted(images, masks, sample, other, every, least)
        np.testing.assert_array_equal(np.asarray(made.at(sample)), image)
        own = np.asarray(found.at(sample))
        assert own.shape == (len(rows), *image.shape[:2])
        assert np.asarray(boxes.at(sample)).shape == (len(rows), 4)
        for row, (mask, (whose, number)) in enumerate(rows):
            np.testing.assert_array_equal(own[row], mask)
            np.testing.assert_array_equal(np.asarray(boxes.at(sample))[row], box_of(mask))
            assert np.asarray(names.at(sample))[row] == 10 * whose + number


def test_boxes_and_layouts() -> None:
    """All forms of boxes; CHW and bool masks give the same."""
    generator = np.random.default_rng(5)
    images = generator.integers(0, 256, (4, 20, 30, 3)).astype(np.uint8)
    masks = batch([blobs(generator, 3, 20, 30) for _ in range(4)])
    sure: dict[str, Any] = {"object_probability": 1.0, "seed": 2}
    whole, _, pixels = gradiva.copy_paste(
        as_batch(images, layout="HWC"), masks, bbox_normalized=False, **sure
    )
    planes, flags, parts = gradiva.copy_paste(
        as_batch(images.transpose(0, 3, 1, 2), layout="CHW"),
        batch([mask != 0 for mask in masks.arrays()], layout="NHW"),
        bbox_layout="cxcyWH",
        **sure,
    )
    np.testing.assert_array_equal(planes.as_array(), whole.as_array().transpose(0, 3, 1, 2))
    assert flags.dtype is gradiva.bool
    assert flags.layout == "NHW"
    for one, other in zip(pixels.arrays(), parts.arrays(), strict=True):
        corners = np.hstack([other[:, :2] - other[:, 2:] / 2, other[:, :2] + other[:, 2:] / 2])
        np.testing.assert_allclose(corners * [30, 20, 30, 20], one, atol=1e-4)


def test_object_probability() -> None:
    """Each object is drawn for itself."""
    count = 400
    masks = np.zeros((count, 10, 1, 10), np.uint8)
    masks[:, np.arange(10), 0, np.arange(10)] = 1
    images = as_batch(np.arange(count * 10, dtype=np.float32).reshape(count, 1, 10), layout="HW")
    made, _, _ = gradiva.copy_paste(images, as_batch(masks), object_probability=0.3, seed=1)
    changed = made.as_array()[:, 0] != images.as_array()[:, 0]
    deviation = np.sqrt(0.3 * 0.7 / count)
    assert (np.abs(changed.mean(axis=0) - 0.3) < 4 * deviation).all()
    assert abs(np.corrcoef(changed[:, 0], changed[:, 1])[0, 1]) < 0.2
    never, same, _ = gradiva.copy_paste(images, as_batch(masks), probability=0.0, seed=1)
    np.testing.assert_array_equal(never.as_array(), images.as_array())
    np.testing.assert_array_equal(same.as_array(), masks)


def test_without_objects() -> None:
    """Batches in which nobody has an object keep their shapes."""
    images = as_batch(np.zeros((2, 4, 5, 3), np.uint8), layout="HWC")
    made, masks, boxes, labels = gradiva.copy_paste(
        images, batch([np.zeros((0, 4, 5), np.uint8)] * 2), batch([np.zeros((0, 2))] * 2)
    )
    assert made.shape == [(4, 5, 3)] * 2
    assert masks.shape == [(0, 4, 5)] * 2
    assert boxes.shape == [(0, 4)] * 2
    assert labels.shape == [(0, 2)] * 2


def test_mistakes() -> None:
    images = as_batch(np.zeros((2, 4, 5, 3), np.uint8), layout="HWC")
    good = np.zeros((1, 4, 5), np.uint8)
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)\(n, 4, 5\).*\(1, 5, 4\).*sample 1"):
        gradiva.copy_paste(images, batch([good, np.zeros((1, 5, 4), np.uint8)]))
    with pytest.raises(gradiva.OperatorTypeError, match="masks"):
        gradiva.copy_paste(images, batch([good.astype(np.float32)] * 2))
    with pytest.raises(gradiva.OperatorTypeError, match=r"(?s)masks.*3-D"):
        gradiva.copy_paste(images, batch([good[0]] * 2))
    with pytest.raises(gradiva.OperatorTypeError, match=r"(?s)one plane for each object.*'HWC'"):
        gradiva.copy_paste(images, batch([good] * 2, layout="HWC"))
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)a label for each object.*sample 0"):
        gradiva.copy_paste(
            images, batch([good] * 2), batch([np.array([], np.int32), np.array([1], np.int32)])
        )
