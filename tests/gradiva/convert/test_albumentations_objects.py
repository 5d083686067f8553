"""`gradiva.convert.albumentations` of objects: reports, targets, steps in Python."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.convert import albumentations

A: Any = pytest.importorskip("albumentations", reason="Albumentations is absent")


def f32(values: Any) -> Any:
    return np.array(values, np.float32)


def i64(values: Any) -> Any:
    return np.array(values, np.int64)


def picture(height: int = 90, width: int = 120) -> Any:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def test_report_is_exact() -> None:
    compose = A.Compose(
        [A.Resize(64, 64), A.Rotate((20, 20), p=1), A.CLAHE((2, 2), p=1), A.Normalize()]
    )
    report = albumentations(compose).report([picture()])
    assert report.ok
    assert report.exact


def test_report_of_random_steps() -> None:
    compose = A.Compose([A.OneOf([A.Blur(p=1), A.InvertImg(p=1)]), A.Resize(32, 32)])
    report = albumentations(compose).report([picture()])
    assert report.ok
    assert "random" in str(report)
    assert "exact" in str(report)


def test_dictionaries_and_files_of_theirs(tmp_path: Path) -> None:
    compose = A.Compose(
        [A.OneOf([A.MotionBlur(), A.GaussianBlur()]), A.Affine(rotate=(-5, 5)), A.Normalize()],
        bbox_params=A.BboxParams("coco", label_fields=["names"]),
    )
    code = albumentations(compose).code()
    assert albumentations(A.to_dict(compose)).code() == code
    A.save(compose, tmp_path / "one.json")
    assert albumentations(tmp_path / "one.json").code() == code
    assert albumentations(A.to_dict(compose)).report([picture()]).ok


def test_replay_and_lists() -> None:
    steps = [A.HorizontalFlip(p=0.5), A.Transpose(p=1)]
    code = albumentations(A.Compose(steps)).code()
    assert albumentations(A.ReplayCompose(steps)).code().splitlines()[5:] == code.splitlines()[5:]
    assert albumentations(steps).code() == code
    assert "Transpose" in albumentations(A.Transpose(p=1)).code()


class Darker(A.ImageOnlyTransform):  # type: ignore[misc]
    """A transform of a user."""

    def apply(self, img: Any, **params: Any) -> Any:
        return img // 2


def test_own_transforms_in_python() -> None:
    compose = A.Compose([A.Transpose(p=1), Darker(p=1)])
    with pytest.raises(gradiva.OperatorTypeError, match=r"step 2, .*Darker.*python_function"):
        albumentations(compose)
    function = albumentations(compose, fallback="python")
    image = picture()
    made = function(gradiva.batch([image], layout="HWC"))
    np.testing.assert_array_equal(made.arrays()[0], compose(image=image)["image"])
    assert "in part in Python" in repr(function)
    assert function.report([image]).exact
    targets = function.targets(bboxes=f32([[0.1, 0.1, 0.5, 0.5]]))
    tensor = gradiva.as_tensor(image, layout="HWC")
    _, targets = function(tensor, targets)
    np.testing.assert_allclose(targets.boxes, [[0.1, 0.1, 0.5, 0.5]])


def test_own_transforms_in_containers() -> None:
    compose = A.Compose([A.OneOf([Darker(p=1), A.NoOp(p=1)], p=1)])
    function = albumentations(compose, fallback="python")
    image = picture(20, 30)
    made = function(gradiva.batch([image] * 40, layout="HWC")).arrays()
    darker = sum(np.array_equal(one, image // 2) for one in made)
    same = sum(np.array_equal(one, image) for one in made)
    assert darker + same == 40
    assert min(darker, same) > 4


def test_targets_do_not_follow_python() -> None:
    compose = A.Compose([A.GridDistortion(p=1)])
    function = albumentations(compose, fallback="python")
    function(gradiva.batch([picture()], layout="HWC"))
    targets = function.targets(bboxes=f32([[0.1, 0.1, 0.5, 0.5]]))
    with pytest.raises(gradiva.OperatorTypeError, match="GridDistortion"):
        function(gradiva.as_tensor(picture(), layout="HWC"), targets)


MOVES = [
    A.Resize(60, 50),
    A.HorizontalFlip(p=1),
    A.VerticalFlip(p=1),
    A.Transpose(p=1),
    A.CenterCrop(70, 80),
    A.Crop(5, 6, 100, 80),
    A.PadIfNeeded(150, 160),
    A.SmallestMaxSize(60),
    A.Rotate((25, 25), p=1),
    A.Affine(rotate=(10, 10), scale=(1.1, 1.1), translate_px=(3, 3), p=1),
    A.Affine(rotate=(10, 10), fit_output=True, p=1),
    A.SafeRotate((15, 15), p=1),
    A.RandomSizedCrop((90, 90), (40, 50), w2h_ratio=1.4),
]
BOXES = f32([[20, 30, 70, 60], [50, 20, 90, 80]])
POINTS = f32([[35, 40], [60, 50]])


@pytest.mark.parametrize("move", MOVES, ids=lambda one: type(one).__name__)
def test_boxes_and_points_go_where_theirs_go(move: Any) -> None:
    """One transform at a time; warps count from centers there, which is half a pixel at most."""
    warps = isinstance(move, A.Affine | A.Rotate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compose = A.Compose(
            [move],
            bbox_params=A.BboxParams("pascal_voc", label_fields=["names"]),
            keypoint_params=A.KeypointParams("xy"),
        )
    image = picture()
    theirs = compose(image=image, bboxes=BOXES, keypoints=POINTS, names=[4, 5])
    function = albumentations(compose)
    targets = function.targets(bboxes=BOXES, keypoints=POINTS, names=i64([4, 5]))
    made, targets = function(gradiva.as_tensor(image, layout="HWC"), targets)
    np.testing.assert_array_equal(made, theirs["image"])
    near = 1.0 if isinstance(move, A.SafeRotate) or getattr(move, "fit_output", False) else 0.01
    np.testing.assert_allclose(targets.boxes, theirs["bboxes"], atol=near)
    # Sizes change from the corner there, and from the center of the first pixel here.
    scaled = 0.75 if "Size" in type(move).__name__ or "Resize" in type(move).__name__ else 0.01
    near = max(near if warps else 0.01, scaled)
    np.testing.assert_allclose(targets.keypoints, theirs["keypoints"], atol=near)
    np.testing.assert_array_equal(targets["names"], theirs["names"])


def test_masks_of_one_transform() -> None:
    mask = (np.arange(90 * 120) % 251).astype(np.uint8).reshape(90, 120)
    for move in (
        A.HorizontalFlip(p=1),
        A.Transpose(p=1),
        A.Crop(5, 6, 100, 80),
        A.PadIfNeeded(150, 160),
    ):
        compose = A.Compose([move])
        function = albumentations(compose)
        image = picture()
        tensor = gradiva.as_tensor(image, layout="HWC")
        _, targets = function(tensor, function.targets(mask=mask))
        np.testing.assert_array_equal(targets.masks, compose(image=image, mask=mask)["mask"])
