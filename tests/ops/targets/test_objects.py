"""What `Targets` hold: formats, policies, what belongs to objects, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Targets

from .graphs import f32, f64, i32

IMAGE = np.zeros((60, 80, 3), np.uint8)
BOXES = np.array([[10, 20, 30, 40], [50, 5, 70, 25], [0, 50, 8, 60]], np.float32)


def batch(*arrays: Any) -> gradiva.Batch:
    return gradiva.batch(list(arrays))


def images(*sizes: tuple[int, int]) -> gradiva.Batch:
    return gradiva.batch([np.zeros((*size, 3), np.uint8) for size in sizes], layout="HWC")


def as_lists(value: Any) -> Any:
    return np.asarray(value).tolist()


def in_format(boxes: Any, name: str) -> Any:
    """Corners in another format."""
    low, high = boxes[:, :2], boxes[:, 2:]
    if name == "xyxy":
        return boxes
    return np.hstack([low if name == "xywh" else (low + high) / 2, high - low])


@pytest.mark.parametrize("name", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("relative", [False, True])
def test_formats(name: str, relative: bool) -> None:
    """They stay in the format that they came in, and in parts of the image as it is now."""
    scale = f32([80, 60, 80, 60]) if relative else f32([1, 1, 1, 1])
    given = in_format(BOXES, name) / scale
    targets = Targets(boxes=given, format=name, relative=relative)
    _, targets = gradiva.flip(IMAGE, targets, horizontal=1, vertical=1)
    turned = np.array([80, 60, 80, 60]) - BOXES[:, [2, 3, 0, 1]]
    np.testing.assert_allclose(targets.boxes, in_format(turned, name) / scale, atol=1e-5)
    _, targets = gradiva.resize(IMAGE, targets, size=(30, 160))
    larger = turned * [2, 0.5, 2, 0.5]
    scale = f32([160, 30, 160, 30]) if relative else scale
    np.testing.assert_allclose(targets.boxes, in_format(larger, name) / scale, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    targets = Targets(boxes=BOXES.astype(dtype))
    _, targets = gradiva.flip(IMAGE, targets)
    assert str(targets.boxes.dtype) == ("float64" if dtype == "float64" else "float32")
    assert as_lists(targets.boxes)[0] == [50, 20, 70, 40]


def test_what_is_left_out_takes_all_with_it() -> None:
    targets = Targets(
        boxes=batch(BOXES, BOXES[:0]),
        labels=batch(i32([1, 2, 3]), i32([])),
        keypoints=batch(np.ones((3, 2, 3), np.float32), np.ones((0, 2, 3), np.float32)),
        masks=batch(np.ones((3, 60, 80), np.bool_), np.ones((0, 9, 9), np.bool_)),
        polygons=batch(i32([[0, 0, 3], [1, 3, 6], [2, 6, 9]]), np.zeros((0, 3), np.int32)),
        vertices=batch(
            f32(
                [[10, 20], [30, 20], [30, 40]] * 1
                + [[50, 5], [70, 5], [70, 25]]
                + [[0, 50], [8, 50], [8, 60]]
            ),
            np.zeros((0, 2), np.float32),
        ),
        columns={"score": batch(f64([0.5, 0.25, 0.125]), f64([]))},
    )
    _, targets = gradiva.crop(
        images((60, 80), (9, 9)),
        targets,
        crop_h=[30, 5],
        crop_w=[40, 5],
        crop_pos_x=[1, 0],
        crop_pos_y=0,
    )
    assert as_lists(targets.boxes.at(0)) == [[10, 5, 30, 25]]
    assert as_lists(targets.labels.at(0)) == [2]
    assert as_lists(targets["score"].at(0)) == [0.25]
    assert as_lists(targets.polygons.at(0)) == [[0, 0, 3]]
    assert as_lists(targets.vertices.at(0)) == [[10, 5], [30, 5], [30, 25]]
    assert [one.shape for one in targets.masks] == [(1, 30, 40), (0, 5, 5)]
    assert [one.shape for one in targets.keypoints] == [(1, 2, 3), (0, 2, 3)]
    assert [one.shape for one in targets.boxes] == [(1, 4), (0, 4)]
    assert [one.shape for one in targets.vertices] == [(3, 2), (0, 2)]
    assert [one.shape for one in targets.polygons] == [(1, 3), (0, 3)]
    assert [one.shape for one in targets["score"]] == [(1,), (0,)]


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ({}, [0, 1]),
        ({"min_visibility": 0.5}, [1]),
        ({"min_visibility": 0.24}, [0, 1]),
        ({"min_area": 101}, [1]),
        ({"min_size": 10.5}, [1]),
        ({"drop": False}, [0, 1, 2]),
    ],
)
def test_policies(policy: dict[str, Any], left: list[int]) -> None:
    """A quarter of the first box, all of the second and nothing of the third are left."""
    targets = Targets(boxes=BOXES, labels=np.arange(3), **policy)
    _, targets = gradiva.slice(IMAGE, targets, start=(0, 20), end=(30, 80), axis_names="HW")
    assert as_lists(targets.labels) == left
    assert as_lists(targets.boxes)[left.index(1)] == [30, 5, 50, 25]


def test_clip_at_what_is_left() -> None:
    """After a crop and a larger canvas, boxes end where the crop ended."""
    for clip in (True, False):
        targets = Targets(boxes=BOXES[:1], clip=clip)
        image, targets = gradiva.slice(IMAGE, targets, start=(0, 20), end=(30, 80), axis_names="HW")
        image, targets = gradiva.paste(image, targets, ratio=2, fill_value=0)
        expected = [30, 35, 40, 45] if clip else [20, 35, 40, 55]
        assert as_lists(targets.boxes) == [expected]


def test_visibility_is_exact_after_rotations() -> None:
    """Half of a square that is turned about its center, by a cut through that."""
    targets = Targets(boxes=f32([[20, 10, 60, 50]]), min_visibility=0.5 + 1e-6)
    image, targets = gradiva.rotate(IMAGE, targets, angle=33.0, keep_size=True)
    image, lost = gradiva.slice(image, targets, start=0, end=40, axis_names="W")
    assert lost.boxes.shape == (0, 4)
    _, kept = gradiva.slice(image, lost, start=0, end=39, axis_names="W")
    assert kept.boxes.shape == (0, 4)


def test_keypoints() -> None:
    points = f32([[[10, 20, 2], [79, 59, 1]], [[0, 0, 0], [5, 5, 2]]])
    targets = Targets(keypoints=points, pixel_origin="center", keypoint_pairs=[(0, 1)])
    _, turned = gradiva.flip(IMAGE, targets, horizontal=1)
    assert as_lists(turned.keypoints) == [[[0, 59, 1], [69, 20, 2]], [[74, 5, 2], [0, 0, 0]]]
    _, upright = gradiva.flip(IMAGE, targets, horizontal=1, vertical=1)
    assert as_lists(upright.keypoints) == [[[69, 39, 2], [0, 0, 1]], [[0, 0, 0], [74, 54, 2]]]
    _, cut = gradiva.crop(IMAGE, targets, crop=(30, 40), crop_pos_x=0, crop_pos_y=0)
    assert as_lists(cut.keypoints) == [[[10, 20, 2], [79, 59, 0]], [[0, 0, 0], [5, 5, 2]]]
    flat = Targets(keypoints=points[0, :, :2], relative=False)
    _, flat = gradiva.flip(IMAGE, flat)
    assert as_lists(flat.keypoints) == [[70, 20], [1, 59]]


def test_volumes() -> None:
    volume = gradiva.as_tensor(np.zeros((10, 20, 30, 1), np.uint8), layout="DHWC")
    masks = np.zeros((1, 10, 20, 30), np.uint8)
    masks[0, 1:4, 2:6, 3:9] = 1
    targets = Targets(boxes=f32([[3, 2, 1, 9, 6, 4]]), keypoints=f32([[[3, 2, 1, 2]]]), masks=masks)
    volume, targets = gradiva.flip(volume, targets, depthwise=1, horizontal=1)
    assert as_lists(targets.boxes) == [[21, 2, 6, 27, 6, 9]]
    assert as_lists(targets.keypoints) == [[[27, 2, 9, 2]]]
    volume, targets = gradiva.crop(volume, targets, crop=(5, 20, 20), crop_pos_x=1, crop_pos_z=1)
    assert as_lists(targets.boxes) == [[11, 2, 1, 17, 6, 4]]
    mask = np.asarray(targets.masks)
    assert mask.shape == (1, 5, 20, 20)
    np.testing.assert_array_equal(np.argwhere(mask[0])[[0, -1]], [[1, 2, 11], [3, 5, 16]])


def test_sequences() -> None:
    frames = gradiva.as_tensor(np.zeros((4, 60, 80, 3), np.uint8), layout="FHWC")
    targets = Targets(boxes=BOXES, columns={"frame": i32([0, 2, 3])})
    frames, targets = gradiva.resize(frames, targets, size=(30, 40))
    assert as_lists(targets.boxes) == (BOXES / 2).tolist()
    assert as_lists(targets["frame"]) == [0, 2, 3]
    angles = gradiva.per_frame(f32([10, 20, 30, 40]))
    _, targets = gradiva.rotate(frames, targets, angle=angles)
    with pytest.raises(gradiva.OperatorTypeError, match=r"boxes need an axis of frames"):
        assert targets.boxes


def test_objects_in_each_frame() -> None:
    """An object that is seen in one of the frames is left; labels belong to objects."""
    frames = gradiva.as_tensor(np.zeros((2, 60, 80, 3), np.uint8), layout="FHWC")
    boxes = np.stack([BOXES, BOXES + f32([0, -5, 0, -5])])
    boxes[1, 2] = [50, 50, 60, 60]
    points = np.concatenate([boxes[:, :, None, :2] + 1, np.full((2, 3, 1, 1), 2, np.float32)], 3)
    masks = np.zeros((2, 3, 60, 80), np.uint8)
    masks[1, 2, 50:60, 50:60] = 1
    targets = Targets(boxes=boxes, labels=i32([1, 2, 3]), keypoints=points, masks=masks)
    frames, targets = gradiva.slice(frames, targets, start=40, end=80, axis_names="W")
    assert as_lists(targets.labels) == [2, 3]
    assert as_lists(targets.boxes) == [
        [[10, 5, 30, 25], [0, 0, 0, 0]],
        [[10, 0, 30, 20], [10, 50, 20, 60]],
    ]
    assert as_lists(targets.keypoints) == [
        [[[11, 6, 2]], [[-39, 51, 0]]],
        [[[11, 1, 2]], [[11, 51, 2]]],
    ]
    made = np.asarray(targets.masks)
    assert made.shape == (2, 2, 60, 40)
    assert np.argwhere(made).tolist()[0] == [1, 1, 50, 10]
    assert made.sum() == 100


def test_cameras() -> None:
    """A point in space is seen where its picture is."""
    camera = f64([[100, 0, 40], [0, 100, 30], [0, 0, 1]])
    point = f64([0.1, -0.05, 1])
    seen = camera @ point
    targets = Targets(cameras=camera, keypoints=seen[None, :2])
    image, targets = gradiva.resize(IMAGE, targets, size=(90, 100))
    image, targets = gradiva.rotate(image, targets, angle=20.0)
    _, targets = gradiva.crop(image, targets, crop=(50, 50))
    made = np.asarray(targets.cameras) @ point
    np.testing.assert_allclose(made[:2] / made[2], np.asarray(targets.keypoints)[0], atol=1e-9)


def test_nested_and_shared() -> None:
    one, two = Targets(boxes=BOXES), Targets(keypoints=BOXES[:, None, :2])
    image, made = gradiva.flip(IMAGE, {"a": one, "b": (two, [one])})
    assert image.shape == IMAGE.shape
    assert as_lists(made["a"].boxes) == as_lists(made["b"][1][0].boxes)
    assert type(made["b"]) is tuple
    image, first, second = gradiva.flip(IMAGE, one, two)  # type: ignore[call-overload]
    assert as_lists(first.boxes)[0] == [50, 20, 70, 40]
    assert as_lists(second.keypoints)[0] == [[70, 20]]


def test_reading_changes_nothing() -> None:
    targets = Targets(boxes=BOXES.astype(np.float64) / 3)
    image, looked = gradiva.rotate(IMAGE, targets, angle=10.0)
    before = np.array(looked.boxes)
    for one in (looked, targets):
        again, made = (image, one) if one is looked else gradiva.rotate(IMAGE, one, angle=10.0)
        _, made = gradiva.rotate(again, made, angle=-10.0)
        result = np.array(made.boxes)
    np.testing.assert_array_equal(before, looked.boxes)
    _, straight = gradiva.rotate(image, looked, angle=-10.0)
    np.testing.assert_array_equal(result, straight.boxes)


def test_transform() -> None:
    import functools

    targets = Targets(boxes=BOXES)
    image, made = gradiva.transform(
        IMAGE,
        targets,
        ops=[
            gradiva.flip,
            (gradiva.resize, {"size": (120, 160)}),
            functools.partial(gradiva.crop, crop=(60, 80), crop_pos_x=0.0, crop_pos_y=0.0),
            gradiva.equalize,
            lambda images, targets: gradiva.flip(images, targets, horizontal=0, vertical=1),
        ],
    )
    assert image.shape == (60, 80, 3)
    assert as_lists(made.boxes) == [[20, 10, 60, 50]]
    with pytest.raises(gradiva.OperatorTypeError, match="at place 1"):
        gradiva.transform(IMAGE, targets, ops=[gradiva.flip, "flip"])
    with pytest.raises(gradiva.OperatorTypeError, match="returns images and targets"):
        gradiva.transform(IMAGE, targets, ops=[lambda images, targets: images])


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        ([[1, 2, 3, 4], [5, 5, 4, 9]], "object 1 of 2.*sample 1"),
        ([[1, 2, 1, 4]], "object 0 of 1.*an area"),
        ([[1, 2, np.nan, 4]], "object 0 of 1.*finite"),
        ([[1, 2, 3, 4], [80, 2, 90, 9]], "object 1 of 2.*outside"),
        ([[1, 2, 3]], r"`boxes`.*\(n, 4\)"),
    ],
)
def test_bad_boxes(boxes: Any, expected: str) -> None:
    given = batch(BOXES, np.array(boxes, np.float32))
    if len(boxes[0]) == 4:
        _, fine = gradiva.flip(images((60, 80), (60, 80)), Targets(boxes=given, invalid="drop"))
        assert len(fine.boxes.at(1)) == len(boxes) - 1
    _, targets = gradiva.flip(images((60, 80), (60, 80)), Targets(boxes=given))
    with pytest.raises(gradiva.OperatorValueError, match="boxes") as caught:
        np.asarray(targets.boxes)
    assert "sample 1" in str(caught.value)
    import re

    assert re.search(expected, str(caught.value).replace("\n", " ")), str(caught.value)


def test_errors() -> None:
    _, targets = gradiva.flip(
        IMAGE,
        Targets(
            boxes=BOXES,
            labels=np.arange(2),
            masks=np.zeros((3, 60, 70), np.uint8),
            keypoints=np.zeros((2, 5, 3), np.float32),
            polygons=i32([[0, 0, 9]]),
            vertices=np.zeros((4, 2), np.float32),
            cameras=np.zeros((2, 2), np.float32),
        ),
    )
    for name, text in (
        ("labels", "`labels`: expected 3, one for each box, got 2"),
        ("masks", r"`masks`: masks of another size; expected the size of the image, \(60, 80\)"),
        ("keypoints", "`keypoints`: expected 3"),
        ("polygons", "polygon 0 of 1"),
        ("cameras", r"\(3, 3\) or \(3, 4\)"),
    ):
        with pytest.raises(gradiva.OperatorValueError, match=text):
            targets[name]
    with pytest.raises(AttributeError, match="they hold boxes"):
        _ = Targets(boxes=BOXES).labels
    with pytest.raises(gradiva.OperatorTypeError, match="hold something"):
        Targets()
    with pytest.raises(gradiva.OperatorValueError, match="'xyxy'"):
        Targets(boxes=BOXES, format="yxyx")
    with pytest.raises(gradiva.OperatorValueError, match="min_visibility"):
        Targets(boxes=BOXES, min_visibility=2)
    with pytest.raises(gradiva.OperatorTypeError, match="vertices"):
        Targets(polygons=i32([[0, 0, 1]]))
    with pytest.raises(gradiva.OperatorValueError, match="columns"):
        Targets(boxes=BOXES, columns={"labels": [1]})


@pytest.mark.parametrize("name", ["jitter", "multi_paste"])
def test_operators_without_a_map(name: str) -> None:
    with pytest.raises(gradiva.OperatorTypeError, match=f"{name}: the operator cannot move"):
        getattr(gradiva, name)(IMAGE, Targets(boxes=BOXES))


def test_targets_in_other_places() -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="behind the images"):
        gradiva.flip(Targets(boxes=BOXES), IMAGE)  # type: ignore[call-overload]


def test_turned_volumes() -> None:
    """Masks and points of volumes turn about any axis."""
    random = np.random.default_rng(2)
    masks = (random.random((2, 12, 20, 24)) < 0.5).astype(np.uint8)
    volume = gradiva.as_tensor(masks.transpose(1, 2, 3, 0).copy(), layout="DHWC")
    targets = Targets(masks=masks, keypoints=f32([[[12, 10, 6, 2], [15, 10, 6, 2]]]))
    options: Any = {"angle": 90.0, "axis": (0, 0, 1), "interp_type": "INTERP_NN", "fill_value": 0}
    volume, targets = gradiva.rotate(volume, targets, **options)
    np.testing.assert_array_equal(targets.masks, np.asarray(volume).transpose(3, 0, 1, 2))
    center = [extent / 2 for extent in np.asarray(volume).shape[2::-1]]
    points = np.asarray(targets.keypoints)[0]
    np.testing.assert_allclose(points[0, :3], center, atol=1e-5)
    assert np.linalg.norm(points[1, :3] - center) == pytest.approx(3)


def test_planes_and_windows_beyond_the_image() -> None:
    planes = gradiva.as_tensor(np.zeros((3, 60, 80), np.uint8), layout="CHW")
    planes, targets = gradiva.resize(planes, Targets(boxes=BOXES), size=(120, 40))
    planes, targets = gradiva.crop(
        planes, targets, crop=(200, 100), out_of_bounds_policy="pad", fill_values=0
    )
    np.testing.assert_allclose(targets.boxes, BOXES * [0.5, 2, 0.5, 2] + [30, 40, 30, 40])
    transposed, targets = gradiva.transpose(planes, targets, perm=(1, 2, 0))
    assert transposed.layout == "HWC"
    np.testing.assert_allclose(targets.boxes, BOXES * [0.5, 2, 0.5, 2] + [30, 40, 30, 40])
    with pytest.raises(gradiva.OperatorValueError, match="height, width and depth"):
        gradiva.transpose(transposed, targets, perm=(0, 2, 1), transpose_layout=False)


def test_pads_to_the_largest_of_the_batch() -> None:
    both = images((60, 80), (70, 50))
    _, targets = gradiva.pad(both, Targets(boxes=batch(BOXES, BOXES[:1] / 2), relative=False))
    _, targets = gradiva.flip(gradiva.pad(both), targets)
    assert as_lists(targets.boxes.at(0))[0] == [50, 20, 70, 40]
    assert as_lists(targets.boxes.at(1)) == [[65, 10, 75, 20]]


def test_empty_batches() -> None:
    nothing = gradiva.batch(np.empty((0, 4, 4, 3), np.uint8), layout="HWC")
    targets = Targets(
        boxes=gradiva.batch(np.empty((0, 2, 4), np.float32)),
        labels=gradiva.batch(np.empty((0, 2), np.int32)),
    )
    nothing, targets = gradiva.flip(nothing, targets)
    nothing, targets = gradiva.resize(nothing, targets, size=(5, 5))
    assert len(targets.boxes) == len(targets.labels) == 0


def test_matrices_behind_the_images() -> None:
    """A second input stands between the images and the targets."""
    both = images((60, 80), (60, 80))
    angles = gradiva.batch([np.float32(0), np.float32(90)])
    matrices = gradiva.transforms.rotation(angle=angles, center=(40, 30))
    options: Any = {"inverse_map": False, "fill_value": 0}
    _, targets = gradiva.warp_affine(  # type: ignore[call-overload]
        both, matrices, Targets(boxes=BOXES[:1], drop=False), **options
    )
    assert as_lists(targets.boxes.at(0)) == [[10, 20, 30, 40]]
    np.testing.assert_allclose(targets.boxes.at(1), [[30, 0, 50, 20]], atol=1e-4)
    _, same = gradiva.warp_affine(both, Targets(boxes=BOXES[:1]), matrix=matrices, **options)
    np.testing.assert_array_equal(same.boxes.at(1), targets.boxes.at(1))


def test_several_outputs_and_sets() -> None:
    targets = Targets(boxes=BOXES)
    image, size, made = gradiva.resize(IMAGE, targets, size=(30, 40), save_attrs=True)
    assert (image.shape, as_lists(size)) == ((30, 40, 3), [60, 80])
    assert as_lists(made.boxes) == (BOXES / 2).tolist()
    one = images((60, 80))
    with pytest.raises(gradiva.OperatorTypeError, match="one batch of images"):
        gradiva.flip([one, one], targets)  # type: ignore[call-overload]
    listed = Targets(boxes=[BOXES, BOXES[:0]], labels=[i32([1, 2, 3]), i32([])])
    made = gradiva.flip([IMAGE, IMAGE], listed)
    assert [one.shape for one in made[1].boxes] == [(3, 4), (0, 4)]
    assert [one.shape for one in made[1].labels] == [(3,), (0,)]


@pytest.mark.parametrize("layout", ["", "FHW", "CHW"])
def test_masks_of_any_layout_are_dropped_with_their_objects(layout: str) -> None:
    images = gradiva.batch([np.zeros((20, 40, 3), np.uint8)] * 2, layout="HWC")
    planes = np.zeros((2, 20, 40), np.uint8)
    planes[0, 4:9, 4:9] = planes[1, 4:9, 30:36] = 1
    boxes = np.array([[4, 4, 9, 9], [30, 4, 36, 9]], np.float32)
    targets = gradiva.Targets(
        boxes=gradiva.batch([boxes[:1], boxes]),
        masks=gradiva.batch([planes[:1], planes], layout=layout),
    )
    _, left = gradiva.slice(images, targets, start=0, end=20, axis_names="W")
    assert [one.shape for one in left.masks.arrays()] == [(1, 20, 20)] * 2
    _, right = gradiva.slice(images, targets, start=20, end=40, axis_names="W")
    assert [one.shape for one in right.masks.arrays()] == [(0, 20, 20), (1, 20, 20)]
    assert right.masks.at(1).sum() == 30
