"""`mosaic`: pixels, boxes and labels, by pasting images one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import as_batch, batch

LAYOUTS = ("HWC", "CHW", "HW", "FHWC", "FCHW", "CFHW")


def pasted(
    images: list[Any], order: Any, size: tuple[int, int], center: tuple[int, int], fill: Any
) -> np.ndarray[Any, Any]:
    """Four images (..., H, W) around a center, each cut to its quarter."""
    height, width = size
    cy, cx = center
    canvas = np.empty((*images[0].shape[:-2], height, width), images[0].dtype)
    canvas[...] = np.asarray(fill, images[0].dtype).reshape(-1, 1, 1)
    for part, number in enumerate(order):
        image = images[number]
        top = cy - image.shape[-2] if part < 2 else cy
        left = cx - image.shape[-1] if part % 2 == 0 else cx
        for y in range(image.shape[-2]):
            for x in range(image.shape[-1]):
                if 0 <= top + y < height and 0 <= left + x < width:
                    canvas[..., top + y, left + x] = image[..., y, x]
    return canvas


def order_of(count: int, seed: int) -> np.ndarray[Any, Any]:
    """(count, 4): the images of each mosaic."""
    numbers = as_batch(np.arange(count, dtype=np.int32).reshape(count, 1, 1, 1), layout="HWC")
    made = gradiva.mosaic(numbers, output_size=(2, 2), center=(0.5, 0.5), seed=seed)
    order: np.ndarray[Any, Any] = made.as_array().reshape(count, 4)
    return order


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.int64])
def test_pixels(layout: str, dtype: Any) -> None:
    """Of images smaller and larger than their quarters, in all layouts."""
    generator = np.random.default_rng(2)
    planes, given = [], []
    stored = "".join(letter for letter in "FC" if letter in layout) + "HW"
    for _ in range(7):
        height, width = generator.integers(1, 14, 2)
        shape = [{"F": 2, "C": 3}[letter] for letter in stored[:-2]]
        image = generator.integers(0, 100, (*shape, height, width)).astype(dtype)
        planes.append(image)
        given.append(image.transpose([stored.index(letter) for letter in layout]))
    fill: Any = (7, 8, 9) if "C" in layout else 7
    centers = np.array(
        [[0.5, 0.5], [0, 0], [1, 1], [0.3, 0.8], [0.6, 0.1], [0, 1], [0.9, 0.4]], np.float32
    )
    sizes = generator.integers(1, 17, (7, 2))
    made = gradiva.mosaic(
        batch(given, layout=layout), output_size=sizes, center=centers, fill_value=fill, seed=3
    )
    order = order_of(7, 3)
    assert (np.sort(order, axis=1) == order[:, :1]).sum() == 7  # all four differ
    for sample in range(7):
        size = tuple(sizes[sample].tolist())
        center = tuple(np.floor(centers[sample].astype(np.float64) * sizes[sample]).astype(int))
        expected = pasted(planes, order[sample], size, center, fill)
        expected = expected.transpose([stored.index(letter) for letter in layout])
        np.testing.assert_array_equal(np.asarray(made.at(sample)), expected)


@pytest.mark.parametrize("layout", ["xyXY", "xyWH", "cxcyWH"])
@pytest.mark.parametrize("normalized", [True, False])
def test_boxes(layout: str, normalized: bool) -> None:
    """A painted box and its numbers stay together; what is cut off too far is left out."""
    generator = np.random.default_rng(4)
    images, boxes, labels = [], [], []
    for number in range(6):
        height, width = generator.integers(10, 30, 2)
        low = generator.integers(0, 5, (2,))
        high = low + generator.integers(3, 6, 2)
        image = np.zeros((height, width, 1), np.uint8)
        image[low[0] : high[0], low[1] : high[1]] = number + 1
        images.append(image)
        box = np.array([low[1], low[0], high[1], high[0]], np.float64)
        if layout != "xyXY":
            box[2:] -= box[:2]
        if layout == "cxcyWH":
            box[:2] += box[2:] / 2
        if normalized:
            box /= [width, height, width, height]
        boxes.append(box[None].astype(np.float32)[: 0 if number == 3 else 1])
        labels.append(np.array([number + 1], np.int64)[: 0 if number == 3 else 1])
    wide = normalized and layout == "xyWH"
    made, found, names = gradiva.mosaic(
        batch(images, layout="HWC"),
        batch([box.astype(np.float64) for box in boxes] if wide else boxes),
        batch(labels),
        output_size=(40, 32),
        bbox_layout=layout,
        bbox_normalized=normalized,
        remove_threshold=0.0,
        seed=5,
    )
    assert names.dtype is gradiva.int64
    assert found.dtype is (gradiva.float64 if wide else gradiva.float32)
    for sample in range(6):
        image, own = np.asarray(made.at(sample))[:, :, 0], np.asarray(found.at(sample))
        numbers = np.asarray(names.at(sample)).tolist()
        there = [number for number in np.unique(image).tolist() if number not in (0, 4)]
        assert sorted(numbers) == there
        for row, number in zip(own.astype(np.float64), numbers, strict=True):
            box = row * [32, 40, 32, 40] if normalized else row
            if layout == "cxcyWH":
                box[:2] -= box[2:] / 2
            if layout != "xyXY":
                box[2:] += box[:2]
            rows, columns = np.nonzero(image == number)
            painted = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            np.testing.assert_allclose(box, painted, atol=1e-4)


def test_what_is_left_out() -> None:
    """Boxes of which less than the threshold is left, without an area, and not finite."""
    images = as_batch(np.zeros((1, 10, 10, 1), np.uint8), layout="HWC")
    rows = [[0, 0, 10, 10], [4, 4, 4, 8], [0, 0, 5, 5], [np.nan, 0, 1, 1], [0, 0, np.inf, 1]]
    boxes = batch([np.array(rows, np.float32)])
    for threshold, wanted in ((0.0, [0, 2]), (0.25, [0]), (0.26, [])):
        # The image itself is cut to its lower right quarter; the three others are as it is.
        _, _, numbers = gradiva.mosaic(
            images,
            boxes,
            batch([np.arange(5)]),
            output_size=(5, 5),
            center=(1, 1),
            bbox_normalized=False,
            remove_threshold=threshold,
        )
        own = np.asarray(numbers.at(0)).tolist()
        # The second of the box [0, 0, 5, 5] ends where the quarter begins: nothing of it is left.
        assert own == [number for number in wanted if number != 2]


def test_limits_and_several_labels() -> None:
    """Small boxes are left out by their area or their sides in the output, in pixels."""
    images = as_batch(np.zeros((4, 10, 10, 1), np.uint8), layout="HWC")
    rows = np.array([[0, 0, 4, 4], [0, 0, 8, 2], [0, 0, 5, 5]], np.float32) / 10
    numbers, names = batch([np.arange(3)] * 4), batch([np.arange(6).reshape(3, 2)] * 4)
    options: dict[str, Any] = {"output_size": (20, 20), "center": (0.5, 0.5), "seed": 1}
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [0, 1, 2]),
        ({"min_area": 17.0}, [2]),
        ({"min_area": 16.0}, [0, 1, 2]),
        ({"min_size": 2.5}, [0, 2]),
        ({"min_size": 4.0, "min_area": 20.0}, [2]),
    ]
    for limits, wanted in cases:
        _, boxes, found, more = gradiva.mosaic(
            images, batch([rows] * 4), numbers, names, **options, **limits
        )
        for sample in range(4):
            assert np.asarray(found.at(sample)).tolist() == wanted * 4
            expected = [[2 * number, 2 * number + 1] for number in wanted * 4]
            assert np.asarray(more.at(sample)).tolist() == expected
            assert len(np.asarray(boxes.at(sample))) == 4 * len(wanted)


def test_pixels_given_as_fractions() -> None:
    images = as_batch(np.zeros((1, 10, 10, 1), np.uint8), layout="HWC")
    with pytest.warns(UserWarning, match="mosaic: boxes are in fractions"):
        gradiva.mosaic(images, batch([np.array([[1, 2, 3, 9]], np.float32)]), output_size=(8, 8))


def test_groups_of_few() -> None:
    """Two samples make a mosaic of both, each twice."""
    order = order_of(2, 1)
    np.testing.assert_array_equal(np.sort(order, axis=1), [[0, 0, 1, 1]] * 2)
    np.testing.assert_array_equal(order_of(1, 1), [[0] * 4])


def test_masks_follow_by_the_same_seed() -> None:
    generator = np.random.default_rng(6)
    images = as_batch(generator.integers(1, 255, (9, 12, 10, 3)).astype(np.uint8), layout="HWC")
    masks = as_batch(images.as_array()[:, :, :, 0], layout="HW")
    for seed in range(3):
        whole = gradiva.mosaic(images, output_size=(20, 20), seed=seed)
        follow = gradiva.mosaic(masks, output_size=(20, 20), seed=seed)
        np.testing.assert_array_equal(whole.as_array()[:, :, :, 0], follow.as_array())


def test_mistakes() -> None:
    images = as_batch(np.zeros((2, 6, 6, 3), np.uint8), layout="HWC")
    size: dict[str, Any] = {"output_size": (8, 8)}
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)four numbers.*sample 1"):
        gradiva.mosaic(
            images, batch([np.zeros((0, 4), np.float32), np.zeros((2, 5), np.float32)]), **size
        )
    with pytest.raises(gradiva.OperatorTypeError, match="boxes"):
        gradiva.mosaic(images, batch([np.zeros((1, 4), np.int32)] * 2), **size)
    with pytest.raises(gradiva.OperatorTypeError, match="boxes"):
        gradiva.mosaic(images, batch([np.zeros(4, np.float32)] * 2), **size)
    boxes = batch([np.zeros((1, 4), np.float32)] * 2)
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)a label for each object.*sample 1"):
        gradiva.mosaic(
            images, boxes, batch([np.array([1], np.int32), np.array([1, 2], np.int32)]), **size
        )
    labels = batch([np.zeros((1, 2), np.int32), np.zeros((1, 3), np.int32)])
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)one width.*sample 1"):
        gradiva.mosaic(images, boxes, labels, **size)
    with pytest.raises(gradiva.OperatorValueError, match="`remove_threshold`"):
        gradiva.mosaic(images, boxes, remove_threshold=2.0, **size)
    with pytest.raises(gradiva.OperatorValueError, match="`min_size`"):
        gradiva.mosaic(images, boxes, min_size=-1.0, **size)
    with pytest.raises(gradiva.OperatorValueError, match="`bbox_layout`"):
        gradiva.mosaic(images, boxes, bbox_layout="xywh", **size)
