"""Places in images that operators have bent: where they go, and where they come from."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, F64Vector, Float32Array, Float64Array

from .clipping import is_seen
from .track import FIRST, MATRIX, moved

BLOCK: Final = 16
"""Cells along a side of a block, whose bounds are known."""
_EDGE: Final = 1e-6
"""By which a place may lie beside a triangle, in parts of it: what is rounded opens no gaps."""


@op.jit
def bounds_of(grid: Float32Array) -> Float64Array:
    """The ends of what each block of cells comes from: (rows, columns, 4), low x, y, high x, y."""
    rows, columns = (
        (grid.shape[0] - 1 + BLOCK - 1) // BLOCK,
        (grid.shape[1] - 1 + BLOCK - 1) // BLOCK,
    )
    made = np.empty((rows, columns, 4))
    for row in range(rows):
        for column in range(columns):
            least_x, least_y, most_x, most_y = np.inf, np.inf, -np.inf, -np.inf
            for j in range(row * BLOCK, min((row + 1) * BLOCK + 1, grid.shape[0])):
                for i in range(column * BLOCK, min((column + 1) * BLOCK + 1, grid.shape[1])):
                    x, y = np.float64(grid[j, i, 0]), np.float64(grid[j, i, 1])
                    if x < least_x:
                        least_x = x
                    if x > most_x:
                        most_x = x
                    if y < least_y:
                        least_y = y
                    if y > most_y:
                        most_y = y
            made[row, column, 0], made[row, column, 1] = least_x, least_y
            made[row, column, 2], made[row, column, 3] = most_x, most_y
    return made


@op.jit
def corner_of(grid: Float32Array, j: int, i: int, upper: int, corners: Float64Array) -> None:
    """The corners of a triangle of cell (j, i), (3, 4): places before, x and y, and after. upper: 0
    for the triangle at the low corner, 1 for the other."""
    for k in range(3):
        across = (1 if k == 1 else 0) if upper == 0 else (0 if k == 1 else 1)
        down = (1 if k == 2 else 0) if upper == 0 else (0 if k == 2 else 1)
        corners[k, 0] = grid[j + down, i + across, 0]
        corners[k, 1] = grid[j + down, i + across, 1]
        corners[k, 2] = i + across - 0.5
        corners[k, 3] = j + down - 0.5


@op.jit
def goes_to(grid: Float32Array, bounds: Float64Array, x: float, y: float, place: F64Vector) -> bool:
    """Where a place of the image before the operator is after it; False if it is nowhere. Of
    several such places that is taken which has moved least."""
    found, best = False, np.inf
    corners = np.empty((3, 4))
    for row in range(bounds.shape[0]):
        for column in range(bounds.shape[1]):
            low_x, low_y = bounds[row, column, 0] - _EDGE, bounds[row, column, 1] - _EDGE
            high_x, high_y = bounds[row, column, 2] + _EDGE, bounds[row, column, 3] + _EDGE
            if not (low_x <= x <= high_x and low_y <= y <= high_y):
                continue
            for j in range(row * BLOCK, min((row + 1) * BLOCK, grid.shape[0] - 1)):
                for i in range(column * BLOCK, min((column + 1) * BLOCK, grid.shape[1] - 1)):
                    for upper in range(2):
                        corner_of(grid, j, i, upper, corners)
                        ax, ay = corners[1, 0] - corners[0, 0], corners[1, 1] - corners[0, 1]
                        bx, by = corners[2, 0] - corners[0, 0], corners[2, 1] - corners[0, 1]
                        area = ax * by - ay * bx
                        if not abs(area) > 0.0:
                            continue
                        dx, dy = x - corners[0, 0], y - corners[0, 1]
                        u, v = (dx * by - dy * bx) / area, (ax * dy - ay * dx) / area
                        if not (u >= -_EDGE and v >= -_EDGE and u + v <= 1.0 + _EDGE):
                            continue
                        px = corners[0, 2] + u * (corners[1, 2] - corners[0, 2])
                        py = corners[0, 3] + v * (corners[2, 3] - corners[0, 3])
                        far = (px - x) * (px - x) + (py - y) * (py - y)
                        if far < best:
                            best, found = far, True
                            place[0], place[1] = px, py
    return found


@op.jit
def comes_from(grid: Float32Array, x: float, y: float, place: F64Vector) -> bool:
    """Where a place of the image after the operator comes from; False outside of the grid."""
    gx, gy = x + 0.5, y + 0.5
    i, j = math.floor(gx), math.floor(gy)
    if not (0 <= i < grid.shape[1] - 1 and 0 <= j < grid.shape[0] - 1):
        return False
    u, v = gx - i, gy - j
    for axis in range(2):
        right, below = np.float64(grid[j, i + 1, axis]), np.float64(grid[j + 1, i, axis])
        if u + v <= 1.0:
            low = np.float64(grid[j, i, axis])
            place[axis] = low + u * (right - low) + v * (below - low)
        else:
            high = np.float64(grid[j + 1, i + 1, axis])
            place[axis] = high + (1.0 - u) * (below - high) + (1.0 - v) * (right - high)
    return True


@op.jit
def carry_points(
    track: Float64Array,
    grid: Float32Array,
    bounds: Float64Array,
    size: tuple[int, int],
    points: Float64Array,
    seen: BoolVector,
) -> None:
    """Move points through a track, and the operator that bends the image behind it.

    size: height and width after it; points: (P, 2), in the image that the track begins with; seen:
    (P,), whether they are to be seen, also afterwards.
    """
    matrix = np.ascontiguousarray(track[MATRIX : MATRIX + 4, :4])
    place = np.empty(3)
    height, width = size
    for k in range(len(points)):
        x, y = points[k, 0], points[k, 1]
        inside = 0.0 <= x <= track[FIRST, 4] and 0.0 <= y <= track[FIRST, 5]
        seen[k] = seen[k] and inside and is_seen(track, x, y, 0.5)
        w = moved(matrix, x, y, 0.5, place)
        seen[k] = seen[k] and w > 0.0
        if not seen[k]:
            continue
        if grid.shape[0] > 0:
            seen[k] = goes_to(grid, bounds, place[0], place[1], place)
        seen[k] = seen[k] and 0.0 <= place[0] <= width and 0.0 <= place[1] <= height
        points[k, 0], points[k, 1] = place[0], place[1]


@op.jit
def bring_back(
    track: Float64Array, back: Float64Array, grid: Float32Array, place: F64Vector
) -> bool:
    """Take a place from the image after an operator that bends it to the image that the track
    before begins with; False if there is none."""
    if grid.shape[0] > 0 and not comes_from(grid, place[0], place[1], place):
        return False
    w = moved(back, place[0], place[1], 0.5, place)
    inside = 0.0 <= place[0] < track[FIRST, 4] and 0.0 <= place[1] < track[FIRST, 5]
    return bool(w > 0.0 and inside and is_seen(track, place[0], place[1], 0.5))
