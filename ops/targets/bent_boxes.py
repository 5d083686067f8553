"""Moving boxes through operators that bend images: by the outline of what is seen of each."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, F64Vector, Float32Array, Float64Array, I64Vector

from .bending import BLOCK, bounds_of, corner_of
from .box_moves import FINE, NOT_FINITE, OUTSIDE, clip_ends, read_box, write_box
from .clipping import area_of, cut_by, cut_polygon
from .past import Bend
from .track import FIRST, HEAD, MATRIX, NOW, moved

DIRECTIONS: Final = 64
"""An outline is the least convex polygon whose sides look in so many directions."""
_ROOM: Final = 512
"""Corners that a polygon can have."""


@op.jit
def outlines_of(
    boxes: Float64Array,
    track: Float64Array,
    form: tuple[int, bool],
    outlines: Float64Array,
    counts: I64Vector,
    parts: F64Vector,
    faults: I64Vector,
) -> None:
    """The outlines of the boxes of a sample, cut at the edges of the image.

    boxes: (B, 4); form: their format, and whether it is relative. Filled in are outlines (B, 64,
    2), the counts of their corners (B,), parts (B,), 1, and faults (B,).
    """
    low, high, one = np.zeros(3), np.ones(3), np.ones(3)
    unit = track[FIRST, 4:7] if form[1] else one
    for k in range(len(boxes)):
        fault = read_box(boxes[k], 2, form[0], unit, (low, high))
        counts[k], parts[k] = 0, 0.0
        if fault != NOT_FINITE:
            outside = high[0] <= 0.0 or low[0] >= track[FIRST, 4]
            outside = outside or high[1] <= 0.0 or low[1] >= track[FIRST, 5]
            fault = OUTSIDE if fault == FINE and outside else fault
            left, top = max(low[0], 0.0), max(low[1], 0.0)
            right, bottom = min(high[0], track[FIRST, 4]), min(high[1], track[FIRST, 5])
            if right > left and bottom > top:
                outlines[k, 0, 0], outlines[k, 0, 1] = left, top
                outlines[k, 1, 0], outlines[k, 1, 1] = right, top
                outlines[k, 2, 0], outlines[k, 2, 1] = right, bottom
                outlines[k, 3, 0], outlines[k, 3, 1] = left, bottom
                counts[k], parts[k] = 4, 1.0
        faults[k] = fault


@op.jit
def _move_polygon(matrix: Float64Array, corners: Float64Array, count: int) -> bool:
    """Move the corners of a polygon; False if one goes to no place."""
    place = np.empty(3)
    for k in range(count):
        if not moved(matrix, corners[k, 0], corners[k, 1], 0.5, place) > 0.0:
            return False
        corners[k, 0], corners[k, 1] = place[0], place[1]
    return True


@op.jit
def _planes_of(corners: Float64Array, count: int, planes: Float64Array) -> int:
    """The half planes whose common part is a convex polygon, (count, 4); returns how many there
    are."""
    turn = 0.0
    for k in range(1, count - 1):
        ax, ay = corners[k, 0] - corners[0, 0], corners[k, 1] - corners[0, 1]
        bx, by = corners[k + 1, 0] - corners[0, 0], corners[k + 1, 1] - corners[0, 1]
        turn += ax * by - ay * bx
    sign, made = 1.0 if turn > 0.0 else -1.0, 0
    for k in range(count):
        after = k + 1 if k + 1 < count else 0
        dx, dy = corners[after, 0] - corners[k, 0], corners[after, 1] - corners[k, 1]
        if dx * dx + dy * dy > 1e-18:
            planes[made, 0], planes[made, 1], planes[made, 2] = -dy * sign, dx * sign, 0.0
            planes[made, 3] = (dy * corners[k, 0] - dx * corners[k, 1]) * sign
            made += 1
    return made


@op.jit
def _reach(
    place_x: float, place_y: float, looks: Float64Array, most: F64Vector, outline: Float64Array
) -> None:
    """Let an outline hold a place."""
    for k in range(len(most)):
        along = place_x * looks[k, 0] + place_y * looks[k, 1]
        if along > most[k]:
            most[k] = along
            outline[k, 0], outline[k, 1] = place_x, place_y


@op.jit
def _cut_triangle(
    corners: Float64Array, planes: Float64Array, sides: int, piece: Float64Array
) -> tuple[int, bool]:
    """The part of a triangle that is in a convex polygon; returns how many corners it has, and
    whether it is all of it. piece: (512, 2), which is filled in."""
    inside = True
    for side in range(sides):
        behind = 0
        for k in range(3):
            at = planes[side, 0] * corners[k, 0] + planes[side, 3]
            if not at + planes[side, 1] * corners[k, 1] >= 0.0:
                inside = False
                behind += 1
        if behind == 3:
            return 0, False
    for k in range(3):
        piece[k, 0], piece[k, 1] = corners[k, 0], corners[k, 1]
    left = 3
    if not inside:
        scratch = np.empty((_ROOM, 2))
        for side in range(sides):
            if left > 0 and 2 * left + 2 < _ROOM:
                left = cut_by(planes[side], piece, left, scratch)
    return left, inside


@op.jit
def _reach_piece(
    corners: Float64Array,
    piece: Float64Array,
    left: int,
    size: tuple[int, int],
    looks: Float64Array,
    most: F64Vector,
    outline: Float64Array,
) -> None:
    """Let an outline hold where a part of a triangle goes."""
    ax, ay = corners[1, 0] - corners[0, 0], corners[1, 1] - corners[0, 1]
    bx, by = corners[2, 0] - corners[0, 0], corners[2, 1] - corners[0, 1]
    area = ax * by - ay * bx
    if not abs(area) > 0.0:
        return
    for k in range(left):
        dx, dy = piece[k, 0] - corners[0, 0], piece[k, 1] - corners[0, 1]
        u, v = (dx * by - dy * bx) / area, (ax * dy - ay * dx) / area
        x = corners[0, 2] + u * (corners[1, 2] - corners[0, 2])
        y = corners[0, 3] + v * (corners[2, 3] - corners[0, 3])
        _reach(min(max(x, 0.0), size[1]), min(max(y, 0.0), size[0]), looks, most, outline)


@op.jit
def _bend_block(
    grid: Float32Array,
    rows: tuple[int, int],
    size: tuple[int, int],
    planes: Float64Array,
    looks: Float64Array,
    most: F64Vector,
    outline: Float64Array,
) -> float:
    """Let an outline hold what is seen, in a block of cells, of a convex polygon; returns the area
    of that before the operator. rows: the numbers of the block, down and across."""
    corners, piece = np.empty((3, 4)), np.empty((_ROOM, 2))
    high, wide, seen = grid.shape[0] - 1, grid.shape[1] - 1, 0.0
    for j in range(rows[0] * BLOCK, min((rows[0] + 1) * BLOCK, high)):
        for i in range(rows[1] * BLOCK, min((rows[1] + 1) * BLOCK, wide)):
            # Of the cells at the border, the half that is in the image counts.
            weight = 0.5 if i == 0 or i == wide - 1 else 1.0
            weight *= 0.5 if j == 0 or j == high - 1 else 1.0
            for upper in range(2):
                corner_of(grid, j, i, upper, corners)
                left, inside = _cut_triangle(corners, planes, len(planes), piece)
                if left < 3:
                    continue
                seen += weight * area_of(piece, left)
                if not inside or weight < 1.0:  # else what is around it reaches farther
                    _reach_piece(corners, piece, left, size, looks, most, outline)
    return seen


@op.jit
def _bend(
    grid: Float32Array,
    bounds: Float64Array,
    size: tuple[int, int],
    outline: Float64Array,
    count: int,
    looks: Float64Array,
) -> tuple[int, float]:
    """Bend a convex polygon, which is replaced by its outline; returns how many corners that has,
    and the part of the area that is seen."""
    whole = area_of(outline, count)
    room = np.empty((count, 4))
    planes = room[: _planes_of(outline, count, room)]
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for k in range(count):
        low_x, high_x = min(low_x, outline[k, 0]), max(high_x, outline[k, 0])
        low_y, high_y = min(low_y, outline[k, 1]), max(high_y, outline[k, 1])
    most, made, seen = np.full(DIRECTIONS, -np.inf), np.zeros((DIRECTIONS, 2)), 0.0
    for row in range(bounds.shape[0]):
        for column in range(bounds.shape[1]):
            block = bounds[row, column]
            near = block[0] <= high_x and block[2] >= low_x
            near = near and block[1] <= high_y and block[3] >= low_y
            if near:
                seen += _bend_block(grid, (row, column), size, planes, looks, most, made)
    if not seen > 0.0 or not whole > 0.0:
        return 0, 0.0
    for k in range(DIRECTIONS):
        outline[k, 0], outline[k, 1] = made[k, 0], made[k, 1]
    return DIRECTIONS, min(seen / whole, 1.0)


@op.jit
def carry_outlines(
    track: Float64Array,
    grid: Float32Array,
    bounds: Float64Array,
    size: tuple[int, int],
    outlines: Float64Array,
    counts: I64Vector,
    parts: F64Vector,
) -> None:
    """Move outlines through a track, and the operator that bends the image behind it: what is not
    seen is cut away, and left out of their parts."""
    matrix = np.ascontiguousarray(track[MATRIX : MATRIX + 4, :4])
    corners, scratch = np.empty((_ROOM, 2)), np.empty((_ROOM, 2))
    looks = np.empty((DIRECTIONS, 2))
    for k in range(DIRECTIONS):
        turn = 2.0 * np.pi * k / DIRECTIONS
        looks[k, 0], looks[k, 1] = np.cos(turn), np.sin(turn)
    for one in range(len(outlines)):
        count = counts[one]
        if count < 3:
            continue
        for k in range(count):
            corners[k, 0], corners[k, 1] = outlines[one, k, 0], outlines[one, k, 1]
        whole = area_of(corners, count)
        count = cut_polygon(track, corners, count, scratch)
        area = area_of(corners, count)
        if count < 3 or not area > 0.0 or not _move_polygon(matrix, corners, count):
            counts[one], parts[one] = 0, 0.0
            continue
        parts[one] *= area / whole
        if grid.shape[0] > 0:
            count, part = _bend(grid, bounds, size, corners, count, looks)
            parts[one] *= part
        elif count > DIRECTIONS:
            most, made = np.full(DIRECTIONS, -np.inf), np.zeros((DIRECTIONS, 2))
            for k in range(count):
                _reach(corners[k, 0], corners[k, 1], looks, most, made)
            count = DIRECTIONS
            corners[:count] = made
        counts[one] = count
        for k in range(count):
            outlines[one, k, 0], outlines[one, k, 1] = corners[k, 0], corners[k, 1]


@op.jit
def boxes_around(
    outlines: Float64Array,
    counts: I64Vector,
    parts: F64Vector,
    track: Float64Array,
    form: tuple[int, bool],
    policy: tuple[bool, bool, float, float, float],
    made: Float64Array,
    kept: BoolVector,
) -> None:
    """The boxes around outlines, after the track that they follow now, and which of these are left.
    form: the format that they get, and whether it is relative; policy: as in `move_boxes`."""
    clip, drop, least_part, least_area, least_size = policy
    matrix = np.ascontiguousarray(track[MATRIX : MATRIX + 4, :4])
    least, most, one = np.zeros(3), np.ones(3), np.ones(3)
    corners, scratch, place = np.empty((_ROOM, 2)), np.empty((_ROOM, 2)), np.empty(3)
    unit = track[NOW, 4:7] if form[1] else one
    for number in range(len(outlines)):
        count = counts[number]
        for k in range(count):
            corners[k, 0], corners[k, 1] = outlines[number, k, 0], outlines[number, k, 1]
        part, whole = parts[number], area_of(corners, count)
        left = cut_polygon(track, corners, count, scratch)
        part = part * area_of(corners, left) / whole if whole > 0.0 else 0.0
        found = False
        least[0], least[1], most[0], most[1] = np.inf, np.inf, -np.inf, -np.inf
        for k in range(count):
            if moved(matrix, outlines[number, k, 0], outlines[number, k, 1], 0.5, place) > 0.0:
                found = True
                for axis in range(2):
                    least[axis] = min(least[axis], place[axis])
                    most[axis] = max(most[axis], place[axis])
        if not found:
            least[0], least[1], most[0], most[1] = 0.0, 0.0, 0.0, 0.0
        _, seen, smallest, area = clip_ends(track, 2, clip, (least, most))
        write_box(least, most, 2, form[0], unit, made[number])
        fits = part > 0.0 and seen > 0.0 and part >= least_part
        fits = fits and area >= least_area and smallest >= least_size
        kept[number] = fits or not drop


def move_bent_boxes(
    boxes: Float64Array,
    counts: I64Vector,
    tracks: Float64Array,
    pasts: list[list[Bend]],
    forms: tuple[int, bool, int, bool],
    policy: tuple[bool, bool, float, float, float],
    made: Float64Array,
    kept: BoolVector,
    faults: I64Vector,
) -> None:
    """As `move_boxes`, for images that operators have bent: pasts, of each sample."""
    first = 0
    for sample, count in enumerate(counts.tolist()):
        rows = slice(first, first + count)
        first += count
        if count == 0:
            continue
        outlines, corners = np.zeros((count, DIRECTIONS, 2)), np.empty(count, np.int64)
        parts, bends = np.empty(count), pasts[sample]
        begin = bends[0].track if bends else np.ascontiguousarray(tracks[sample, :HEAD])
        facts = (outlines, corners, parts)
        outlines_of(boxes[rows], begin, (forms[0], forms[1]), *facts, faults[rows])
        for bend in bends:
            bounds = bounds_of(bend.grid) if bend.grid.size else np.empty((0, 0, 4))
            carry_outlines(bend.track, bend.grid, bounds, (bend.height, bend.width), *facts)
        to = (made[rows], kept[rows])
        boxes_around(*facts, tracks[sample], (forms[2], forms[3]), policy, *to)
