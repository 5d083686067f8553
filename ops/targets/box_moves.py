"""Moving the boxes of a batch along their tracks."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, F64Vector, Float64Array, I64Vector

from .clipping import area_of, cut_polygon, most_corners
from .track import FIRST, HIGH, LOW, MATRIX, NOW, hull

FORMATS: Final = ("xyxy", "xywh", "cxcywh")
"""Of boxes: both corners; the low corner and the extents; the center and the extents."""
FINE, NOT_FINITE, ENDS_FIRST, NO_AREA, OUTSIDE = range(5)
"""What is wrong with a box."""


@op.jit
def read_box(
    box: F64Vector, axes: int, form: int, unit: F64Vector, ends: tuple[F64Vector, F64Vector]
) -> int:
    """The ends of a box in pixels, and what is wrong with it. unit: (3,), what its numbers are
    counted in."""
    low, high = ends
    low[2], high[2] = 0.0, 1.0
    fault = FINE
    for axis in range(axes):
        a, b = box[axis], box[axes + axis]
        if not (np.isfinite(a) and np.isfinite(b)):
            return NOT_FINITE
        if form != 0 and b < 0.0:
            fault = ENDS_FIRST
        if form == 1:
            b = a + b
        elif form == 2:
            a, b = a - b * 0.5, a + b * 0.5
        if b < a:
            fault = ENDS_FIRST
        elif b == a and fault == FINE:
            fault = NO_AREA
        low[axis], high[axis] = a * unit[axis], b * unit[axis]
    return fault


@op.jit
def write_box(
    low: F64Vector, high: F64Vector, axes: int, form: int, unit: F64Vector, box: F64Vector
) -> None:
    """The ends of a box as its numbers."""
    for axis in range(axes):
        a, b = low[axis] / unit[axis], high[axis] / unit[axis]
        if form == 0:
            box[axis], box[axes + axis] = a, b
        elif form == 1:
            box[axis], box[axes + axis] = a, b - a
        else:
            box[axis], box[axes + axis] = (a + b) * 0.5, b - a


@op.jit
def _part_seen(
    track: Float64Array,
    low: F64Vector,
    high: F64Vector,
    corners: Float64Array,
    scratch: Float64Array,
) -> tuple[float, int]:
    """The part of the area of a box, cut at the edges of the first image, that has not been cut
    away since; and the number of corners of that part."""
    left, top = max(low[0], 0.0), max(low[1], 0.0)
    right, bottom = min(high[0], track[FIRST, 4]), min(high[1], track[FIRST, 5])
    if not (right > left and bottom > top):
        return 0.0, 0
    corners[0, 0], corners[0, 1] = left, top
    corners[1, 0], corners[1, 1] = right, top
    corners[2, 0], corners[2, 1] = right, bottom
    corners[3, 0], corners[3, 1] = left, bottom
    count = cut_polygon(track, corners, 4, scratch)
    return area_of(corners, count) / ((right - left) * (bottom - top)), count


@op.jit
def _around_seen(
    track: Float64Array,
    matrix: Float64Array,
    axes: int,
    corners: Float64Array,
    count: int,
    ends: tuple[F64Vector, F64Vector],
) -> None:
    """The ends of a box of which a corner has no place any more: those of the part that is seen, a
    polygon of `count` corners."""
    least, most = ends
    for axis in range(axes):
        least[axis], most[axis] = track[LOW, 4 + axis], track[HIGH, 4 + axis]
    for k in range(count):
        x, y = corners[k, 0], corners[k, 1]
        w = matrix[3, 0] * x + matrix[3, 1] * y + matrix[3, 3]
        for axis in range(2):
            there = (matrix[axis, 0] * x + matrix[axis, 1] * y + matrix[axis, 3]) / w
            least[axis] = there if k == 0 else min(least[axis], there)
            most[axis] = there if k == 0 else max(most[axis], there)


@op.jit
def clip_ends(
    track: Float64Array, axes: int, clip: bool, ends: tuple[F64Vector, F64Vector]
) -> tuple[float, float, float, float]:
    """Cut a box at the ends of what can be seen, if `clip` says so.

    Returns its volume, that of the part inside, and then the smallest side and the volume that the
    box has.
    """
    least, most = ends
    whole, seen, smallest, area = 1.0, 1.0, np.inf, 1.0
    for axis in range(axes):
        a = max(least[axis], track[LOW, 4 + axis])
        b = min(most[axis], track[HIGH, 4 + axis])
        whole *= most[axis] - least[axis]
        seen *= max(b - a, 0.0)
        if clip:
            top = track[HIGH, 4 + axis]
            least[axis] = min(max(a, track[LOW, 4 + axis]), top)
            most[axis] = max(min(b, top), least[axis])
        smallest = min(smallest, most[axis] - least[axis])
        area *= most[axis] - least[axis]
    return whole, seen, smallest, area


@op.jit
def move_boxes(
    boxes: Float64Array,
    counts: I64Vector,
    tracks: Float64Array,
    axes: int,
    forms: tuple[int, bool, int, bool],
    policy: tuple[bool, bool, float, float, float],
    made: Float64Array,
    kept: BoolVector,
    faults: I64Vector,
) -> None:
    """Move boxes.

    boxes: (B, 2 * axes), one sample after the other, as many as `counts` says (N,); tracks:
    (N, R, 8). forms: the format that they have and whether it is relative, and those that they get.
    policy: whether boxes are clipped, whether such are dropped of which less is left than the part,
    the area and the size that follow. made: like boxes; kept: (B,); faults: (B,).
    """
    form, relative, form_after, relative_after = forms
    clip, drop, least_part, least_area, least_size = policy
    rows = tracks.shape[1]
    low, high, place, one = np.zeros(3), np.ones(3), np.empty(3), np.ones(3)
    least, most = np.empty(3), np.empty(3)
    corners = np.empty((most_corners(4, rows), 2))
    scratch = np.empty((most_corners(4, rows), 2))
    number = 0
    for i in range(len(counts)):
        track = tracks[i]
        matrix = np.ascontiguousarray(track[MATRIX : MATRIX + 4, :4])
        before = track[FIRST, 4:7] if relative else one
        after = track[NOW, 4:7] if relative_after else one
        for _ in range(counts[i]):
            fault = read_box(boxes[number], axes, form, before, (low, high))
            for axis in range(axes):
                outside = high[axis] <= 0.0 or low[axis] >= track[FIRST, 4 + axis]
                fault = OUTSIDE if fault == FINE and outside else fault
            faults[number], kept[number] = fault, False
            if fault == NOT_FINITE:
                for k in range(2 * axes):
                    made[number, k] = 0.0
                number += 1
                continue
            part, left = 0.0, 0
            if axes == 2:
                part, left = _part_seen(track, low, high, corners, scratch)
            if not hull(matrix, low, high, axes, (least, most), place):
                _around_seen(track, matrix, axes, corners, left, (least, most))
            whole, seen, smallest, area = clip_ends(track, axes, clip, (least, most))
            if axes == 3:
                part = seen / whole if whole > 0.0 else 0.0
            write_box(least, most, axes, form_after, after, made[number])
            fits = part > 0.0 and seen > 0.0 and part >= least_part
            fits = fits and area >= least_area and smallest >= least_size
            kept[number] = fits or not drop
            number += 1
