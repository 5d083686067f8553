"""Targets of sequences whose frames move each in its own way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, fn, pipeline_def
from gradiva.eager.operators.operator import operators
from tests.needs import needs_opencv

from .graphs import f32, found, i32, painted

full = pytest.mark.full
FRAMES = (3, 2)
SIZES = ((80, 100), (70, 90))


def per_frame(values: Any) -> Any:
    return gradiva.per_frame(gradiva.batch([f32(one) for one in values]))


def _perspective(images: Any, targets: Any) -> Any:
    corners = f32([4, 2, 90, 3, 92, 70, 3, 75])
    ends = per_frame([corners + f32([[0], [3], [-2]]), corners + f32([[1], [-3]])])
    start = [0, 0, 99, 0, 99, 79, 0, 79]
    return gradiva.perspective(images, targets, startpoints=start, endpoints=ends)


def _matrices() -> Any:
    angles = per_frame([[0, 20, -35], [10, -5]])
    return gradiva.transforms.rotation(angle=angles, center=(50, 40))


CALLS: dict[str, Any] = {
    "rotate": lambda images, targets: gradiva.rotate(
        images, targets, angle=per_frame([[0, 20, -35], [10, -5]]), keep_size=True, fill_value=0
    ),
    "grown": lambda images, targets: gradiva.rotate(
        images, targets, angle=per_frame([[0, 20, -35], [10, -5]]), fill_value=0
    ),
    "one for all": lambda images, targets: gradiva.rotate(
        images, targets, angle=per_frame([[25], [10]]), fill_value=0
    ),
    "of torchvision": lambda images, targets: gradiva.rotate(
        images,
        targets,
        angle=per_frame([[0, 20, -35], [10, -5]]),
        compat="torchvision",
        keep_size=True,
        interp_type="INTERP_LINEAR",
    ),
    "affine": lambda images, targets: gradiva.affine(
        images,
        targets,
        angle=per_frame([[0, 20, -35], [10, -5]]),
        compat="torchvision",
        interp_type="INTERP_LINEAR",
    ),
    "perspective": _perspective,
    "warp_affine": lambda images, targets: gradiva.warp_affine(
        images, targets, matrix=_matrices(), fill_value=0, inverse_map=False
    ),
    "input": lambda images, targets: gradiva.warp_affine(
        images, _matrices(), targets, fill_value=0
    ),
}


def sequences(seed: int = 0) -> tuple[Any, Any]:
    """Sequences with two painted points, one in each channel; and the points (f, 2, 2)."""
    random = np.random.default_rng(seed)
    points = [random.uniform((35, 28), (60, 48), (frames, 2, 2)) for frames in FRAMES]
    videos = [
        np.stack([painted(one, *size) for one in several])
        for several, size in zip(points, SIZES, strict=True)
    ]
    return gradiva.batch(videos, layout="FHWC"), points


def all_targets(points: Any) -> Any:
    """Boxes, keypoints and masks of two objects in each frame, and cameras."""
    boxes, keypoints, masks = [], [], []
    for several, size in zip(points, SIZES, strict=True):
        boxes.append(f32(np.concatenate([several - 3, several + 3], axis=2)))
        labeled = np.concatenate([several, np.full((*several.shape[:2], 1), 2)], axis=2)
        keypoints.append(f32(labeled)[:, :, None])
        spots = [painted(one, *size).transpose(2, 0, 1) > 0.005 for one in several]
        masks.append(np.stack(spots).astype(np.uint8))
    return gradiva.Targets(
        boxes=gradiva.batch(boxes),
        keypoints=gradiva.batch(keypoints),
        masks=gradiva.batch(masks),
        labels=gradiva.batch([i32([1, 2])] * 2),
        cameras=gradiva.batch([np.stack([np.eye(3, dtype=np.float32)] * n) for n in FRAMES]),
    )


@needs_opencv
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in ("grown", "input") else full) for n in CALLS]
)
def test_painted_points(name: str) -> None:
    images, points = sequences()
    targets = all_targets(points)
    images, targets = gradiva.resize(images, targets, resize_x=110)
    images, targets = CALLS[name](images, targets)
    images, targets = gradiva.flip(images, targets, horizontal=gradiva.batch(i32([1, 0])))
    images, targets = gradiva.crop(images, targets, crop=(60, 80))
    compared = 0
    for sample, frames in enumerate(FRAMES):
        keypoints, boxes, masks, cameras = (
            np.asarray(targets[what].at(sample))
            for what in ("keypoints", "boxes", "masks", "cameras")
        )
        assert masks.shape == (frames, 2, 60, 80)
        assert boxes.shape == (frames, 2, 4)
        for frame, image in enumerate(np.asarray(images.at(sample))):
            _, places = found(image)
            for number, (x, y, visible) in enumerate(keypoints[frame, :, 0].tolist()):
                if not (visible and 9 < x < 71 and 9 < y < 51):
                    continue
                compared += 1
                assert np.hypot(*(places[number] - (x, y))) < 0.5
                left, top, right, bottom = boxes[frame, number]
                assert left < x < right
                assert top < y < bottom
                ys, xs = np.nonzero(masks[frame, number])
                assert abs(xs.mean() + 0.5 - x) < 0.6
                assert abs(ys.mean() + 0.5 - y) < 0.6
                moved = cameras[frame] @ (*points[sample][frame, number], 1)
                np.testing.assert_allclose(moved[:2] / moved[2], (x, y), atol=1e-3)
    assert compared >= 6


def test_frame_by_frame() -> None:
    """The same as if each frame was an image of its own."""
    images, points = sequences(3)
    targets = all_targets(points)
    _, moved = CALLS["rotate"](images, targets)
    for sample, angles in enumerate(([0, 20, -35], [10, -5])):
        for frame, angle in enumerate(angles):
            _, alone = gradiva.rotate(
                gradiva.as_tensor(np.asarray(images.at(sample))[frame], layout="HWC"),
                gradiva.Targets(
                    boxes=np.asarray(targets.boxes.at(sample))[frame],
                    masks=np.asarray(targets.masks.at(sample))[frame],
                    keypoints=np.asarray(targets.keypoints.at(sample))[frame],
                ),
                angle=float(angle),
                keep_size=True,
            )
            for name in ("boxes", "masks", "keypoints"):
                one = np.asarray(moved[name].at(sample))[frame]
                np.testing.assert_array_equal(one, np.asarray(alone[name]))


def test_one_sequence_and_classes() -> None:
    images, _points = sequences()
    video = gradiva.as_tensor(np.asarray(images.at(0)), layout="FHWC")
    classes = gradiva.as_tensor((np.asarray(images.at(0))[..., 0] > 0.005) * 7, layout="FHW")
    angle = gradiva.per_frame(gradiva.as_tensor(f32([5, 10, 15])))
    targets = gradiva.Targets(masks=classes, boxes=f32([[[9, 9, 20, 20]]] * 3))
    _, targets = gradiva.rotate(video, targets, angle=angle, keep_size=True, fill_value=0)
    _, targets = gradiva.flip(video, targets)
    assert targets.masks.shape == (3, 80, 100)
    assert targets.boxes.shape == (3, 1, 4)
    assert set(np.unique(np.asarray(targets.masks))) == {0, 7}


def test_sequences_without_frames_and_without_objects() -> None:
    images = gradiva.batch(
        [np.zeros((0, 9, 8, 1), np.uint8), np.zeros((2, 7, 9, 1), np.uint8)], layout="FHWC"
    )
    targets = gradiva.Targets(
        boxes=gradiva.batch([np.zeros((0, 0, 4), np.float32), np.zeros((2, 0, 4), np.float32)]),
        masks=gradiva.batch([np.zeros((0, 0, 9, 8), np.uint8), np.zeros((2, 0, 7, 9), np.uint8)]),
    )
    angle = per_frame([[], [3, 4]])
    images, targets = gradiva.rotate(images, targets, angle=angle, keep_size=True, fill_value=0)
    images, targets = gradiva.crop(images, targets, crop=(5, 5))
    assert targets.boxes.batch_shape.shapes.tolist() == [[0, 0, 4], [2, 0, 4]]
    assert targets.masks.batch_shape.shapes.tolist()[1] == [2, 0, 5, 5]
    none = gradiva.batch(np.empty((0, 2, 7, 9, 1), np.uint8), layout="FHWC")
    empty = gradiva.Targets(boxes=gradiva.batch(np.empty((0, 2, 1, 4), np.float32)))
    angle = gradiva.per_frame(gradiva.batch(np.empty((0, 2), np.float32)))
    _, empty = gradiva.rotate(none, empty, angle=angle)
    _, empty = gradiva.flip(none, empty)
    assert len(empty.boxes) == 0


def test_random_operators_move_all_frames_alike() -> None:
    images, points = sequences()
    targets = all_targets(points)
    angle = per_frame([[0, 0, 0], [0, 0]])
    plain = targets
    images, targets = gradiva.rotate(images, targets, angle=angle, keep_size=True, fill_value=0)
    _, targets = gradiva.random_resized_crop(images, targets, size=(40, 50), seed=5)
    _, plain = gradiva.random_resized_crop(images, plain, size=(40, 50), seed=5)
    for name in ("boxes", "keypoints", "masks"):
        for one, other in zip(targets[name], plain[name], strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-4)


def _same_call(images: Any, boxes: Any, angles: Any) -> Any:
    targets = gradiva.Targets(boxes=boxes)
    images, targets = gradiva.rotate(images, targets, angle=angles, keep_size=True, fill_value=0)
    images, targets = gradiva.random_resized_crop(images, targets, size=(40, 50), seed=5)
    return images, targets.boxes


def test_same_in_all_modes() -> None:
    images, points = sequences()
    boxes = all_targets(points).boxes
    angles = [f32([0, 20, -35]), f32([10, -5])]
    given = gradiva.per_frame(gradiva.batch(angles))
    with gradiva.step(0, 2):
        expected = [[np.array(x) for x in one] for one in _same_call(images, boxes, given)]
    with gradiva.step(0, 2):
        compiled = capture.compile(_same_call)(images, boxes, given)
        compiled = [[np.array(x) for x in one] for one in compiled]

    @pipeline_def(batch_size=2, num_threads=2)
    def build(known: bool) -> Any:
        layout = ["FHWC", "", "" if known else "F"]
        source = [(list(images.arrays()), list(boxes.arrays()), angles)]
        video, box, angle = fn.external_source(source=source, num_outputs=3, layout=layout)
        return _same_call(video, box, fn.per_frame(angle) if known else angle)

    for known in (True, False):
        made = build(known).run()
        for one, other, third in zip(expected, compiled, made, strict=True):
            for x, y, z in zip(one, other, third, strict=True):
                np.testing.assert_array_equal(x, y)
                np.testing.assert_array_equal(x, np.array(z))


def test_refused() -> None:
    images, _points = sequences()
    angle = per_frame([[0, 20, -35], [10, -5]])

    def moved(**given: Any) -> Any:
        targets = gradiva.Targets(**given)
        return gradiva.rotate(images, targets, angle=angle, keep_size=True, fill_value=0)[1]

    box = gradiva.batch([f32([[9, 9, 20, 20]])] * 2)
    with pytest.raises(gradiva.OperatorTypeError, match=r"boxes need an axis of frames.*3-D"):
        assert moved(boxes=box).boxes
    wrong = gradiva.batch([f32([[[9, 9, 20, 20]]] * 3)] * 2)
    with pytest.raises(gradiva.OperatorValueError, match=r"expected 2 frames(.|\n)*sample 1"):
        assert moved(boxes=wrong).boxes
    with pytest.raises(gradiva.OperatorTypeError, match=r"keypoints need an axis"):
        assert moved(keypoints=gradiva.batch([f32([[[9, 9]]])] * 2)).keypoints
    flat = gradiva.batch(
        [np.zeros((n, *size), np.uint8) for n, size in zip(FRAMES, SIZES, strict=True)]
    )
    with pytest.raises(gradiva.OperatorTypeError, match=r"masks.*begins with F"):
        assert moved(masks=flat).masks
    polygons = gradiva.batch([i32([[0, 0, 3]])] * 2)
    vertices = gradiva.batch([f32([[0, 0], [9, 0], [0, 9]])] * 2)
    with pytest.raises(gradiva.OperatorTypeError, match=r"polygons do not say"):
        assert moved(polygons=polygons, vertices=vertices).polygons
    backwards = [f32([[[9, 9, 20, 20]]] * 3), f32([[[9, 9, 20, 20]], [[9, 9, 8, 20]]])]
    with pytest.raises(gradiva.OperatorValueError, match=r"of 1 in frame 1(.|\n)*sample 1"):
        assert moved(boxes=gradiva.batch(backwards)).boxes
    targets = moved(boxes=gradiva.batch([one * 0 + f32([1, 1, 9, 9]) for one in backwards]))
    with pytest.raises(gradiva.OperatorTypeError, match=r"sequences of other frames"):
        gradiva.slice(images, targets, start=(1,), shape=(1,), axes=(0,))
    smaller = gradiva.resize(images, resize_x=50)
    with pytest.raises(gradiva.OperatorValueError, match=r"without these targets"):
        gradiva.flip(smaller, targets)


def test_matrices_that_do_not_say_that_they_are_of_frames() -> None:
    images, points = sequences()
    matrices = gradiva.batch([np.stack([np.eye(2, 3, dtype=np.float32)] * n) for n in FRAMES])
    warp: Any = gradiva.warp_affine
    targets = all_targets(points)
    with pytest.raises(gradiva.OperatorValueError, match="`per_frame`"):
        assert warp(images, matrices, targets)[1].boxes
    _, moved = warp(images, gradiva.per_frame(matrices), targets)
    for one, other in zip(moved.boxes, targets.boxes, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-4)


def test_what_is_no_track_is_refused() -> None:
    boxes = gradiva.batch([np.zeros((2, 1, 4), np.float32)])
    for track in (np.zeros((2, 6, 7)), np.zeros((2, 5, 8)), np.zeros((2, 6, 8, 1))):
        layout = "F" + "*" * (track.ndim - 1)
        with pytest.raises(gradiva.OperatorValueError, match="another shape"):
            operators["targets.boxes"].bind((boxes, gradiva.batch([track], layout=layout)), {})
