"""What is left of a shape in the first image, where parts of it have been cut away."""

from __future__ import annotations

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F64Vector, Float64Array

from .track import COLUMNS, HEAD


@op.jit
def side(plane: F64Vector, x: float, y: float, z: float) -> float:
    """On which side of a plane a place is: below 0 it has been cut away."""
    return float(plane[0] * x + plane[1] * y + plane[2] * z + plane[3])


@op.jit
def is_seen(track: Float64Array, x: float, y: float, z: float) -> bool:
    """Whether a place of the first image has not been cut away."""
    # As `side`, without a view on each plane: this is asked of every point.
    for row in range(HEAD, len(track)):
        for k in range(0, COLUMNS, 4):
            at = track[row, k] * x + track[row, k + 1] * y + track[row, k + 2] * z
            if at + track[row, k + 3] < 0.0:
                return False
    return True


@op.jit
def most_corners(count: int, rows: int) -> int:
    """How many corners a convex polygon of so many can have, cut by all planes of a track, and some
    more."""
    return 2 * count + 2 * (rows - HEAD) + 4


@op.jit
def _cut(source: Float64Array, count: int, plane: F64Vector, target: Float64Array) -> int:
    """Cut a polygon, (corners, 2), by one plane; returns how many corners are left, of which there
    are at most twice as many. Several parts that are left hang together along the plane."""
    made = 0
    for k in range(count):
        if made + 2 > len(target):
            break  # no convex polygon gets so many, unless by what was rounded
        ax, ay = source[k, 0], source[k, 1]
        after = k + 1 if k + 1 < count else 0
        bx, by = source[after, 0], source[after, 1]
        a, b = side(plane, ax, ay, 0.0), side(plane, bx, by, 0.0)
        if a >= 0.0:
            target[made, 0], target[made, 1] = ax, ay
            made += 1
        if (a >= 0.0) != (b >= 0.0):
            t = a / (a - b)
            target[made, 0], target[made, 1] = ax + t * (bx - ax), ay + t * (by - ay)
            made += 1
    return made


@op.jit
def cut_by(plane: F64Vector, corners: Float64Array, count: int, scratch: Float64Array) -> int:
    """Cut a polygon, which is in `corners` before and after, by one plane; returns how many corners
    are left."""
    crosses = False
    for k in range(count):
        if side(plane, corners[k, 0], corners[k, 1], 0.0) < 0.0:
            crosses = True
    if crosses:
        count = _cut(corners, count, plane, scratch)
        for k in range(count):
            corners[k, 0], corners[k, 1] = scratch[k, 0], scratch[k, 1]
    return count


@op.jit
def cut_polygon(
    track: Float64Array, corners: Float64Array, count: int, scratch: Float64Array
) -> int:
    """Cut a polygon of the first image by all planes of a track; returns how many corners are left,
    which are in `corners` then.

    corners, scratch: (most_corners(count, R), 2).
    """
    for row in range(HEAD, len(track)):
        for half in range(0, COLUMNS, 4):
            count = cut_by(track[row, half : half + 4], corners, count, scratch)
    return count


@op.jit
def area_of(corners: Float64Array, count: int) -> float:
    """The area of a polygon, whatever its direction."""
    total = 0.0
    for k in range(1, count - 1):
        ax, ay = corners[k, 0] - corners[0, 0], corners[k, 1] - corners[0, 1]
        bx, by = corners[k + 1, 0] - corners[0, 0], corners[k + 1, 1] - corners[0, 1]
        total += ax * by - ay * bx
    return abs(total) * 0.5
