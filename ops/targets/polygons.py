"""`targets.polygons`: polygons along their tracks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.per_frame_types import has_frames
from gradiva.eager.types.arrays import F64Vector, Float64Array, I64Table, I64Vector, Int64Array

from .boxes import rows_of
from .clipping import cut_by
from .track import (
    COLUMNS,
    FIRST,
    HEAD,
    LAYOUT,
    MATRIX,
    NOW,
    begun,
    moved,
    note_of,
    stacked,
    write_flat,
)

_FINE, _NO_VERTICES, _NO_OBJECT, _NOT_FINITE = range(4)
_FAULTS: Final = {
    _NO_VERTICES: "first <= end, of the vertices of the sample",
    _NO_OBJECT: "the number of an object",
    _NOT_FINITE: "vertices of finite numbers",
}


@op.operator("targets.polygons", inputs=(3, 4))
def polygons(
    input: op.SampleType,
    vertices: op.SampleType,
    track: op.SampleType,
    kept: op.SampleType | None = None,
    /,
    *,
    relative: bool = False,
    clip: bool = True,
    pixel_origin: str = "corner",
    maps: str = "",
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Move polygons with their images.

    Args:
        input: of each polygon its object, its first vertex and the one after its last, integers
            (p, 3).
        vertices: (v, 2).
        track: how the places of the image have moved, float64.
        kept: of each object whether it is left, bool (n,).
        relative, clip, pixel_origin: as in `gradiva.Targets`.
        maps: the operators that the track follows, for those who read the graph.

    Returns:
        The polygons of which something is left, of objects that are left and are numbered again,
        int32; and their vertices, float32, or float64 if they came so.

    Raises:
        OperatorValueError: for vertices and objects that are not there, naming the sample.

    Example:
        from gradiva.ops.targets.canvas import canvas
        from gradiva.ops.targets.polygons import polygons

        corners = np.float32([[10, 10], [50, 10], [10, 50]])
        made, moved = polygons(np.int32([[0, 0, 3]]), corners, canvas(gradiva.imread("cat.jpg")))
        made  # [[0, 0, 3]]
    """
    op.require_ndim(input, (2,), "polygons")
    op.require_ndim(vertices, (2,), "vertices")
    dtype = op.float64 if vertices.dtype is op.float64 else op.float32
    return op.SampleType(op.int32, 2, ""), op.SampleType(dtype, 2, "")


@dataclass(frozen=True)
class _PolygonsPlan(op.Plan):
    """polygons: (P, 3); vertices: (V, 2), of all samples."""

    polygons: Int64Array
    vertices: Float64Array


@op.jit
def _check(
    rows: I64Table, vertices: Float64Array, kept: I64Vector, objects: int, several: bool
) -> tuple[int, int]:
    """The first polygon of a sample with a fault, and the fault; the most corners if none has."""
    most = 0
    for p in range(len(rows)):
        first, end = rows[p, 1], rows[p, 2]
        if not 0 <= first <= end <= len(vertices):
            return p, _NO_VERTICES
        if rows[p, 0] < 0 or (several and rows[p, 0] >= objects):
            return p, _NO_OBJECT
        for k in range(first, end):
            if not (np.isfinite(vertices[k, 0]) and np.isfinite(vertices[k, 1])):
                return p, _NOT_FINITE
        most = max(most, end - first)
    return most, _FINE


@op.jit
def _cut_any(
    plane: F64Vector, corners: Float64Array, count: int, scratch: Float64Array
) -> tuple[Float64Array, int, Float64Array]:
    """Cut a polygon that need not be convex by one plane; returns the corners that are left, how
    many these are, and scratch memory that is as large."""
    if 2 * count + 2 > len(corners):
        larger = np.empty((4 * count + 4, 2))
        larger[:count] = corners[:count]
        corners, scratch = larger, np.empty((4 * count + 4, 2))
    return corners, cut_by(plane, corners, count, scratch), scratch


@op.jit
def _move(
    rows: I64Table,
    vertices: Float64Array,
    track: Float64Array,
    numbers: I64Vector,
    form: tuple[bool, bool, float],
    most: int,
    polygons: I64Table,
) -> tuple[int, Float64Array, int]:
    """Move the polygons of a sample; returns how many there are then, their vertices, and how many
    of these there are.

    numbers: of each object the new number, or -1; form: whether vertices are in parts of the image,
    whether polygons are clipped, and where the first pixel's corner is. most: corners of a polygon.
    """
    relative, clip, corner = form
    corners, scratch = np.empty((2 * most + 8, 2)), np.empty((2 * most + 8, 2))
    places = np.empty((2 * len(vertices) + 8, 2))
    matrix = np.ascontiguousarray(track[MATRIX : MATRIX + 4, :4])
    plane, place = np.zeros(4), np.empty(3)
    wide, high = track[FIRST, 4], track[FIRST, 5]
    count, used = 0, 0
    for p in range(len(rows)):
        number = rows[p, 0]
        if number < len(numbers):
            number = numbers[number]
        if number < 0:
            continue
        left = rows[p, 2] - rows[p, 1]
        for k in range(left):
            x, y = vertices[rows[p, 1] + k, 0], vertices[rows[p, 1] + k, 1]
            if relative:
                x, y = x * wide, y * high
            corners[k, 0], corners[k, 1] = x - corner, y - corner
        if clip:
            for edge in range(4):
                plane[:] = 0.0
                plane[edge // 2] = 1.0 if edge % 2 == 0 else -1.0
                plane[3] = 0.0 if edge % 2 == 0 else track[FIRST, 4 + edge // 2]
                corners, left, scratch = _cut_any(plane, corners, left, scratch)
            for row in range(HEAD, len(track)):
                for half in range(0, COLUMNS, 4):
                    cut = track[row, half : half + 4]
                    corners, left, scratch = _cut_any(cut, corners, left, scratch)
            if left < 3:
                continue
        polygons[count, 0], polygons[count, 1], polygons[count, 2] = number, used, used + left
        count += 1
        if used + left > len(places):
            larger = np.empty((2 * (used + left), 2))
            larger[:used] = places[:used]
            places = larger
        for k in range(left):
            moved(matrix, corners[k, 0], corners[k, 1], 0.5, place)
            for axis in range(2):
                there = place[axis] + corner
                places[used, axis] = there / track[NOW, 4 + axis] if relative else there
            used += 1
    return count, places, used


polygons.note = note_of("polygons")


@polygons.shapes
def _shapes(call: op.Call) -> _PolygonsPlan:
    if has_frames(call.inputs[2].type):
        raise op.OperatorTypeError(
            "the frames move in different ways, and polygons do not say in which frame they are",
            argument="polygons",
            expected="boxes, keypoints or masks with an axis of frames",
        )
    tracks = stacked(call.inputs[2])
    if call.size and tracks[0, LAYOUT, 7] != 2:
        raise op.OperatorValueError("volumes have no polygons", argument="polygons")
    rows = rows_of(call.inputs[0], 3, "polygons").astype(np.int64)
    vertices = rows_of(call.inputs[1], 2, "vertices")
    row_counts = call.inputs[0].batch_shape.shapes[:, 0]
    vertex_counts = call.inputs[1].batch_shape.shapes[:, 0]
    form = (call["relative"], call["clip"], -0.5 if call["pixel_origin"] == "center" else 0.0)
    several = len(call.inputs) > 3
    shapes = (np.full((call.size, 2), 3, np.int64), np.full((call.size, 2), 2, np.int64))
    made: tuple[list[Any], list[Any]] = ([np.empty((0, 3), np.int64)], [np.empty((0, 2))])
    row, vertex = 0, 0
    for sample in range(call.size):
        own = rows[row : row + row_counts[sample]]
        places = vertices[vertex : vertex + vertex_counts[sample]]
        row, vertex = row + len(own), vertex + len(places)
        left = call.inputs[3].array(sample) if several else np.empty(0, np.bool_)
        numbers = np.where(left, left.cumsum() - 1, -1)
        most, fault = _check(own, places, numbers, len(left), several)
        if fault != _FINE:
            raise op.OperatorValueError(
                f"polygon {most} of {len(own)} is none",
                argument="polygons",
                expected=_FAULTS[fault],
                got=str(own[most].tolist()),
                sample=sample,
            )
        target = np.empty((len(own), 3), np.int64)
        count, corners, used = _move(own, places, tracks[sample], numbers, form, int(most), target)
        shapes[0][sample, 0], shapes[1][sample, 0] = count, used
        made[0].append(target[:count])
        made[1].append(corners[:used])
    return _PolygonsPlan(shapes, np.concatenate(made[0]), np.concatenate(made[1]))


@polygons.cpu
def _cpu(call: op.Call, plan: _PolygonsPlan) -> None:
    write_flat(call.outputs[0], plan.polygons)
    write_flat(call.outputs[1], plan.vertices)


@polygons.cases
def _cases() -> list[op.Case]:
    tracks = op.batch(list(begun(np.array([[8, 8, 3], [4, 4, 3]]), "HWC")))
    some = [np.array([[0, 0, 3], [1, 3, 7]], np.int32), np.empty((0, 3), np.int32)]
    corners = np.array([[0, 0], [4, 0], [0, 4], [5, 5], [7, 5], [7, 7], [5, 7]], np.float32)
    places = op.batch([corners, np.empty((0, 2), np.float32)])
    kept = op.batch([np.array([False, True]), np.empty(0, np.bool_)])
    given = op.batch(some)
    beyond = op.batch([np.array([[0, 0, 9]], np.int32), some[1]])
    return [
        op.case("as they are", given, places, tracks).equals(some).no_oracle(),
        op.case("dropped", given, places, tracks, kept)
        .equals([np.array([[0, 0, 4]], np.int32), some[1]])
        .no_oracle(),
        op.case("whole", given, places, tracks, clip=False).equals(some).no_oracle(),
        op.case(
            "objects",
            op.batch([some[0] + np.array([[9, 0, 0]], np.int32), some[1]]),
            places,
            tracks,
            kept,
        ).value_error("the number of an object"),
        op.case(
            "empty",
            op.batch(np.empty((0, 1, 1))),
            op.batch(np.empty((0, 1, 1))),
            op.batch(np.empty((0, 1, 1))),
        )
        .equals([])
        .no_oracle(),
        op.case("vertices", beyond, places, tracks).value_error("polygon 0 of 1"),
    ]
