"""Affine maps of images and volumes: where each output pixel comes from.

The place of the first pixel of a row is ((t + a * 0.5) + b * y) + c * z, in float32 and in this
order, with y and z at the centers of pixels. From there x takes steps of a, which are added up,
again after each 256 pixels, from a start that grows by 256 * a. So does DALI: the place of
a pixel is part of the result.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32Vector, F32Volume, I64Table, Number, Slabs

from .rows import warp_row
from .volume import linear_voxels, nearest_voxels

TILE: Final = 256


@op.jit
def _places(start: np.float32, step: np.float32, count: int, out: F32Vector) -> None:
    """The coordinate of `count` pixels of a row, from that of the first one."""
    tile = np.float32(TILE) * step
    for first in range(0, count, TILE):
        place = start
        for k in range(first, min(first + TILE, count)):
            out[k] = place
            place += step
        start += tile


@op.jit
def warp_planes(
    slabs: Slabs,
    shapes: I64Table,
    sizes: I64Table,
    matrices: F32Volume,
    rows: I64Table,
    outside: tuple[bool, bool, Number, np.float32],
    begin: int,
    end: int,
) -> None:
    """Warp samples of shapes (F, H, W, C) to sizes (H, W).

    matrices: (M, 2, 3); rows: (N, 2), the first matrix of a sample, and 1 if each frame has its
    own, else 0; outside: as `warp_row` takes it.
    """
    src, src_offsets, dst, dst_offsets = slabs
    half = np.float32(0.5)
    longest = 0
    for i in range(begin, end):
        longest = max(longest, sizes[i, 1])
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    for i in range(begin, end):
        height, width, channels = shapes[i, 1], shapes[i, 2], shapes[i, 3]
        out_height, out_width = sizes[i, 0], sizes[i, 1]
        for frame in range(shapes[i, 0]):
            m = matrices[rows[i, 0] + frame * rows[i, 1]]
            base = src_offsets[i] + frame * height * width * channels
            for y in range(out_height):
                middle = np.float32(y) + half
                _places((m[0, 2] + half * m[0, 0]) + middle * m[0, 1], m[0, 0], out_width, xs)
                _places((m[1, 2] + half * m[1, 0]) + middle * m[1, 1], m[1, 0], out_width, ys)
                to = dst_offsets[i] + (frame * out_height + y) * out_width * channels
                image = (src, base, shapes[i, 1:])
                warp_row(image, (xs, ys), out_width, outside, (dst, to))


@op.jit
def warp_volumes(
    slabs: Slabs,
    shapes: I64Table,
    sizes: I64Table,
    matrices: F32Volume,
    rows: I64Table,
    outside: tuple[bool, bool, np.float32, np.float32],
    begin: int,
    end: int,
) -> None:
    """As `warp_planes`, for samples (F, D, H, W, C), sizes (D, H, W) and matrices (M, 3, 4)."""
    src, src_offsets, dst, dst_offsets = slabs
    linear, filled, fill, soft_fill = outside
    half = np.float32(0.5)
    longest = 0
    for i in range(begin, end):
        longest = max(longest, sizes[i, 2])
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    zs = np.empty(longest, np.float32)
    for i in range(begin, end):
        depth, height, width, channels = shapes[i, 1], shapes[i, 2], shapes[i, 3], shapes[i, 4]
        count = sizes[i, 2]
        for frame in range(shapes[i, 0]):
            m = matrices[rows[i, 0] + frame * rows[i, 1]]
            base = src_offsets[i] + frame * depth * height * width * channels
            for z in range(sizes[i, 0]):
                far = np.float32(z) + half
                for y in range(sizes[i, 1]):
                    mid = np.float32(y) + half
                    start = ((m[0, 3] + half * m[0, 0]) + mid * m[0, 1]) + far * m[0, 2]
                    _places(start, m[0, 0], count, xs)
                    start = ((m[1, 3] + half * m[1, 0]) + mid * m[1, 1]) + far * m[1, 2]
                    _places(start, m[1, 0], count, ys)
                    start = ((m[2, 3] + half * m[2, 0]) + mid * m[2, 1]) + far * m[2, 2]
                    _places(start, m[2, 0], count, zs)
                    line = (frame * sizes[i, 0] + z) * sizes[i, 1] + y
                    to = dst_offsets[i] + line * count * channels
                    image, places = (src, base, shapes[i, 1:]), (xs, ys, zs)
                    if linear:
                        linear_voxels(image, places, count, filled, soft_fill, (dst, to))
                    else:
                        nearest_voxels(image, places, count, filled, fill, (dst, to))
