"""Operators on boxes against DALI: cases are in test_cases.py, here drawn arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import Batch, GradivaError, batch

from .pictures import Array
from .reference import REFUSALS, assert_close, reference

FEW = settings(max_examples=12, deadline=None)


def boxes(seed: int, counts: tuple[int, ...] = (5, 0, 1), sized: bool = False) -> Batch:
    """Boxes inside the unit square."""
    generator = np.random.default_rng(seed)
    found = []
    for count in counts:
        corners = np.sort(generator.random((count, 2, 2)), axis=1).reshape(count, 4)
        if sized:
            corners[:, 2:] -= corners[:, :2]
        found.append(corners.astype(np.float32))
    return batch(found)


def labels(counts: tuple[int, ...] = (5, 0, 1)) -> Batch:
    return batch([np.arange(1, count + 1, dtype=np.int32) * 3 for count in counts])


@FEW
@given(st.integers(0, 999), st.booleans(), st.tuples(*[st.integers(0, 2)] * 3), st.integers(0, 1))
def test_bb_flip(seed: int, ltrb: bool, horizontal: tuple[int, ...], vertical: int) -> None:
    given = boxes(seed, sized=not ltrb)
    arguments: dict[str, Any] = {
        "ltrb": ltrb,
        "horizontal": np.array(horizontal),
        "vertical": vertical,
    }
    ours, theirs = gradiva.bb_flip(given, **arguments), reference("bb_flip", [given], **arguments)
    assert_close(ours, theirs, exact=False)


@FEW
@given(st.integers(0, 999), st.booleans(), st.floats(1, 9, width=32), st.floats(0, 1, width=32))
def test_bbox_paste(seed: int, ltrb: bool, ratio: float, place: float) -> None:
    given = boxes(seed, sized=not ltrb)
    arguments: dict[str, Any] = {
        "ltrb": ltrb,
        "ratio": np.array([ratio, 1, 2], np.float32),
        "paste_x": place,
    }
    theirs = reference("bbox_paste", [given], **arguments)
    assert_close(gradiva.bbox_paste(given, **arguments), theirs, exact=False)


@FEW
@given(
    st.integers(0, 999),
    st.lists(
        st.floats(-400, 400, width=32) | st.sampled_from([0.0, 45, 90, 180, -270]),
        min_size=3,
        max_size=3,
    ),
    st.sampled_from(["expand", "halfway", "fixed"]),
    st.sampled_from(["xyXY", "xyWH"]),
    st.sampled_from(["keep", "size", ""]),
    st.booleans(),
    st.sampled_from([0.05, 0.4, 0.9]),
)
def test_bbox_rotate(
    seed: int, angles: list[float], mode: str, layout: str, canvas: str, pixels: bool, least: float
) -> None:
    if mode != "expand":
        # Whether sides are exchanged at 45 degrees is decided there by the last digit.
        angles = [angle if abs(abs(angle) % 90 - 45) > 1e-3 else 44.0 for angle in angles]
    shapes = np.random.default_rng(seed).integers(1, 70, (3, 2))
    given = boxes(seed, sized=layout == "xyWH")
    if pixels:
        wide = [np.tile(shape[::-1], 2).astype(np.float32) for shape in shapes]
        given = batch([given.at(i) * wide[i] for i in range(3)])
    arguments: dict[str, Any] = {
        "angle": np.array(angles, np.float32),
        "input_shape": shapes,
        "mode": mode,
        "bbox_layout": layout,
        "bbox_normalized": not pixels,
        "remove_threshold": least,
    }
    if canvas == "keep":
        arguments["keep_size"] = True
    elif canvas:
        arguments["size"] = (30.0, 41.0)
    ours: Any = gradiva.bbox_rotate(given, labels(), **arguments)
    expected = reference("bbox_rotate", [given, labels()], outputs=2, **arguments)
    for i in range(3):
        np.testing.assert_array_equal(ours[1].at(i), expected[1][i])
    assert_close(ours[0], expected[0], exact=False, layout=False)


@FEW
@given(st.integers(0, 999), st.sampled_from([0.0, 0.1, 0.5, 0.9]), st.booleans())
def test_box_encoder(seed: int, criteria: float, offset: bool) -> None:
    anchors = boxes(seed + 1000, (40,)).at(0).ravel().tolist()
    arguments: dict[str, Any] = {"anchors": anchors, "criteria": criteria, "offset": offset}
    if offset:
        arguments |= {"means": [0.1, 0.2, 0.3, 0.4], "stds": [0.1, 0.1, 0.2, 0.2], "scale": 30.0}
    given = boxes(seed)
    ours: Any = gradiva.box_encoder(given, labels(), **arguments)
    expected = reference("box_encoder", [given, labels()], outputs=2, **arguments)
    assert_close(ours[1], expected[1], layout=False)
    assert_close(ours[0], expected[0], exact=False, layout=False)


def test_box_encoder_ties() -> None:
    """The last of equal boxes and anchors wins; an overlap equal to `criteria` is too small."""
    unit = [0.0, 0.0, 1.0, 1.0]
    anchors = [*unit, *unit, 0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.75, 1.0]
    given, names = batch([np.array([unit, unit], np.float32)]), batch([np.array([1, 2], np.int32)])
    ours: Any = gradiva.box_encoder(given, names, anchors=anchors)
    expected = reference("box_encoder", [given, names], outputs=2, anchors=anchors)
    np.testing.assert_array_equal(ours[1].at(0), expected[1][0])
    assert ours[1].at(0).tolist() == [2, 2, 0, 2]


WINDOWS: list[dict[str, Any]] = [
    {"scaling": [0.1, 1.0], "aspect_ratio": [0.5, 2.0], "allow_no_crop": False},
    {"scaling": [0.1, 1.0], "aspect_ratio": [1.0, 1.2]},
    {"scaling": [0.2, 0.9]},
    {"scaling": [0.1, 1.0], "aspect_ratio": [0.5, 2.0], "input_shape": [200, 100]},
    {"crop_shape": [50, 60], "input_shape": [200, 100]},
    {"scaling": [0.3, 1.0], "thresholds": [0.1, 0.3], "total_num_attempts": 30, "quiet": True},
    {"scaling": [0.3, 1.0], "thresholds": [0.5], "threshold_type": "overlap",
     "all_boxes_above_threshold": False, "num_attempts": 3},
    {"scaling": [0.3, 0.7], "bbox_prune_threshold": 0.3, "allow_no_crop": False},
]  # fmt: skip


def drawn(given: Batch, arguments: dict[str, Any]) -> tuple[Array, Array]:
    """Starts and sizes, and numbers of boxes, of ours and of DALI."""
    made: Any = gradiva.random_bbox_crop(given, seed=3, **arguments)
    theirs = reference("random_bbox_crop", [given], outputs=3, **arguments)
    both = []
    for anchors, sizes, kept in (made, theirs):
        rows = [
            np.concatenate([np.asarray(a), np.asarray(s), [len(np.asarray(k))]])
            for a, s, k in zip(anchors, sizes, kept, strict=True)
        ]
        both.append(np.array(rows))
    return both[0], both[1]


@pytest.mark.parametrize("arguments", WINDOWS)
@pytest.mark.parametrize("empty", [False, True], ids=["boxes", "no boxes"])
def test_windows_are_distributed_alike(arguments: dict[str, Any], empty: bool) -> None:
    """By the quantiles of 3000 windows, and by the number of boxes that are left."""
    rows = np.empty((0, 4)) if empty else np.array([[0.1, 0.2, 0.5, 0.6], [0.5, 0.4, 0.8, 0.95]])
    given = Batch.broadcast(rows.astype(np.float32), 3000)
    ours, theirs = drawn(given, arguments)
    points = [0.1, 0.3, 0.5, 0.7, 0.9]
    scale = 100.0 if "crop_shape" in arguments else 1.0
    for column in range(5):
        one, other = (np.quantile(side[:, column], points) for side in (ours, theirs))
        if column == 4:
            assert abs(ours[:, 4].mean() - theirs[:, 4].mean()) < 0.06
        else:
            # The difference of two distribution functions (Kolmogorov and Smirnov), of 3000 each.
            merged = np.concatenate([ours[:, column], theirs[:, column]])
            sides = [
                np.searchsorted(np.sort(side[:, column]), merged, "right") / len(side)
                for side in (ours, theirs)
            ]
            assert abs(sides[0] - sides[1]).max() < 0.05, (column, one / scale, other / scale)


@FEW
@given(st.integers(0, 999), st.sampled_from([0.1, 0.3]), st.booleans(), st.booleans())
def test_windows_keep_their_promises(
    seed: int, threshold: float, overlap: bool, every: bool
) -> None:
    """Sizes, ratios and overlaps are as asked for; boxes, labels and indices are in step."""
    given, names = boxes(seed, (3, 1, 2)), labels((3, 1, 2))
    arguments: dict[str, Any] = {
        "thresholds": [threshold],
        "threshold_type": "overlap" if overlap else "iou",
        "all_boxes_above_threshold": every,
        "scaling": [0.3, 1.0],
        "aspect_ratio": [0.5, 2.0],
        "allow_no_crop": False,
        "total_num_attempts": 20000,
        "quiet": True,
    }
    made: Any = gradiva.random_bbox_crop(
        given, names, output_bbox_indices=True, seed=seed, **arguments
    )
    starts, sizes, kept, kept_names, indices = made
    again: Any = gradiva.random_bbox_crop(given, seed=seed, **arguments)
    for i in range(3):
        start, size = starts.at(i).astype(np.float64), sizes.at(i).astype(np.float64)
        own = given.at(i).astype(np.float64).reshape(-1, 2, 2)
        np.testing.assert_array_equal(starts.at(i), again[0].at(i))
        assert (start >= 0).all()
        assert (start + size <= 1 + 1e-6).all()
        assert (size >= 0.3 - 1e-6).all()
        assert 0.5 - 1e-5 <= size[0] / size[1] <= 2 + 1e-5
        common = np.clip(np.minimum(own[:, 1], start + size) - np.maximum(own[:, 0], start), 0, 1)
        volume, areas = common.prod(axis=1), (own[:, 1] - own[:, 0]).prod(axis=1)
        metric = volume / (areas if overlap else areas + size.prod() - volume)
        best = metric.min() if every else metric.max()
        center = own.mean(axis=1)
        inside = ((center >= start - 1e-6) & (center <= start + size + 1e-6)).all(axis=1)
        if best < threshold - 1e-5:
            continue  # no window of 20000 fits: the best one
        np.testing.assert_array_equal(indices.at(i), np.flatnonzero(inside))
        np.testing.assert_array_equal(kept_names.at(i), names.at(i)[inside])
        placed = np.clip((own[inside] - start) / size, 0, 1).reshape(-1, 4)
        np.testing.assert_allclose(kept.at(i), placed, atol=1e-6)


@pytest.mark.parametrize(
    "arguments",
    [
        {"thresholds": []},
        {"thresholds": [2.0]},
        {"num_attempts": 0},
        {"total_num_attempts": 0},
        {"scaling": [0.8, 0.5]},
        {"scaling": [0.5]},
        {"aspect_ratio": [2.0, 0.5]},
        {"aspect_ratio": [1.0, 1.0, 1.0]},
        {"bbox_prune_threshold": 1.5},
        {"threshold_type": "area"},
        {"bbox_layout": "xyzw"},
        {"crop_shape": [5, 5]},
        {"crop_shape": [5, 5], "input_shape": [9, 9], "scaling": [0.5, 1.0]},
        {"ltrb": True, "bbox_layout": "xyXY"},
        {"input_shape": [3, 4, 5]},
    ],
)
def test_refused_by_both(arguments: dict[str, Any]) -> None:
    given = boxes(1)
    with pytest.raises(REFUSALS):
        reference("random_bbox_crop", [given], outputs=3, **arguments)
    with pytest.raises(GradivaError):
        gradiva.random_bbox_crop(given, **arguments)
