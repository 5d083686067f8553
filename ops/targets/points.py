"""`targets.keypoints` and `targets.cameras`: points and camera matrices along their tracks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, Float64Array, I64Vector, Int64Array

from .chosen import counts_kept, kept_of, repeated_kept
from .clipping import is_seen
from .frames import counts_in_frames, tracks_of
from .track import FIRST, LAYOUT, MATRIX, NOW, begun, flat, moved, note_of, write_flat

ORIGINS: Final = ("corner", "center")
"""Where (0, 0) is: at the corner of the first pixel, or in its center."""


@op.jit
def mirrors(matrix: Float64Array, axes: int) -> bool:
    """Whether an image is seen in a mirror after this map."""
    m = matrix
    if axes == 2:
        return bool(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0] < 0.0)
    first = m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
    second = m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
    third = m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    return bool(first - second + third < 0.0)


@op.jit
def move_points(
    points: Float64Array,
    groups: I64Vector,
    tracks: Float64Array,
    axes: int,
    form: tuple[bool, float],
    partners: I64Vector,
    made: Float64Array,
) -> None:
    """Move points.

    points: (groups, points of a group, axes or axes + 1); groups: of each sample, (N,); tracks: (N,
    R, 8). form: whether places are in parts of the image; and where the first pixel's corner is,
    in pixels. partners: the point with which each changes places in a mirror. made: like points.
    """
    place = np.empty(3)
    count, width = points.shape[1], points.shape[2]
    relative, corner = form
    group = 0
    for i in range(len(groups)):
        track = tracks[i]
        matrix = np.ascontiguousarray(track[MATRIX : MATRIX + 4, :4])
        mirrored = mirrors(matrix, axes)
        for _ in range(groups[i]):
            for k in range(count):
                to = made[group, partners[k] if mirrored else k]
                one = points[group, k]
                if width > axes and not one[axes] > 0.0:
                    for axis in range(width):
                        to[axis] = one[axis]  # it was not labeled: it is at no place
                    continue
                x, y, z = one[0], one[1], 0.5
                if axes == 3:
                    z = one[2]
                if relative:
                    x, y = x * track[FIRST, 4], y * track[FIRST, 5]
                    z = z * track[FIRST, 6] if axes == 3 else z
                x, y, z = x - corner, y - corner, z - corner if axes == 3 else z
                seen = 0.0 <= x <= track[FIRST, 4] and 0.0 <= y <= track[FIRST, 5]
                seen = seen and 0.0 <= z <= track[FIRST, 6] and is_seen(track, x, y, z)
                w = moved(matrix, x, y, z, place)
                for axis in range(axes):
                    there = place[axis] + corner
                    to[axis] = there / track[NOW, 4 + axis] if relative else there
                if width > axes:
                    to[axes] = one[axes] if seen and w > 0.0 else 0.0
            group += 1


@op.operator("targets.keypoints", inputs=(2, 3))
def keypoints(
    input: op.SampleType,
    track: op.SampleType,
    kept: op.SampleType | None = None,
    /,
    *,
    relative: bool = False,
    pixel_origin: str = "corner",
    pairs: op.Ints = (),
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move keypoints with their images.

    Args:
        input: the keypoints of a sample: (n, k, 2), (n, k, 3) with visibility, or without n; or of
            each frame, (f, n, k, 2).
        track: how the places of the image have moved, float64.
        kept: of each object whether it is left, bool (n,).
        relative, pixel_origin: as in `gradiva.Targets`.
        pairs: the numbers of points that change places in a mirror, two by two.
        maps: the operators that the track follows, for those who read the graph.

    Returns:
        The points of the objects that are left, float32, or float64 if they came so.

    Raises:
        OperatorValueError: for other shapes, naming the sample.

    Example:
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.points import keypoints

        keypoints(np.float32([[[10, 20, 2]]]), canvas(gradiva.imread("cat.jpg")))
        # [[[10.0, 20.0, 2.0]]]
    """
    op.require_ndim(input, (2, 3, 4), "keypoints")
    dtype = op.float64 if input.dtype is op.float64 else op.float32
    return input.with_(dtype=dtype, layout="", device="cpu")


@dataclass(frozen=True)
class _Rows(op.Plan):
    """made: the numbers of all samples."""

    made: Float64Array


def partners_of(pairs: tuple[int, ...], count: int) -> Int64Array:
    """The point with which each of `count` points changes places. Raises OperatorValueError."""
    made = np.arange(count)
    if len(pairs) % 2:
        raise op.wrong_value("pairs", "two numbers for each pair", pairs)
    for one, other in zip(pairs[::2], pairs[1::2], strict=True):
        if not (0 <= one < count and 0 <= other < count):
            raise op.wrong_value("pairs", f"numbers from 0 to {count - 1}", f"({one}, {other})")
        made[one], made[other] = other, one
    return made


keypoints.note = note_of("keypoints")


def point_groups(call: op.Call, axes: int) -> tuple[Float64Array, I64Vector]:
    """The points of the first input, (groups, points of a group, axes or axes + 1), and how many
    groups each sample has. Raises OperatorValueError for other shapes."""
    given = call.inputs[0]
    shapes = given.batch_shape.shapes
    count, width = (int(shapes[:, k].max(initial=0)) for k in (-2, -1))
    bad = (shapes[:, -1] != width) | (shapes[:, -2] != count) | (width not in (axes, axes + 1))
    bad &= shapes.prod(axis=1) > 0
    op.refuse_samples(
        bad,
        "keypoints",
        f"one shape (n, k, {axes}), or (n, k, {axes + 1}) with visibility",
        given.batch_shape.shape,
        "keypoints of another shape",
    )
    rows = np.asarray(flat(given), np.float64)
    points = rows.reshape(-1, count, width) if rows.size else np.empty((0, count, width))
    groups = np.ones(call.size, np.int64)
    if given.ndim > 2 and call.size:
        groups = np.where(shapes[:, -2:].prod(axis=1) > 0, shapes[:, :-2].prod(axis=1), 0)
    return points, groups


@keypoints.shapes
def _shapes(call: op.Call) -> _Rows:
    given = call.inputs[0]
    tracks, of_frames = tracks_of(call.inputs[1], given, 3, "keypoints")
    axes = int(tracks[0, LAYOUT, 7]) if len(tracks) else 2
    shapes = given.batch_shape.shapes.copy()
    points, groups = point_groups(call, axes)
    count, held, several = points.shape[1], groups, shapes[:, :-2].prod(axis=1)
    if of_frames:
        labeled = shapes[:, -2:].prod(axis=1, keepdims=True) > 0
        groups = counts_in_frames(np.where(labeled, shapes, 0), call.inputs[1])
    made = np.empty_like(points)
    form = (call["relative"], -0.5 if call["pixel_origin"] == "center" else 0.0)
    pairs = call["pairs"]
    partners = partners_of((pairs,) if isinstance(pairs, int) else tuple(pairs), count)
    move_points(points, groups, tracks, axes, form, partners, made)
    if len(call.inputs) > 2 and given.ndim > 2 and call.size:
        objects = shapes[:, -3].copy()
        kept = kept_of(call, 2, objects, "keypoints")
        shapes[:, -3] = counts_kept(kept, objects)
        if given.ndim == 4:
            kept = repeated_kept(kept, objects, shapes[:, 0])
        made = made[_of_groups(kept, several, held)]
    return _Rows(shapes, made)


def _of_groups(kept: BoolVector, objects: Int64Array, groups: Int64Array) -> BoolVector:
    """Of `kept`, what is about samples that have points."""
    return kept if (objects == groups).all() else kept[np.repeat(groups > 0, objects)]


def _write(call: op.Call, plan: _Rows) -> None:
    write_flat(call.outputs[0], plan.made)


keypoints.cpu(_write)


@keypoints.cases
def _cases() -> list[op.Case]:
    some = [np.array([[[1, 2, 2], [9, 9, 1]]], np.float32), np.zeros((0, 2, 3), np.float32)]
    tracks = op.batch(list(begun(np.array([[8, 8, 3], [4, 4, 3]]), "HWC")))
    expected = [np.array([[[1, 2, 2], [9, 9, 0]]], np.float32), some[1]]
    flat = op.batch([some[0][0, :, :2]] * 2)
    return [
        op.case("outside", op.batch(some), tracks).equals(expected).no_oracle(),
        op.case("without objects", flat, tracks).equals([some[0][0, :, :2]] * 2).no_oracle(),
        op.case("parts", op.batch([some[0] / 8, some[1]]), tracks, relative=True).no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1, 1, 1))), op.batch(np.empty((0, 1, 1))))
        .equals([])
        .no_oracle(),
        op.case("pairs", op.batch(some), tracks, pairs=(0, 5)).value_error("`pairs`"),
        op.case("wide", op.samples((1, 2, 5), (1, 2, 5), layout=""), tracks).value_error("shape"),
    ]


@op.operator("targets.cameras", inputs=2)
def cameras(
    input: op.SampleType,
    track: op.SampleType,
    /,
    *,
    pixel_origin: str = "corner",
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move camera matrices with their images.

    Args:
        input: matrices to pixels of the image, (3, 3) or (3, 4), or several of these.
        track: how the places of the image have moved, float64.
        pixel_origin: as in `gradiva.Targets`.
        maps: the operators that the track follows, for those who read the graph.

    Returns:
        Matrices to pixels of the image as it is now, float32, or float64 if they came so.

    Raises:
        OperatorValueError: for other shapes, and for volumes.

    Example:
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.points import cameras

        cameras(np.eye(3, dtype=np.float32), canvas(gradiva.imread("cat.jpg"))).shape  # (3, 3)
    """
    op.require_ndim(input, (2, 3), "cameras")
    dtype = op.float64 if input.dtype is op.float64 else op.float32
    return input.with_(dtype=dtype, layout="", device="cpu")


cameras.note = note_of("cameras")


@cameras.shapes
def _camera_shapes(call: op.Call) -> _Rows:
    shapes = call.inputs[0].batch_shape.shapes
    tracks, of_frames = tracks_of(call.inputs[1], call.inputs[0], 2, "cameras")
    bad = (shapes[:, -2] != 3) | ~np.isin(shapes[:, -1], (3, 4))
    op.refuse_samples(
        bad, "cameras", "(3, 3) or (3, 4)", call.inputs[0].batch_shape.shape, "other matrices"
    )
    if len(tracks) and tracks[0, LAYOUT, 7] != 2:
        raise op.OperatorValueError("volumes have no camera", argument="cameras")
    maps = tracks[:, MATRIX : MATRIX + 4][:, [0, 1, 3]][:, :, [0, 1, 3]]
    if call["pixel_origin"] == "center":
        shift = np.eye(3)
        shift[:2, 2] = 0.5
        maps = np.linalg.inv(shift) @ maps @ shift
    cameras = [camera.astype(np.float64) for camera in call.inputs[0].arrays()]
    if of_frames:
        frames = call.inputs[1].batch_shape.shapes[:, 0]
        maps = maps[np.repeat(shapes[:, 0] == frames, frames)]
        cameras = [one for several in cameras for one in several]
    pairs = zip(maps, cameras, strict=True)
    made = [_product(one, camera).reshape(-1) for one, camera in pairs]
    return _Rows(shapes, np.concatenate([*made, np.empty(0)]))


def _product(one: Any, camera: Any) -> Any:
    """A map times matrices (3, k), (..., 3, k), in a fixed order."""
    terms = [one[:, k, None] * camera[..., k, None, :] for k in range(3)]
    return (terms[0] + terms[1]) + terms[2]


cameras.cpu(_write)


@cameras.cases
def _camera_cases() -> list[op.Case]:
    matrix = np.array([[100, 0, 4], [0, 100, 3], [0, 0, 1]], np.float32)
    tracks = op.batch(list(begun(np.array([[8, 8, 3]]), "HWC")))
    return [
        op.case("as it is", op.batch([matrix]), tracks).equals([matrix]).no_oracle(),
        op.case("several", op.batch([np.stack([matrix, matrix])]), tracks)
        .equals([np.stack([matrix, matrix])])
        .no_oracle(),
        op.case("projection", op.batch([np.eye(3, 4, dtype=np.float64)]), tracks)
        .equals([np.eye(3, 4)])
        .no_oracle(),
        op.case("centers", op.batch([matrix]), tracks, pixel_origin="center")
        .equals([matrix])
        .no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1, 1))), op.batch(np.empty((0, 1, 1))))
        .equals([])
        .no_oracle(),
        op.case("wide", op.batch([matrix[:2]]), tracks).value_error("(3, 3)"),
    ]
