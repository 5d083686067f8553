"""Warps with the arithmetic of torchvision's functions on tensors: places, and pixels from them.

torchvision makes a grid of places from -1 to 1, by products of small float32 matrices, and torch's
`grid_sample` takes pixels from there. The products are rounded one by one; in `grid_sample` sums of
products are rounded once, as `fused` does.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.types.arrays import F32Table, F32Vector, I64Table, Slabs, Vector
from gradiva.ops.image.enhance.torch_colors import fused

_ZERO, _HALF, _ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)


@always_inline
def _place(x: np.float32, y: np.float32, map: F32Vector) -> tuple[np.float32, np.float32]:
    """Where a pixel comes from, in the grid; map: as `warp_by_torch` has it."""
    across, down = (x * map[0] + y * map[1]) + map[2], (x * map[3] + y * map[4]) + map[5]
    if map[8] != _ZERO:
        below = (x * map[6] + y * map[7]) + _ONE
        across, down = across / below - _ONE, down / below - _ONE
    return across, down


@always_inline
def _tap(
    source: Vector, first: int, place: tuple[np.float32, np.float32], rows: tuple[int, int, int]
) -> np.float32:
    """A pixel, or 0 outside; rows: height, width, elements from pixel to pixel."""
    height, width, pixel = rows
    x, y = place
    if x > np.float32(-1.0) and x < width and y > np.float32(-1.0) and y < height:
        return np.float32(source[first + (np.int64(y) * width + np.int64(x)) * pixel])
    return _ZERO


@op.jit
def warp_by_torch(
    slabs: Slabs,
    planes: tuple[I64Table, I64Table],
    maps: F32Table,
    fills: F32Table,
    flags: tuple[bool, bool],
    begin: int,
    end: int,
) -> None:
    """planes: of sources and targets, as `layout_planes` has them; maps: (N, 11), two rows of three
    numbers, the third row but for its 1, whether that row counts, and what is x and y of the first
    pixel; fills: (N, channels), the values outside; flags: whether to interpolate, and whether to
    fill, else 0 is mixed in as if it were a pixel."""
    source, sources, target, targets = slabs
    before, after = planes
    linear, filled = flags
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = before[i]
        _, rows, columns, _, next_pixel, next_step = after[i]
        map, whole = maps[i], target.itemsize == 1
        shape = height, width, pixel
        scale_x, scale_y = np.float32(width / 2), np.float32(height / 2)
        for y in range(rows):
            for x in range(columns):
                across, down = _place(np.float32(x) + map[9], np.float32(y) + map[10], map)
                place_x = fused(across + _ONE, scale_x, -_HALF)
                place_y = fused(down + _ONE, scale_y, -_HALF)
                left, top = np.floor(place_x), np.floor(place_y)
                west, north = place_x - left, place_y - top
                east, south = _ONE - west, _ONE - north
                if not linear:
                    left, top = np.rint(place_x), np.rint(place_y)
                corners = south * east, south * west, north * east, north * west
                right, below = left + _ONE, top + _ONE
                mask = _ZERO
                inside_left = left > np.float32(-1.0) and left < width
                inside_right = right > np.float32(-1.0) and right < width
                inside_top = top > np.float32(-1.0) and top < height
                inside_below = below > np.float32(-1.0) and below < height
                if linear:
                    mask = (_ONE if inside_left and inside_top else _ZERO) * corners[0]
                    mask = fused(_ONE if inside_right and inside_top else _ZERO, corners[1], mask)
                    mask = fused(_ONE if inside_left and inside_below else _ZERO, corners[2], mask)
                    mask = fused(_ONE if inside_right and inside_below else _ZERO, corners[3], mask)
                elif inside_left and inside_top:
                    mask = _ONE
                for frame in range(frames):
                    for c in range(channels):
                        first = sources[i] + (frame * channels * height * width) + c * step
                        value = _tap(source, first, (left, top), shape)
                        if linear:
                            value *= corners[0]
                            value = fused(
                                _tap(source, first, (right, top), shape), corners[1], value
                            )
                            value = fused(
                                _tap(source, first, (left, below), shape), corners[2], value
                            )
                            value = fused(
                                _tap(source, first, (right, below), shape), corners[3], value
                            )
                            if filled:
                                value = (value - fills[i, c]) * mask + fills[i, c]
                        elif filled and mask == _ZERO:
                            value = fills[i, c]
                        if whole:
                            value = np.rint(value) if value == value else _ZERO
                        to = targets[i] + frame * channels * rows * columns + c * next_step
                        target[to + (y * columns + x) * next_pixel] = value
