"""Targets through operators that bend images, of which no matrix says where pixels go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, fn, pipeline_def
from gradiva import extension as op
from gradiva.auto_aug.core import select
from gradiva.eager.operators.operator import operators
from gradiva.ops.targets.past import bends_of
from gradiva.ops.targets.track import COLUMNS

from .graphs import OPERATORS, f32, f64, i32

full = pytest.mark.full
REMAP: Any = gradiva.experimental.remap
HEIGHT, WIDTH = 96, 120
GENTLE: dict[str, Any] = {"ampl_x": 6.0, "ampl_y": 4.0, "phase_x": 0.7}


def picture(height: int = HEIGHT, width: int = WIDTH) -> Any:
    random = np.random.default_rng(height)
    values = random.integers(0, 256, (height, width, 3)).astype(np.uint8)
    return gradiva.as_tensor(values, layout="HWC")


def grid_of_points(step: int = 12) -> Any:
    ys, xs = np.mgrid[6:HEIGHT:step, 6:WIDTH:step] + 0.25
    return np.stack([xs.ravel(), ys.ravel(), np.full(xs.size, 2)], axis=1)


def sphere_source(x: Any, y: Any) -> Any:
    dx, dy = x - WIDTH / 2, y - HEIGHT / 2
    scale = np.hypot(dx, dy) / (max(WIDTH, HEIGHT) // 2)
    return WIDTH / 2 + dx * scale, HEIGHT / 2 + dy * scale


def water_source(x: Any, y: Any) -> Any:
    frequency = 0.049087387
    across = 6 * np.sin(frequency * (y - 0.5) + 0.7)
    return x - 0.5 + across, y - 0.5 + 4 * np.cos(frequency * (x - 0.5))


@pytest.mark.parametrize("name", [pytest.param("sphere", marks=full), "water"])
def test_points_come_from_where_they_were(name: str) -> None:
    """The formula of the operator, of where a point is now, gives where it was."""
    points = grid_of_points()
    targets = gradiva.Targets(keypoints=f64(points)[:, None])
    if name == "sphere":
        _, targets = gradiva.sphere(picture(), targets, interp_type="INTERP_LINEAR")
        source = sphere_source
    else:
        _, targets = gradiva.water(picture(), targets, **GENTLE, interp_type="INTERP_LINEAR")
        source = water_source
    moved = np.asarray(targets.keypoints)[:, 0]
    seen = moved[:, 2] > 0
    assert seen.mean() > 0.5
    x, y = source(moved[seen, 0], moved[seen, 1])
    np.testing.assert_allclose(x, points[seen, 0], atol=0.02)
    np.testing.assert_allclose(y, points[seen, 1], atol=0.02)
    # What is not seen comes from outside of what the image shows.
    ys, xs = np.mgrid[0 : HEIGHT + 1 : 1, 0 : WIDTH + 1 : 1]
    shown = np.stack(source(xs + 0.0, ys + 0.0), axis=2).reshape(-1, 2)
    for point in points[~seen, :2]:
        assert (moved[~seen] == 0).all()
        assert np.hypot(*(shown - point).T).min() > 0.1
    assert seen.all() or name == "sphere" or (~seen).any()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=full) for name in ("sphere", "water")] + ["remap"]
)
def test_boxes_are_those_around_masks(name: str) -> None:
    boxes = f32([[20, 20, 60, 50], [0, 0, 30, 30], [70, 40, 120, 96], [1, 1, 119, 95]])
    masks = np.zeros((4, HEIGHT, WIDTH), np.uint8)
    for mask, (left, top, right, bottom) in zip(masks, boxes.astype(int).tolist(), strict=True):
        mask[top:bottom, left:right] = 1
    targets = gradiva.Targets(boxes=boxes, masks=masks, labels=i32([1, 2, 3, 4]))
    image, targets = gradiva.rotate(picture(), targets, angle=10.0, keep_size=True)
    given: dict[str, Any] = {"scale": (0.9, 1.1), "waves": 5.0} if name == "remap" else {}
    image, targets = OPERATORS[name](image, targets, **given)
    image, targets = gradiva.flip(image, targets)
    found = np.asarray(targets.masks)
    assert found.shape == (4, HEIGHT, WIDTH)
    for mask, box in zip(found, np.asarray(targets.boxes), strict=True):
        ys, xs = np.nonzero(mask)
        around = (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1)
        assert np.abs(box - around).max() < 0.9, (box, around)


@full
def test_polygons_have_the_area_of_their_masks() -> None:
    angles = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    radii = np.random.default_rng(0).uniform(8, 25, 14)
    star = np.stack([60 + radii * np.cos(angles), 48 + radii * np.sin(angles)], axis=1)
    ys, xs = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    inside = np.zeros(xs.shape, np.bool_)
    for one, other in zip(star, np.roll(star, -1, axis=0), strict=True):
        crosses = (one[1] <= ys) != (other[1] <= ys)
        with np.errstate(divide="ignore"):
            inside ^= crosses & (
                xs < one[0] + (ys - one[1]) * (other[0] - one[0]) / (other[1] - one[1])
            )
    targets = gradiva.Targets(
        masks=inside.astype(np.uint8)[None],
        polygons=i32([[0, 0, 14]]),
        vertices=star / (WIDTH, HEIGHT),
        relative=True,
    )
    image, targets = gradiva.water(picture(), targets, **GENTLE)
    image, targets = gradiva.resize(image, targets, size=(2 * HEIGHT, 2 * WIDTH))
    vertices = np.asarray(targets.vertices) * (2 * WIDTH, 2 * HEIGHT)
    x, y = vertices.T
    area = abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
    assert abs(area - np.count_nonzero(np.asarray(targets.masks))) < 0.03 * area


def test_visibility_and_places() -> None:
    x, y = np.meshgrid(np.arange(40, dtype=np.float32), np.arange(30, dtype=np.float32))
    image = picture(30, 40)
    points = f32([[[5, 5, 2], [30, 20, 1], [20, 15, 0]]])
    targets = gradiva.Targets(keypoints=points)
    given: dict[str, Any] = {"pixel_origin": "center"}
    _, zoomed = REMAP(image, x / 2 + 10, y / 2 + 7, targets, **given)
    made = np.asarray(zoomed.keypoints)[0]
    np.testing.assert_array_equal(made[0], [0, 0, 0])  # nothing shows it
    np.testing.assert_allclose(made[1], [2 * 19.5 + 0.5, 2 * 12.5 + 0.5, 1], atol=1e-3)
    np.testing.assert_array_equal(made[2], [20, 15, 0])  # was not labeled
    # The second box is not shown, and the first to the edge of the image.
    boxes = gradiva.Targets(boxes=f32([[2, 2, 30, 20], [0, 0, 4, 4]]))
    _, zoomed = REMAP(image, x / 2 + 10, y / 2 + 7, boxes, **given)
    np.testing.assert_allclose(np.asarray(zoomed.boxes), [[0, 0, 39.5, 25.5]], atol=1e-3)
    _, left = REMAP(
        image, x / 2 + 10, y / 2 + 7, gradiva.Targets(keypoints=points[:, :2, :2]), **given
    )
    assert np.isnan(np.asarray(left.keypoints)[0, 0]).all()
    # A map that mirrors exchanges pairs.
    pairs = gradiva.Targets(keypoints=points[:, :2], keypoint_pairs=[(0, 1)])
    _, mirrored = REMAP(image, 39 - x, y, pairs, **given)
    np.testing.assert_allclose(np.asarray(mirrored.keypoints)[0, 0, :2], [10, 20], atol=1e-3)
    # The part of a box that is seen is measured.
    for least, count in ((0.54, 1), (0.55, 0)):
        some = gradiva.Targets(boxes=f32([[5, 2, 25, 22]]), min_visibility=least)
        _, some = REMAP(image, x / 2 + 10, y / 2 + 7, some, **given)
        assert len(some.boxes) == count  # 14.75 of 20 columns and rows are seen


def test_samples_that_stay() -> None:
    images = gradiva.batch([np.asarray(picture()), np.asarray(picture(50, 60))], layout="HWC")
    boxes = gradiva.batch([f32([[20, 20, 60, 50]]), f32([[5, 6, 30, 40]])])
    targets = gradiva.Targets(boxes=boxes)
    _, targets = gradiva.water(images, targets, mask=gradiva.batch(i32([1, 0])))
    moved = [np.asarray(one) for one in targets.boxes]
    assert not np.array_equal(moved[0], [[20, 20, 60, 50]])
    np.testing.assert_array_equal(moved[1], [[5, 6, 30, 40]])


def _bend(images: Any, boxes: Any, coin: Any) -> Any:
    targets = gradiva.Targets(boxes=boxes, min_visibility=0.1)
    images, targets = gradiva.random_resized_crop(images, targets, size=(64, 72), seed=3)
    images, targets = select(
        [gradiva.flip, lambda *both: gradiva.sphere(*both, fill_value=0), lambda *both: both],
        coin,
        images,
        targets,
    )
    images, targets = gradiva.rotate(images, targets, angle=9.0, keep_size=True, fill_value=0)
    images, targets = gradiva.water(images, targets, fill_value=0)
    return images, targets.boxes


@full
def test_same_in_all_modes() -> None:
    pictures = [np.asarray(picture(90 + 10 * k, 130 - 10 * k)) for k in range(4)]
    boxes = [f32([[20, 20, 60, 50], [30, 40, 80, 85]])[: k % 3] for k in range(4)]
    coins = [np.int32(k % 3) for k in range(4)]
    given = (gradiva.batch(pictures, layout="HWC"), gradiva.batch(boxes), gradiva.batch(coins))
    with gradiva.step(0, 4):
        expected = [[np.array(x) for x in one] for one in _bend(*given)]
    with gradiva.step(0, 4):
        compiled = [[np.array(x) for x in one] for one in capture.compile(_bend)(*given)]
    with gradiva.step(0, 4), gradiva.EvalMode.deferred:
        deferred = [[np.array(x) for x in one] for one in _bend(*given)]

    @pipeline_def(batch_size=4, num_threads=2)
    def build() -> Any:
        source = [(pictures, boxes, coins)]
        return _bend(*fn.external_source(source=source, num_outputs=3, layout=["HWC", "", ""]))

    pipe = build()
    piped = [[np.array(x) for x in one] for one in pipe.run()]
    for made in (compiled, deferred, piped):
        for one, other in zip(expected, made, strict=True):
            for x, y in zip(one, other, strict=True):
                np.testing.assert_array_equal(x, y)
    assert "along 5 operators" in str(pipe.explain())
    assert sum(len(one) for one in expected[1]) >= 2


@pytest.fixture
def wave() -> Any:
    """An operator of a user that bends images."""

    @op.operator("mine.wave", same_shapes=True)
    def wave(input: op.SampleType, /, **common: op.Unpack[op.Common]) -> op.SampleType:
        """Shift rows by whole pixels."""
        return input

    @wave.cpu
    def _cpu(call: op.Call) -> None:
        for sample in range(call.size):
            source = call.inputs[0].array(sample)
            call.outputs[0].array(sample)[...] = np.roll(source, 3, axis=1)

    @wave.displacement
    def _displacement(call: op.Call) -> Any:
        made = []
        for height, width in call.batch_shapes[0].shapes[:, :2].tolist():
            ys, xs = np.mgrid[:height, :width] + 0.5
            made.append(np.stack([xs - 3, ys], axis=2).astype(np.float32))
        return made

    yield wave
    dict.pop(operators, "mine.wave")


def test_extension(wave: Any) -> None:
    targets = gradiva.Targets(boxes=f32([[20, 20, 60, 50]]), keypoints=f32([[[30, 31, 2]]]))
    _, targets = wave(picture(), targets)
    np.testing.assert_allclose(np.asarray(targets.boxes), [[23, 20, 63, 50]], atol=1e-4)
    np.testing.assert_allclose(np.asarray(targets.keypoints), [[[33, 31, 2]]], atol=1e-4)

    wave.displacement(lambda call: [np.zeros((3, 4, 2), np.float32)] * call.size)
    targets = gradiva.Targets(boxes=f32([[20, 20, 60, 50]]))
    with pytest.raises(gradiva.OperatorValueError, match=r"displacement has another shape"):
        assert wave(picture(), targets)[1].boxes


def test_no_pixels_and_no_objects() -> None:
    image = gradiva.as_tensor(np.zeros((0, 5, 1), np.uint8), layout="HWC")
    targets = gradiva.Targets(boxes=np.zeros((0, 4), np.float32), keypoints=np.zeros((0, 3, 3)))
    _, targets = gradiva.sphere(image, targets)
    assert targets.boxes.shape == (0, 4)
    assert targets.keypoints.shape == (0, 3, 3)
    none = gradiva.batch(np.empty((0, 4, 4, 3), np.uint8), layout="HWC")
    targets = gradiva.Targets(boxes=gradiva.batch(np.empty((0, 1, 4), np.float32)))
    _, targets = gradiva.water(none, targets)
    assert len(targets.boxes) == 0


def test_frames() -> None:
    """A bend of a sequence, and then a turn of each frame by an angle of its own."""
    frames = gradiva.as_tensor(np.stack([np.asarray(picture())] * 3), layout="FHWC")
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    boxes, angles = f32([[20, 20, 60, 50], [30, 30, 90, 80]]), f32([0, 10, -20])
    masks = np.zeros((2, HEIGHT, WIDTH), np.uint8)
    masks[0, 20:50, 20:60] = masks[1, 30:80, 30:90] = 1
    points = f32([[[30, 30, 2]], [[50, 60, 2]]])

    def moved(image: Any, targets: Any, angle: Any) -> Any:
        maps = (x + f32(5) * np.sin(y / 20), y * f32(0.9) + 3)
        image, targets = REMAP(image, *maps, targets, pixel_origin="center")
        return gradiva.rotate(image, targets, angle=angle, keep_size=True, fill_value=0)

    given: dict[str, Any] = {"boxes": boxes, "masks": masks, "keypoints": points}
    several: dict[str, Any] = {name: np.stack([one] * 3) for name, one in given.items()}
    targets = gradiva.Targets(**several)
    _, targets = moved(frames, targets, gradiva.per_frame(gradiva.as_tensor(angles)))
    for number, angle in enumerate(angles.tolist()):
        alone: Any = gradiva.Targets(boxes=boxes, masks=masks, keypoints=points)
        _, alone = moved(picture(), alone, angle)
        for name in given:
            one, other = np.asarray(targets[name])[number], np.asarray(alone[name])
            np.testing.assert_array_equal(one, other)
    maps = [np.stack([one] * 3) for one in (x, y)]
    with pytest.raises(gradiva.OperatorTypeError, match="one map for all frames"):
        assert REMAP(frames, *maps, gradiva.Targets(boxes=np.stack([boxes] * 3)))[1].boxes
    with pytest.raises(gradiva.OperatorTypeError, match="moved in different ways"):
        assert REMAP(frames, x, y, targets)[1].boxes


def test_refused() -> None:
    targets = gradiva.Targets(boxes=f32([[20, 20, 60, 50]]), cameras=np.eye(3, dtype=np.float32))
    _, bent = gradiva.water(picture(), targets)
    with pytest.raises(gradiva.OperatorTypeError, match=r"no camera matrix.*water"):
        assert bent.cameras
    with pytest.raises(gradiva.OperatorTypeError, match=r"jitter.*random distance"):
        gradiva.jitter(picture(), targets)
    backwards = gradiva.Targets(boxes=f32([[20, 20, 10, 50]]))
    with pytest.raises(gradiva.OperatorValueError, match=r"object 0 of 1"):
        assert gradiva.water(picture(), backwards)[1].boxes
    dropped = gradiva.Targets(boxes=f32([[20, 20, 10, 50], [5, 5, 40, 40]]), invalid="drop")
    assert len(gradiva.water(picture(), dropped)[1].boxes) == 1


def test_what_is_no_past_is_refused() -> None:
    head = np.zeros((9, COLUMNS))
    head[0, :5] = 6, 1, 1, 4, 4
    assert len(bends_of(head[:8])) == 1
    wrong = [head[:7], head.reshape(-1), head[:, :7]]
    for place, value in ((0, 5), (0, 1e9), (1, -1), (2, np.nan), (3, np.inf)):
        wrong.append(head.copy())
        wrong[-1][0, place] = value
    for rows in wrong:
        with pytest.raises(gradiva.OperatorValueError, match="damaged"):
            bends_of(rows)
