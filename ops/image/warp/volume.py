"""Rows of voxels taken from given places of a volume, by the rules of `rows`."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import F32Vector, I64Vector


@op.jit
def bounded(place: np.float32, size: int) -> int:
    """The index of the pixel that holds `place`, or of the nearest one; NaN: 0."""
    if not place >= np.float32(0.0):
        return 0
    if place >= np.float32(size):
        return size - 1
    # A large size may round up in float32.
    return min(int(place), size - 1)


@op.jit
def split(place: np.float32, size: int) -> tuple[int, np.float32]:
    """The index of the first of two taps, from -2 to `size`, and the weight of the second one."""
    shifted = place - np.float32(0.5)
    whole = np.floor(shifted)
    # The weight counts outside too, where both taps are equal: a * (1 - q) + a * q may not be a.
    weight = shifted - whole
    if not (weight >= np.float32(0.0)):
        weight = np.float32(0.0)
    if not (whole >= np.float32(-2.0)):
        return -2, weight
    if whole >= np.float32(size):
        return size, weight
    return int(whole), weight


@op.jit
def nearest_voxels(
    image: tuple[F32Vector, int, I64Vector],
    places: tuple[F32Vector, F32Vector, F32Vector],
    count: int,
    filled: bool,
    fill: np.float32,
    target: tuple[F32Vector, int],
) -> None:
    """As `nearest_row`, for places (xs, ys, zs) of a volume of shape (D, H, W, C)."""
    (src, base, shape), (xs, ys, zs), (dst, to) = image, places, target
    depth, height, width, channels = shape
    zero = np.float32(0.0)
    for k in range(count):
        x, y, z = xs[k], ys[k], zs[k]
        d = to + k * channels
        inside = x >= zero and x < np.float32(width) and y >= zero and y < np.float32(height)
        inside = inside and z >= zero and z < np.float32(depth)
        if filled and not inside:
            for c in range(channels):
                dst[d + c] = fill
            continue
        plane = bounded(z, depth) * height + bounded(y, height)
        s = base + (plane * width + bounded(x, width)) * channels
        for c in range(channels):
            dst[d + c] = convert_sat(src[s + c], dst)


@op.jit
def _line(
    image: tuple[F32Vector, int, I64Vector],
    row: int,
    inside: bool,
    x: int,
    qx: np.float32,
    c: int,
    filled: bool,
    fill: np.float32,
) -> np.float32:
    """One value on the row of voxels at src[row:]."""
    src, _, (_, _, width, channels) = image
    if filled:
        a = np.float32(src[row + x * channels + c]) if inside and 0 <= x < width else fill
        right = inside and 0 <= x + 1 < width
        b = np.float32(src[row + (x + 1) * channels + c]) if right else fill
    else:
        a = np.float32(src[row + min(max(x, 0), width - 1) * channels + c])
        b = np.float32(src[row + min(max(x + 1, 0), width - 1) * channels + c])
    return a * (np.float32(1.0) - qx) + b * qx


@op.jit
def linear_voxels(
    image: tuple[F32Vector, int, I64Vector],
    places: tuple[F32Vector, F32Vector, F32Vector],
    count: int,
    filled: bool,
    fill: np.float32,
    target: tuple[F32Vector, int],
) -> None:
    """As `nearest_voxels`, with weights along x, then y, then a + (b - a) * q along z."""
    (_, base, shape), (xs, ys, zs), (dst, to) = image, places, target
    depth, height, width, channels = shape
    pitch = width * channels
    for k in range(count):
        x, qx = split(xs[k], width)
        y, qy = split(ys[k], height)
        z, qz = split(zs[k], depth)
        d = to + k * channels
        for c in range(channels):
            value = np.float32(0.0)
            for far in range(2):
                layer = z + far
                behind = 0 <= layer < depth
                layer = min(max(layer, 0), depth - 1)
                first = min(max(y, 0), height - 1)
                second = min(max(y + 1, 0), height - 1)
                row = base + (layer * height + first) * pitch
                inside = behind and 0 <= y < height
                a = _line(image, row, inside, x, qx, c, filled, fill)
                row = base + (layer * height + second) * pitch
                inside = behind and 0 <= y + 1 < height
                b = _line(image, row, inside, x, qx, c, filled, fill)
                plane = a * (np.float32(1.0) - qy) + b * qy
                value = plane if far == 0 else value + (plane - value) * qz
            dst[d + c] = convert_sat(value, dst)
