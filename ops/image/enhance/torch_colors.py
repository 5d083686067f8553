"""Colors with the arithmetic of torchvision's functions on tensors, in float32.

torch adds `a + alpha * b` with one rounding where the machine can, as all of x86-64 with AVX2 can.
`fused` does the same: the product of two float32 numbers is exact in float64. The sum is rounded
there, too, which may change the last bit of one in 2**29 float32 results, and of none for uint8.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.types.arrays import F32Table, I64Table, Slabs, Vector

RED, GREEN, BLUE = np.float32(0.2989), np.float32(0.587), np.float32(0.114)
_SIXTH, _BYTE = np.float32(1.0 / 6.0), np.float32(1.0 / 255.0)
_TO_BYTE = np.float32(255.0 + 1.0 - 1e-3)
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@always_inline
def fused(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """a * b + c of float32 numbers."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


@always_inline
def clamp(value: np.float32, most: np.float32) -> np.float32:
    """From 0 to `most`; NaN stays."""
    if value < _ZERO:
        value = _ZERO
    if value > most:
        value = most
    return value


@always_inline
def luma(source: Vector, at: int, step: int) -> np.float32:
    """The gray value of a pixel, not rounded; step: from channel to channel."""
    gray = np.float32(source[at]) * RED
    gray = fused(np.float32(source[at + step]), GREEN, gray)
    return fused(np.float32(source[at + 2 * step]), BLUE, gray)


@op.jit
def gray_samples(slabs: Slabs, planes: I64Table, begin: int, end: int) -> None:
    """The gray images of RGB ones; planes: of the sources."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        size = height * width
        for frame in range(frames):
            first, to = sources[i] + frame * size * channels, targets[i] + frame * size
            for k in range(size):
                target[to + k] = luma(source, first + k * pixel, step)


@op.jit
def brightness_samples(
    slabs: Slabs, planes: I64Table, rows: F32Table, begin: int, end: int
) -> None:
    """rows: as `blending` has them."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, _, _ = planes[i]
        factor, most = rows[i, 0], rows[i, 2]
        first, to = sources[i], targets[i]
        for k in range(frames * height * width * channels):
            target[to + k] = clamp(np.float32(source[first + k]) * factor, most)


@op.jit
def saturation_samples(
    slabs: Slabs, planes: I64Table, rows: F32Table, begin: int, end: int
) -> None:
    """Blend each pixel with its gray value; rows: as `blending` has them."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        factor, rest, most = rows[i]
        size = height * width * channels
        whole = most > _ONE
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            for k in range(height * width):
                at = first + k * pixel
                gray = luma(source, at, step)
                if whole:
                    gray = np.floor(gray)
                for c in range(3):
                    value = np.float32(source[at + c * step]) * factor
                    target[to + k * pixel + c * step] = clamp(fused(gray, rest, value), most)


@op.jit
def contrast_samples(slabs: Slabs, planes: I64Table, rows: F32Table, begin: int, end: int) -> None:
    """Blend each frame with the mean of its gray image, whose sum is float64."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        factor, rest, most = rows[i]
        size, pixels = height * width * channels, height * width
        whole = most > _ONE
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            total = 0.0
            for k in range(pixels):
                gray = np.float32(source[first + k * pixel])
                if channels == 3:
                    gray = luma(source, first + k * pixel, step)
                    if whole:
                        gray = np.floor(gray)
                total += np.float64(gray)
            mean = np.float32(total) / np.float32(pixels)
            for k in range(size):
                value = np.float32(source[first + k]) * factor
                target[to + k] = clamp(fused(mean, rest, value), most)


@always_inline
def _turned(
    red: np.float32, green: np.float32, blue: np.float32, turn: np.float32
) -> tuple[np.float32, np.float32, np.float32]:
    """Red, green and blue of 0 to 1 with another hue; turn: 1 is all around."""
    high, low = max(red, green, blue), min(red, green, blue)
    span = high - low
    saturation, divisor = span / high, span
    if span == _ZERO:
        saturation, divisor = span, _ONE
    r, g, b = (high - red) / divisor, (high - green) / divisor, (high - blue) / divisor
    if high == red:
        hue = b - g
    elif high == green:
        hue = (r + np.float32(2.0)) - b
    else:
        hue = (g + np.float32(4.0)) - r
    hue = hue * _SIXTH + _ONE
    hue = (hue - np.trunc(hue)) + turn
    hue = hue - np.trunc(hue)
    if hue < _ZERO:
        hue += _ONE
    sixths = hue * np.float32(6.0)
    floor = np.floor(sixths)
    part, side = sixths - floor, np.int64(floor) % 6
    scaled, pale = saturation * part, _ONE - saturation
    q = clamp((_ONE - scaled) * high, _ONE)
    t = clamp((scaled + pale) * high, _ONE)
    p = clamp(pale * high, _ONE)
    if side == 0:
        return high, t, p
    if side == 1:
        return q, high, p
    if side == 2:
        return p, high, t
    if side == 3:
        return p, q, high
    if side == 4:
        return t, p, high
    return high, p, q


@op.jit
def hue_samples(slabs: Slabs, planes: I64Table, rows: F32Table, begin: int, end: int) -> None:
    """rows: (N, 2), by how much hues turn, and the largest value."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        turn, most = rows[i]
        size = height * width * channels
        whole = most > _ONE
        scale, back = _ONE, _ONE
        if whole:
            scale, back = _BYTE, _TO_BYTE
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            for k in range(height * width):
                at = k * pixel
                red = np.float32(source[first + at]) * scale
                green = np.float32(source[first + at + step]) * scale
                blue = np.float32(source[first + at + 2 * step]) * scale
                red, green, blue = _turned(red, green, blue, turn)
                target[to + at] = red * back
                target[to + at + step] = green * back
                target[to + at + 2 * step] = blue * back
