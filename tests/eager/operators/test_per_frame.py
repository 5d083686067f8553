"""Arguments per frame: the bits of a call on each frame, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, fn
from gradiva.capture import compile as compile_
from gradiva.eager.operators.cases import samples
from tests.tiers import few

COUNTS = (3, 1, 4)


def videos() -> Batch:
    return samples((3, 6, 8, 3), (1, 5, 4, 3), (4, 6, 7, 3), layout="FHWC")


def numbers(low: float, high: float, *shape: int, dtype: Any = np.float32) -> list[Any]:
    """For each sample an array with a value, or values, for each frame."""
    generator = np.random.default_rng(3)
    return [generator.uniform(low, high, (count, *shape)).astype(dtype) for count in COUNTS]


def per_frame(rows: list[Any]) -> Batch:
    return gradiva.per_frame(gradiva.batch(rows))


MATRICES = [
    rows + np.array([[1, 0, 0], [0, 1, 0]], np.float32) for rows in numbers(-0.3, 0.3, 2, 3)
]
SQUARES = [rows + np.eye(3, dtype=np.float32) for rows in numbers(0.0, 0.02, 3, 3)]
CALLS: list[tuple[str, dict[str, list[Any]], dict[str, Any]]] = [
    ("brightness", {"brightness": numbers(0, 2)}, {"brightness_shift": [0.1, 0.2, 0.3]}),
    ("brightness", {"brightness": numbers(0, 2), "brightness_shift": numbers(0, 1)}, {}),
    ("contrast", {"contrast": numbers(0, 2)}, {}),
    ("contrast", {"contrast_center": numbers(0, 200)}, {"contrast": 0.5}),
    ("brightness_contrast", {"contrast": numbers(0, 2)}, {"brightness": 0.5}),
    ("color_twist", {"hue": numbers(-90, 90), "saturation": numbers(0, 2)}, {}),
    ("hsv", {"value": numbers(0, 2)}, {"hue": [10.0, 20.0, 30.0]}),
    ("hue", {"hue": numbers(-90, 90)}, {}),
    ("saturation", {"saturation": numbers(0, 2)}, {}),
    ("gaussian_blur", {"sigma": numbers(0.5, 2, 1)}, {}),
    ("gaussian_blur", {"sigma": numbers(0.5, 2, 2)}, {"window_size": 5}),
    ("laplacian", {"scale": numbers(0.5, 2, 1)}, {}),
    ("rotate", {"angle": numbers(-90, 90)}, {"keep_size": True, "fill_value": 3}),
    ("warp_affine", {"matrix": MATRICES}, {"fill_value": 3}),
    ("experimental.warp_perspective", {"matrix": SQUARES}, {"fill_value": 3}),
]


def operator_of(name: str) -> Any:
    found: Any = gradiva
    for part in name.split("."):
        found = getattr(found, part)
    return found


def same(left: Batch, right: Batch) -> None:
    assert left.type == right.type
    assert left.shape == right.shape
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("name", ["brightness", "rotate"])
def test_single_tensors(name: str) -> None:
    """A sequence of its own, and one argument for all samples of a batch: as batches give it."""
    _, frames, _ = next(call for call in CALLS if call[0] == name and len(call[1]) == 1)
    ((argument, (row, *_)),) = frames.items()
    video = videos().tensors[0]
    call, given = operator_of(name), {"keep_size": True} if name == "rotate" else {}
    pair = gradiva.batch([video, video], layout="FHWC")
    expected = call(pair, **{argument: per_frame([row, row])}, **given)
    one = gradiva.per_frame(gradiva.as_tensor(row))
    same(call(pair, **{argument: one}, **given), expected)
    for found in (
        call(video, **{argument: one}, **given),
        compile_(lambda video, one: call(video, **{argument: one}, **given))(video, one),
    ):
        assert isinstance(found, gradiva.Tensor)
        assert found.layout == "FHWC"
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected.tensors[0]))
    wrong = gradiva.per_frame(gradiva.as_tensor(row[:2]))
    with pytest.raises(gradiva.OperatorValueError, match="as many values as frames, 3"):
        call(video, **{argument: wrong}, **given)


@pytest.mark.parametrize("made", few(CALLS, count=5), ids=lambda made: made[0])
def test_each_frame(made: tuple[str, dict[str, Any], dict[str, Any]]) -> None:
    """Eagerly as frame by frame; in a pipeline and compiled the same bits."""
    name, rows, others = made
    operator, given = operator_of(name), {key: per_frame(value) for key, value in rows.items()}
    whole = operator(videos(), **given, **others)
    assert whole.layout == "FHWC"
    assert whole.shape == videos().shape
    for sample, frames in enumerate(videos()):
        for number, frame in enumerate(np.asarray(frames)):
            image = gradiva.batch([frame], layout="HWC")
            one: dict[str, Any] = {
                key: gradiva.batch([value[sample][number]]) for key, value in rows.items()
            }
            one |= {
                key: value[sample : sample + 1] if isinstance(value, list) else value
                for key, value in others.items()
            }
            expected = operator(image, **one)
            np.testing.assert_array_equal(whole.at(sample)[number], expected.at(0))

    fed = {key: gradiva.batch(value) for key, value in others.items() if isinstance(value, list)}
    plain = {key: value for key, value in others.items() if key not in fed}

    @gradiva.pipeline_def(batch_size=3, num_threads=2)
    def pipeline() -> Any:
        source = [(videos(), *(gradiva.batch(value) for value in rows.values()), *fed.values())]
        made = fn.external_source(source, num_outputs=len(source[0]), cycle=True)
        keywords = {key: fn.per_frame(node) for key, node in zip(rows, made[1:], strict=False)}
        keywords |= dict(zip(fed, made[1 + len(rows) :], strict=True))
        result = operator(made[0], **keywords, **plain)
        # Into a fused group, where there can be one.
        return result, gradiva.flip(fn.brightness(result, brightness=0.5))

    first, second = pipeline().run()
    same(first, whole)
    same(second, gradiva.flip(gradiva.brightness(whole, brightness=0.5)))
    fast = compile_(lambda images, **keywords: operator(images, **keywords, **plain))
    same(fast(videos(), **given, **fed), whole)


def test_inputs_per_frame() -> None:
    """A matrix that is an input; a value for all frames of a sample; threads."""
    expected = gradiva.warp_affine(videos(), matrix=per_frame(MATRICES))
    same(gradiva.warp_affine(videos(), per_frame(MATRICES)), expected)
    alone = per_frame(
        [np.array([2], np.float32), np.array([1], np.float32), np.array([0.5], np.float32)]
    )
    same(
        gradiva.brightness(videos(), brightness=alone),
        gradiva.brightness(videos(), brightness=[2, 1, 0.5]),
    )
    for threads in (1, 3):
        gradiva.set_num_threads(threads)
        same(gradiva.warp_affine(videos(), per_frame(MATRICES)), expected)
    gradiva.set_num_threads(None)


def test_frames_of_one_size() -> None:
    """Frames that are turned by different angles get the largest size of any."""
    angles = per_frame(
        [
            np.array([0, 90, 45], np.float32),
            np.array([0], np.float32),
            np.array([0, 0, 90, 90], np.float32),
        ]
    )
    turned = gradiva.rotate(videos(), angle=angles)
    assert turned.shape[1:] == [(1, 5, 4, 3), (4, 7, 7, 3)]
    frame = gradiva.batch([videos().at(0)[2]], layout="HWC")
    size = turned.shape[0][1:3]
    np.testing.assert_array_equal(turned.at(0)[2], gradiva.rotate(frame, angle=45, size=size).at(0))


def test_sequences_of_transforms() -> None:
    angles = per_frame(numbers(-90, 90))
    turns = gradiva.transforms.rotation(angle=angles, center=(1, 2))
    assert turns.layout == "F**"
    assert turns.shape == [(count, 2, 3) for count in COUNTS]
    for sample, count in enumerate(COUNTS):
        for frame in range(count):
            angle = float(np.asarray(angles.at(sample))[frame])
            one = gradiva.transforms.rotation(angle=angle, center=(1, 2))
            np.testing.assert_array_equal(turns.at(sample)[frame], np.asarray(one))
    bigger = gradiva.transforms.scale(turns, scale=per_frame(numbers(1, 2, 2)))
    assert bigger.shape == turns.shape
    both = gradiva.transforms.combine(turns, gradiva.transforms.scale(scale=(2, 3)))
    warped = gradiva.warp_affine(videos(), both, size=(4, 5))
    assert warped.shape == [(count, 4, 5, 3) for count in COUNTS]
    points = gradiva.batch([np.ones((5, 2), np.float32)] * 3)
    assert gradiva.coord_transform(points, MT=turns).shape == [(count, 5, 2) for count in COUNTS]

    @gradiva.pipeline_def(batch_size=3, num_threads=1)
    def pipeline() -> Any:
        source = [(videos(), gradiva.batch(numbers(-90, 90)))]
        frames, given = fn.external_source(source, num_outputs=2, cycle=True)
        turned = fn.transforms.rotation(angle=fn.per_frame(given), center=(1, 2))
        return turned, fn.warp_affine(frames, turned, fill_value=0)

    matrices, images = pipeline().run()
    same(matrices, turns)
    same(images, gradiva.warp_affine(videos(), turns, fill_value=0))


def test_empty_sequences() -> None:
    none = gradiva.batch([np.zeros((0, 4, 5, 3), np.uint8)] * 2, layout="FHWC")
    values = gradiva.per_frame(gradiva.batch([np.zeros(0, np.float32)] * 2))
    assert gradiva.brightness(none, brightness=values).shape == [(0, 4, 5, 3)] * 2


def test_errors() -> None:
    short = per_frame(
        [np.array([1, 2, 3], np.float32), np.array([1], np.float32), np.array([1, 2], np.float32)]
    )
    with pytest.raises(
        gradiva.OperatorValueError,
        match=r"(?s)brightness: argument `brightness`: expected as many values as frames, 4, or "
        r"one, got 2.*in sample 2.*test_per_frame.py",
    ):
        gradiva.brightness(videos(), brightness=short)
    with pytest.raises(gradiva.OperatorTypeError, match="`angle`: values per frame need a seq"):
        gradiva.rotate(samples((4, 5, 3), (4, 5, 3), (4, 5, 3)), angle=short)
    with pytest.raises(gradiva.OperatorValueError, match="input 1 is given per frame"):
        gradiva.warp_affine(videos(), per_frame([rows[:2] for rows in MATRICES]))
    bad = numbers(0, 2)
    bad[2][1] = np.nan
    with pytest.raises(gradiva.OperatorValueError, match=r"(?s)`angle`.*in sample 2"):
        gradiva.rotate(videos(), angle=per_frame(bad))
    with pytest.raises(gradiva.OperatorValueError, match="`horizontal`"):
        gradiva.flip(videos(), horizontal=per_frame([np.array([1, 0, 1], np.int32)] * 3))


PLANES: list[tuple[str, dict[str, list[Any]], dict[str, Any]]] = [
    ("gaussian_blur", {"sigma": numbers(0.5, 2)}, {}),
    ("gaussian_blur", {"sigma": numbers(0.5, 2, 2)}, {"dtype": gradiva.float32}),
    ("gaussian_blur", {"window_size": [np.array(row) for row in ([3, 5, 1], [7], [1, 3, 5, 7])]},
     {}),
    ("gaussian_blur", {"sigma": [row[:1] for row in numbers(0.5, 2)]}, {}),
    ("laplacian", {"scale": numbers(0.1, 0.5, 1)}, {"dtype": gradiva.float32}),
    ("laplacian", {"window_size": [np.array(row) for row in ([3, 5, 7], [7], [5, 3, 5, 7])]}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows", "others"), PLANES)
@pytest.mark.parametrize("mode", ["eager", "pipeline"])
def test_frames_behind_the_channels(
    name: str, rows: dict[str, Any], others: dict[str, Any], mode: str
) -> None:
    """CFHW is computed as FCHW is, where each channel is taken alone."""
    operator = getattr(gradiva, name)
    given = {key: per_frame(value) for key, value in rows.items()}
    planes = gradiva.transpose(videos(), perm=[3, 0, 1, 2])
    assert planes.layout == "CFHW"
    wanted = operator(gradiva.transpose(videos(), perm=[0, 3, 1, 2]), **given, **others)
    if mode == "eager":
        found = operator(planes, **given, **others)
    else:

        @gradiva.pipeline_def(batch_size=3, num_threads=2)
        def pipeline() -> Any:
            source = [(planes, *(gradiva.batch(value) for value in rows.values()))]
            data, *values = fn.external_source(source, num_outputs=1 + len(rows))
            marked = {key: fn.per_frame(one) for key, one in zip(rows, values, strict=True)}
            return getattr(fn, name)(data, **marked, **others)

        (found,) = pipeline().run()
    assert [one.shape for one in found] == planes.shape
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other).transpose(1, 0, 2, 3))


def test_frames_behind_channels_that_belong_together() -> None:
    planes = gradiva.transpose(videos(), perm=[3, 0, 1, 2])
    with pytest.raises(gradiva.OperatorTypeError, match="values per frame need a sequence"):
        gradiva.hue(planes, hue=per_frame(numbers(0, 90)))
    with pytest.raises(gradiva.OperatorValueError, match="as many values as frames, 3, or one"):
        gradiva.gaussian_blur(planes, sigma=per_frame([np.array([1, 2], np.float32)] * 3))
    none = gradiva.batch([np.zeros((3, 0, 4, 5), np.uint8)] * 2, layout="CFHW")
    values = per_frame([np.zeros(0, np.float32)] * 2)
    assert gradiva.gaussian_blur(none, sigma=values).shape == [(3, 0, 4, 5)] * 2


def test_frames_that_turn_by_angles_of_their_own_are_in_the_middle() -> None:
    """All frames get the size of the largest: each is turned about the middle of that."""
    video = np.random.default_rng(0).integers(0, 256, (3, 20, 31, 3), np.uint8)
    angles = [10.0, 90.0, -40.0]
    turned = gradiva.rotate(
        gradiva.batch([video], layout="FHWC"),
        angle=gradiva.per_frame(gradiva.batch([np.array(angles, np.float32)])),
        fill_value=0,
    ).at(0)
    for frame, angle, made in zip(video, angles, turned, strict=True):
        alone = gradiva.rotate(frame, angle=angle, size=made.shape[:2], fill_value=0)
        np.testing.assert_array_equal(made, np.asarray(alone))
