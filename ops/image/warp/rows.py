"""Rows of pixels taken from given places of an image: what all warping operators share.

A place (x, y) counts from the corner of the first pixel: pixel i covers i..i+1. Nearest neighbor
takes the pixel that holds the place. Linear interpolation takes the two nearest centers on each
axis, in float32, as a * (1 - q) + b * q along x, then a + (b - a) * q along y. Outside the image,
`filled` says whether there is `fill`, tap by tap, or the nearest pixel. A place that is not a
number is outside, or pixel 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.convert import convert_sat


@op.jit
def bounded(place: Any, size: int) -> int:
    """The index of the pixel that holds `place`, or of the nearest one; NaN: 0."""
    if not place >= np.float32(0.0):
        return 0
    if place >= np.float32(size):
        return size - 1
    # A large size may round up in float32.
    return min(int(place), size - 1)


@op.jit
def split(place: Any, size: int) -> Any:
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
def nearest_row(image: Any, places: Any, count: int, filled: bool, fill: Any, target: Any) -> None:
    """A row of `count` pixels at places (xs, ys) of an image: the slab, where it begins there, and
    its shape (H, W, C); to a slab and the place there. `fill` is of the dtype of that slab."""
    (src, base, shape), (xs, ys), (dst, to) = image, places, target
    height, width, channels = shape
    zero, right, bottom = np.float32(0.0), np.float32(width), np.float32(height)
    for k in range(count):
        x, y = xs[k], ys[k]
        d = to + k * channels
        if filled and not (x >= zero and x < right and y >= zero and y < bottom):
            for c in range(channels):
                dst[d + c] = fill
            continue
        s = base + (bounded(y, height) * width + bounded(x, width)) * channels
        if channels == 3:
            dst[d] = convert_sat(src[s], dst)
            dst[d + 1] = convert_sat(src[s + 1], dst)
            dst[d + 2] = convert_sat(src[s + 2], dst)
        else:
            for c in range(channels):
                dst[d + c] = convert_sat(src[s + c], dst)


@op.jit
def _blend(src: Any, p: int, right: int, below: int, qx: Any, qy: Any) -> Any:
    """Four taps: p, p + right, p + below, p + below + right."""
    a, b = np.float32(src[p]), np.float32(src[p + right])
    c, e = np.float32(src[p + below]), np.float32(src[p + below + right])
    px = np.float32(1.0) - qx
    top = a * px + b * qx
    return top + ((c * px + e * qx) - top) * qy


@op.jit
def _tap(src: Any, at: int, inside: bool, fill: Any) -> Any:
    return np.float32(src[at]) if inside else fill


@op.jit
def linear_row(image: Any, places: Any, count: int, filled: bool, fill: Any, target: Any) -> None:
    """As `nearest_row`, with linear interpolation; `fill` is float32."""
    (src, base, shape), (xs, ys), (dst, to) = image, places, target
    height, width, channels = shape
    pitch = width * channels
    for k in range(count):
        x, qx = split(xs[k], width)
        y, qy = split(ys[k], height)
        d = to + k * channels
        if 0 <= x < width - 1 and 0 <= y < height - 1:
            p = base + y * pitch + x * channels
            if channels == 3:
                dst[d] = convert_sat(_blend(src, p, 3, pitch, qx, qy), dst)
                dst[d + 1] = convert_sat(_blend(src, p + 1, 3, pitch, qx, qy), dst)
                dst[d + 2] = convert_sat(_blend(src, p + 2, 3, pitch, qx, qy), dst)
            elif channels == 1:
                dst[d] = convert_sat(_blend(src, p, 1, pitch, qx, qy), dst)
            else:
                for c in range(channels):
                    dst[d + c] = convert_sat(_blend(src, p + c, channels, pitch, qx, qy), dst)
        elif filled:
            left, right = 0 <= x < width, 0 <= x + 1 < width
            above, below = 0 <= y < height, 0 <= y + 1 < height
            p = base + y * pitch + x * channels
            px = np.float32(1.0) - qx
            for c in range(channels):
                a = _tap(src, p + c, above and left, fill)
                b = _tap(src, p + c + channels, above and right, fill)
                top = a * px + b * qx
                a = _tap(src, p + c + pitch, below and left, fill)
                b = _tap(src, p + c + pitch + channels, below and right, fill)
                value = top + ((a * px + b * qx) - top) * qy
                dst[d + c] = convert_sat(value, dst)
        else:
            x0, x1 = min(max(x, 0), width - 1), min(max(x + 1, 0), width - 1)
            y0, y1 = min(max(y, 0), height - 1), min(max(y + 1, 0), height - 1)
            p = base + y0 * pitch + x0 * channels
            right_by, below_by = (x1 - x0) * channels, (y1 - y0) * pitch
            for c in range(channels):
                dst[d + c] = convert_sat(_blend(src, p + c, right_by, below_by, qx, qy), dst)


@op.jit
def warp_row(image: Any, places: Any, count: int, outside: Any, target: Any) -> None:
    """`linear_row` or `nearest_row`; outside: whether linear, whether filled, and what they fill
    with: for nearest neighbor, for linear."""
    linear, filled, fill, soft_fill = outside
    if linear:
        linear_row(image, places, count, filled, soft_fill, target)
    else:
        nearest_row(image, places, count, filled, fill, target)
