"""`targets.bent_points`, `targets.bent_polygons`: through operators that bend images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, Float64Array, Int64Array

from .bending import bounds_of, carry_points
from .boxes import rows_of
from .past import Bend, bends_of
from .points import partners_of, point_groups
from .track import COLUMNS, FIRST, MATRIX, write_flat

_STEP = 4.0
"""Pixels between the places of an outline that are moved, at most."""


def carried(bends: list[Bend], points: Float64Array) -> BoolVector:
    """Move points of a sample, (P, 2), through its past; returns which of them are seen."""
    seen = np.ones(len(points), np.bool_)
    for bend in bends:
        bounds = bounds_of(bend.grid) if bend.grid.size and len(points) else np.empty((0, 0, 4))
        size = (bend.height, bend.width)
        carry_points(bend.track, bend.grid, bounds, size, points, seen)
    return seen


def _mirrored(bend: Bend) -> bool:
    matrix = bend.track[MATRIX : MATRIX + 4]
    turned = matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0] < 0.0
    return bool(turned) != bend.mirrored


@dataclass(frozen=True)
class _BentPlan(op.Plan):
    """made: what the outputs hold, one sample after the other."""

    made: tuple[Any, ...]


def _write(call: op.Call, plan: _BentPlan) -> None:
    for output, made in zip(call.outputs, plan.made, strict=True):
        write_flat(output, made)


@op.operator("targets.bent_points", inputs=2)
def bent_points(
    input: op.SampleType,
    past: op.SampleType,
    /,
    *,
    relative: bool = False,
    pixel_origin: str = "corner",
    pairs: op.Ints = (),
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Move keypoints through the operators that have bent their images.

    Args:
        input: the keypoints of a sample: (n, k, 2), (n, k, 3) with visibility, or without n; or of
            each frame, (f, n, k, 2).
        past: what the images have passed, float64.
        relative, pixel_origin: as in `gradiva.Targets`.
        pairs: the numbers of points that change places in a mirror, two by two.

    Returns:
        The points in the image that was made last, float32, or float64 if they came so. Those that
        are not seen in it are 0, with the visibility 0; without visibility NaN.

    Raises:
        OperatorValueError: for other shapes, naming the sample.

    Example:
        from gradiva.ops.targets.bent import bent_points
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.past import past

        none = past(canvas(gradiva.imread("cat.jpg")))
        bent_points(np.float32([[10, 20]]), none)  # [[10.0, 20.0]]
    """
    op.require_ndim(input, (2, 3, 4), "keypoints")
    dtype = op.float64 if input.dtype is op.float64 else op.float32
    return input.with_(dtype=dtype, layout="", device="cpu")


@bent_points.shapes
def _point_shapes(call: op.Call) -> _BentPlan:
    shapes = call.inputs[0].batch_shape.shapes
    made = [np.empty(0)]
    rows, groups = point_groups(call, 2)
    pairs = call["pairs"]
    partners = partners_of((pairs,) if isinstance(pairs, int) else tuple(pairs), rows.shape[1])
    corner, first = -0.5 if call["pixel_origin"] == "center" else 0.0, 0
    width = rows.shape[2]
    for sample, count in enumerate(groups.tolist()):
        bends = bends_of(call.inputs[1].array(sample))
        own = rows[first : first + count].copy()
        first += count
        if bends and own.size:
            unit = bends[0].track[FIRST, 4:6] if call["relative"] else np.ones(2)
            last = np.array([bends[-1].width, bends[-1].height], np.float64)
            after = last if call["relative"] else np.ones(2)
            labeled = own[..., 2] > 0 if width > 2 else np.ones(own.shape[:2], np.bool_)
            places = np.ascontiguousarray(own[..., :2][labeled] * unit - corner)
            seen = carried(bends, places)
            places = (places + corner) / after
            places[~seen] = np.nan if width == 2 else 0.0
            own[labeled, :2] = places
            if width > 2:
                own[labeled, 2] = np.where(seen, own[labeled, 2], 0.0)
            if sum(map(_mirrored, bends)) % 2:
                own = own[:, partners]
        made.append(own.reshape(-1))
    return _BentPlan(shapes, (np.concatenate(made),))


bent_points.cpu(_write)


@bent_points.cases
def _point_cases() -> list[op.Case]:
    some = [np.array([[[1, 2, 2], [9, 9, 1]]], np.float32), np.zeros((0, 2, 3), np.float32)]
    pasts = op.batch([np.empty((0, COLUMNS))] * 2)
    return [
        op.case("nothing passed", op.batch(some), pasts).equals(some).no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1, 1, 1))), op.batch(np.empty((0, 1, COLUMNS))))
        .equals([])
        .no_oracle(),
        op.case("without objects", op.batch([some[0][0]] * 2), pasts)
        .equals([some[0][0]] * 2)
        .no_oracle(),
        op.case("pairs", op.batch(some), pasts, pairs=(0, 5)).value_error("`pairs`"),
        op.case("wide", op.samples((1, 2, 5), (1, 2, 5), layout=""), pasts).value_error("shape"),
    ]


@op.operator("targets.bent_polygons", inputs=3)
def bent_polygons(
    input: op.SampleType,
    vertices: op.SampleType,
    past: op.SampleType,
    /,
    *,
    relative: bool = False,
    pixel_origin: str = "corner",
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Move polygons through the operators that have bent their images.

    Args:
        input: of each polygon its object, its first vertex and the one after its last, integers
            (p, 3).
        vertices: (v, 2).
        past: what the images have passed, float64.
        relative, pixel_origin: as in `gradiva.Targets`.

    Returns:
        The polygons, int32, of which those have no vertices that are not seen; and their vertices,
        float32, or float64 if they came so: at most 4 pixels apart before they move, without those
        that are not seen.

    Raises:
        OperatorValueError: for other shapes, and for vertices that are not there.

    Example:
        from gradiva.ops.targets.bent import bent_polygons
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.past import past

        none = past(canvas(gradiva.imread("cat.jpg")))
        corners = np.float32([[10, 10], [50, 10], [10, 50]])
        made, moved = bent_polygons(np.int32([[0, 0, 3]]), corners, none)
        made  # [[0, 0, 3]]
    """
    op.require_ndim(input, (2,), "polygons")
    op.require_ndim(vertices, (2,), "vertices")
    dtype = op.float64 if vertices.dtype is op.float64 else op.float32
    return op.SampleType(op.int32, 2, ""), op.SampleType(dtype, 2, "")


def _finer(corners: Float64Array) -> Float64Array:
    """The outline of a polygon, with more places between its corners."""
    if len(corners) < 2:
        return corners
    after = np.roll(corners, -1, axis=0)
    lengths = np.hypot(*(after - corners).T)
    pieces = np.maximum(np.ceil(np.minimum(lengths, 1e6) / _STEP), 1).astype(np.int64)
    owners = np.repeat(np.arange(len(corners)), pieces)
    numbers = np.arange(len(owners)) - np.repeat(pieces.cumsum() - pieces, pieces)
    parts = (numbers / pieces[owners])[:, None]
    made: Float64Array = corners[owners] + parts * (after - corners)[owners]
    return made


def _bend_polygons(
    rows: Int64Array, places: Float64Array, bends: list[Bend], form: tuple[bool, float]
) -> tuple[Int64Array, Float64Array]:
    """The polygons of a sample, and their vertices."""
    relative, corner = form
    unit = bends[0].track[FIRST, 4:6] if relative else np.ones(2)
    last = np.array([bends[-1].width, bends[-1].height], np.float64)
    made, used, table = [np.empty((0, 2))], 0, rows.copy()
    for number, (_, first, end) in enumerate(rows.tolist()):
        outline = places[max(first, 0) : max(end, 0)] * unit - corner
        for bend in bends:
            outline = np.ascontiguousarray(_finer(outline))
            outline = outline[carried([bend], outline)]
        table[number, 1:] = used, used + len(outline)
        used += len(outline)
        made.append((outline + corner) / (last if relative else np.ones(2)))
    return table, np.concatenate(made)


@bent_polygons.shapes
def _polygon_shapes(call: op.Call) -> _BentPlan:
    rows = rows_of(call.inputs[0], 3, "polygons").astype(np.int64)
    vertices = rows_of(call.inputs[1], 2, "vertices")
    shapes = (np.full((call.size, 2), 3, np.int64), np.full((call.size, 2), 2, np.int64))
    form = (bool(call["relative"]), -0.5 if call["pixel_origin"] == "center" else 0.0)
    tables, outlines, row, vertex = [np.empty((0, 3), np.int64)], [np.empty((0, 2))], 0, 0
    for sample in range(call.size):
        counts = [int(given.batch_shape.shapes[sample, 0]) for given in call.inputs[:2]]
        own, places = rows[row : row + counts[0]], vertices[vertex : vertex + counts[1]]
        row, vertex = row + counts[0], vertex + counts[1]
        bad = (own[:, 1] < 0) | (own[:, 1] > own[:, 2]) | (own[:, 2] > len(places))
        if bad.any():
            number = int(np.flatnonzero(bad)[0])
            raise op.OperatorValueError(
                f"polygon {number} of {len(own)} is none",
                argument="polygons",
                expected="first <= end, of the vertices of the sample",
                got=str(own[number].tolist()),
                sample=sample,
            )
        bends = bends_of(call.inputs[2].array(sample))
        if bends:
            own, places = _bend_polygons(own, places, bends, form)
        shapes[0][sample, 0], shapes[1][sample, 0] = len(own), len(places)
        tables.append(own)
        outlines.append(places)
    return _BentPlan(shapes, (np.concatenate(tables), np.concatenate(outlines)))


bent_polygons.cpu(_write)


@bent_polygons.cases
def _polygon_cases() -> list[op.Case]:
    pasts = op.batch([np.empty((0, COLUMNS))] * 2)
    some = [np.array([[0, 0, 3]], np.int32), np.empty((0, 3), np.int32)]
    corners = [np.array([[0, 0], [4, 0], [0, 4]], np.float32), np.empty((0, 2), np.float32)]
    given, places = op.batch(some), op.batch(corners)
    beyond = op.batch([np.array([[0, 0, 9]], np.int32), some[1]])
    nothing = (op.batch(np.empty((0, 1, 1))), op.batch(np.empty((0, 1, 1))))
    return [
        op.case("nothing passed", given, places, pasts).equals(some).no_oracle(),
        op.case("empty", *nothing, op.batch(np.empty((0, 1, COLUMNS)))).equals([]).no_oracle(),
        op.case("parts", given, op.batch([corners[0] / 4, corners[1]]), pasts, relative=True)
        .equals(some)
        .no_oracle(),
        op.case("vertices", beyond, places, pasts).value_error("polygon 0 of 1"),
        op.case("three numbers", given, given, pasts).value_error("vertices"),
    ]
