"""Boxes and keypoints beside torchvision's and Albumentations', one operator at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva

from .graphs import f32

HEIGHT, WIDTH = 60, 80
IMAGE = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
BOXES = f32([[10, 20, 30, 40], [50, 5, 70, 25], [1, 45, 18, 59], [40.5, 30.25, 78.5, 58.75]])
POINTS = f32([[12.5, 33.25], [70, 8], [40, 30], [22, 50]])
CENTER = (WIDTH / 2, HEIGHT / 2)


def ours(call: Any, **options: Any) -> tuple[Any, Any]:
    """The boxes and points after an operator."""
    given = {"pixel_origin": "center", **options}
    targets = gradiva.Targets(boxes=BOXES, keypoints=POINTS, drop=False, **given)
    _, targets = call(targets)
    return np.asarray(targets.boxes), np.asarray(targets.keypoints)


def turned(angle: float, scale: float, shift: tuple[float, float]) -> list[float]:
    """A matrix about the center of the image, clockwise as it is seen, from input to output."""
    cosine, sine = scale * np.cos(np.radians(angle)), scale * np.sin(np.radians(angle))
    x, y = CENTER
    rows = [
        [cosine, -sine, x - cosine * x + sine * y + shift[0]],
        [sine, cosine, y - sine * x - cosine * y + shift[1]],
    ]
    return [float(one) for row in rows for one in row]


CALLS: dict[str, Any] = {
    "flip": lambda t: gradiva.flip(IMAGE, t),
    "flip vertically": lambda t: gradiva.flip(IMAGE, t, horizontal=0, vertical=1),
    "resize": lambda t: gradiva.resize(IMAGE, t, size=(90, 100)),
    "crop": lambda t: gradiva.slice(IMAGE, t, start=(7, 11), shape=(40, 50), axis_names="HW"),
    "pad": lambda t: gradiva.paste(
        IMAGE, t, ratio=1, min_canvas_size=100, fill_value=0, paste_x=0.5, paste_y=0.25
    ),
    "rotate": lambda t: gradiva.rotate(IMAGE, t, angle=30.0, keep_size=True),
    "quarter": lambda t: gradiva.rotate(IMAGE, t, angle=90.0),
    "affine": lambda t: gradiva.warp_affine(
        IMAGE, t, matrix=turned(20.0, 1.2, (4.0, -3.0)), inverse_map=False
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_torchvision(name: str) -> None:
    torch = pytest.importorskip("torch")
    v2 = pytest.importorskip("torchvision.transforms.v2.functional")
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    boxes = tv_tensors.BoundingBoxes(
        torch.from_numpy(BOXES), format="XYXY", canvas_size=(HEIGHT, WIDTH)
    )
    points = tv_tensors.KeyPoints(torch.from_numpy(POINTS), canvas_size=(HEIGHT, WIDTH))
    theirs: dict[str, Any] = {
        "flip": v2.horizontal_flip,
        "flip vertically": v2.vertical_flip,
        "resize": lambda x: v2.resize(x, [90, 100]),
        "crop": lambda x: v2.crop(x, 7, 11, 40, 50),
        "pad": lambda x: v2.pad(x, [10, 10, 10, 30]),
        "rotate": lambda x: v2.rotate(x, 30.0),
        "quarter": lambda x: v2.rotate(x, 90.0, expand=True),
        "affine": lambda x: v2.affine(x, 20.0, [4, -3], 1.2, [0.0, 0.0]),
    }
    made, places = ours(CALLS[name])
    expected = theirs[name](boxes)
    if hasattr(v2, "clamp_bounding_boxes"):
        expected = v2.clamp_bounding_boxes(expected)
    np.testing.assert_allclose(made, expected.numpy(), atol=2e-4)
    if name in ("flip", "flip vertically"):
        np.testing.assert_allclose(places, theirs[name](points).numpy(), atol=1e-4)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("quarter", "affine")])
def test_albumentations(name: str) -> None:
    a = pytest.importorskip("albumentations")
    import cv2

    transforms: dict[str, Any] = {
        "flip": lambda: a.HorizontalFlip(p=1),
        "flip vertically": lambda: a.VerticalFlip(p=1),
        "resize": lambda: a.Resize(90, 100),
        "crop": lambda: a.Crop(x_min=11, y_min=7, x_max=61, y_max=47),
        "pad": lambda: a.Pad(padding=(10, 10, 10, 30), p=1),
        "rotate": lambda: a.Rotate(
            limit=(30, 30), border_mode=cv2.BORDER_CONSTANT, rotate_method="largest_box", p=1
        ),
    }
    both = a.Compose(
        [transforms[name]()],
        bbox_params=a.BboxParams(format="pascal_voc", label_fields=["labels"]),
        keypoint_params=a.KeypointParams(format="xy", remove_invisible=False),
    )
    result = both(image=IMAGE, bboxes=BOXES, labels=np.arange(4), keypoints=POINTS)
    made, places = ours(CALLS[name])
    kept = np.asarray(result["labels"]).astype(int)
    np.testing.assert_allclose(made[kept], np.asarray(result["bboxes"]), atol=2e-3)
    if name in ("flip", "flip vertically", "crop", "pad"):
        np.testing.assert_allclose(places, np.asarray(result["keypoints"]), atol=1e-4)
