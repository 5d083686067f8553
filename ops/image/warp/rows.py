"""Rows of pixels taken from given places of an image: what all warping operators share.

A place (x, y) counts from the corner of the first pixel: pixel i covers i..i+1. Nearest neighbor
takes the pixel that holds the place. Linear interpolation takes the two nearest centers on each
axis, in float32, as a * (1 - q) + b * q along x, then a + (b - a) * q along y. Outside the image,
`filled` says whether there is `fill`, tap by tap, or the nearest pixel. A place that is not a
number is outside, or pixel 0.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.simd.pixel_vectors import blend_three
from gradiva.eager.types.arrays import F32Vector, I32Vector, I64Vector, Number, Vector


@op.jit
def _pixels_at(places: F32Vector, size: int, count: int, filled: bool, out: I32Vector) -> None:
    """The index of the pixel that holds each place, or of the nearest one (of NaN: 0); -1 for
    places outside if something fills there."""
    zero, end = np.float32(0.0), np.float32(size)
    for k in range(count):
        place = places[k]
        # In this order a NaN becomes 0; a large size may round up in float32.
        low = place if place >= zero else zero
        low = low if low < end else zero
        index = min(np.int32(low), np.int32(size - 1))
        index = np.int32(size - 1) if place >= end else index
        outside = not (place >= zero and place < end)
        out[k] = np.int32(-1) if filled and outside else index


@op.jit
def _split(
    places: F32Vector, size: int, count: int, indices: I32Vector, weights: F32Vector
) -> None:
    """The index of the first of two taps, from -2 to `size`, and the weight of the second one."""
    end = np.float32(size)
    for k in range(count):
        shifted = places[k] - np.float32(0.5)
        whole = np.floor(shifted)
        # It counts outside too, where both taps are equal: a * (1 - q) + a * q may not be a.
        weight = shifted - whole
        weights[k] = weight if weight >= np.float32(0.0) else np.float32(0.0)
        inside = whole if whole >= np.float32(-2.0) else np.float32(-2.0)
        inside = inside if inside < end else np.float32(-2.0)
        index = np.int32(inside)
        indices[k] = np.int32(size) if whole >= end else index


@op.jit
def nearest_row(
    image: tuple[Vector, int, I64Vector],
    places: tuple[F32Vector, F32Vector],
    count: int,
    filled: bool,
    fill: Number,
    target: tuple[Vector, int],
) -> None:
    """A row of `count` pixels at places (xs, ys) of an image: the slab, where it begins there, and
    its shape (H, W, C); to a slab and the place there. `fill` is of the dtype of that slab."""
    (src, base, shape), (xs, ys), (dst, to) = image, places, target
    height, width, channels = shape
    indices = np.empty((2, count), np.int32)
    _pixels_at(xs, width, count, filled, indices[0])
    _pixels_at(ys, height, count, filled, indices[1])
    for k in range(count):
        x, y = np.int64(indices[0, k]), np.int64(indices[1, k])
        d = to + k * channels
        if x < 0 or y < 0:
            for c in range(channels):
                dst[d + c] = fill
            continue
        s = base + (y * width + x) * channels
        if channels == 3:
            dst[d] = convert_sat(src[s], dst)
            dst[d + 1] = convert_sat(src[s + 1], dst)
            dst[d + 2] = convert_sat(src[s + 2], dst)
        else:
            for c in range(channels):
                dst[d + c] = convert_sat(src[s + c], dst)


@op.jit
def _blend(
    src: Vector, p: int, right: int, below: int, qx: np.float32, qy: np.float32
) -> np.float32:
    """Four taps: p, p + right, p + below, p + below + right."""
    a, b = np.float32(src[p]), np.float32(src[p + right])
    c, e = np.float32(src[p + below]), np.float32(src[p + below + right])
    px = np.float32(1.0) - qx
    top = a * px + b * qx
    return top + ((c * px + e * qx) - top) * qy


@op.jit
def _tap(src: Vector, at: int, inside: bool, fill: np.float32) -> np.float32:
    """One value of the image, or `fill` outside of it."""
    return np.float32(src[at]) if inside else fill


@op.jit
def linear_row(
    image: tuple[Vector, int, I64Vector],
    places: tuple[F32Vector, F32Vector],
    count: int,
    filled: bool,
    fill: np.float32,
    target: tuple[Vector, int],
) -> None:
    """As `nearest_row`, with linear interpolation; `fill` is float32."""
    (src, base, shape), (xs, ys), (dst, to) = image, places, target
    height, width, channels = shape
    pitch = width * channels
    indices, weights = np.empty((2, count), np.int32), np.empty((2, count), np.float32)
    _split(xs, width, count, indices[0], weights[0])
    _split(ys, height, count, indices[1], weights[1])
    # One element more: `blend_three` writes it. All are converted at once, which vectorizes.
    row = np.empty(count * channels + 1, np.float32)
    for k in range(count):
        x, y = np.int64(indices[0, k]), np.int64(indices[1, k])
        qx, qy = weights[0, k], weights[1, k]
        d = k * channels
        p = base + y * pitch + x * channels
        if 0 <= x < width - 1 and 0 <= y < height - 1:
            if channels == 3 and p + pitch + 7 <= src.size:
                blend_three(src, p, 3, pitch, qx, qy, row, d)
            else:
                for c in range(channels):
                    row[d + c] = _blend(src, p + c, channels, pitch, qx, qy)
        elif filled:
            left, right = 0 <= x < width, 0 <= x + 1 < width
            above, below = 0 <= y < height, 0 <= y + 1 < height
            px = np.float32(1.0) - qx
            for c in range(channels):
                a = _tap(src, p + c, above and left, fill)
                b = _tap(src, p + c + channels, above and right, fill)
                top = a * px + b * qx
                a = _tap(src, p + c + pitch, below and left, fill)
                b = _tap(src, p + c + pitch + channels, below and right, fill)
                row[d + c] = top + ((a * px + b * qx) - top) * qy
        else:
            x0, x1 = min(max(x, 0), width - 1), min(max(x + 1, 0), width - 1)
            y0, y1 = min(max(y, 0), height - 1), min(max(y + 1, 0), height - 1)
            p = base + y0 * pitch + x0 * channels
            right_by, below_by = (x1 - x0) * channels, (y1 - y0) * pitch
            for c in range(channels):
                row[d + c] = _blend(src, p + c, right_by, below_by, qx, qy)
    result = dst[to : to + count * channels]
    for k in range(count * channels):
        result[k] = convert_sat(row[k], dst)


@op.jit
def warp_row(
    image: tuple[Vector, int, I64Vector],
    places: tuple[F32Vector, F32Vector],
    count: int,
    outside: tuple[bool, bool, Number, np.float32],
    target: tuple[Vector, int],
) -> None:
    """`linear_row` or `nearest_row`; outside: whether linear, whether filled, and what they fill
    with: for nearest neighbor, for linear."""
    linear, filled, fill, soft_fill = outside
    if linear:
        linear_row(image, places, count, filled, soft_fill, target)
    else:
        nearest_row(image, places, count, filled, fill, target)
