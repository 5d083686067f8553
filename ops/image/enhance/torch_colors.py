"""Colors with the arithmetic of torchvision's functions on tensors, in float32.

torch adds `a + alpha * b` with one rounding where the machine can, as all of x86-64 with AVX2 can.
`fused` does the same: the product of two float32 numbers is exact in float64. The sum is rounded
there, too, which may change the last bit of one in 2**29 float32 results, and of none for uint8.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import always_inline
from gradiva.eager.rows.convert import convert_sat, truncate
from gradiva.eager.types.arrays import F32Table, F32Vector, I64Table, Slabs, Table, Vector

RED, GREEN, BLUE = np.float32(0.2989), np.float32(0.587), np.float32(0.114)
_SIXTH, BYTE = np.float32(1.0 / 6.0), np.float32(1.0 / 255.0)
TO_BYTE = np.float32(255.0 + 1.0 - 1e-3)
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
def weigh(red: np.float32, green: np.float32, blue: np.float32) -> np.float32:
    """The gray value of a pixel, not rounded."""
    return fused(blue, BLUE, fused(green, GREEN, red * RED))


@always_inline
def luma(source: Vector, at: int, step: int) -> np.float32:
    """The gray value of a pixel, not rounded; step: from channel to channel."""
    red, green, blue = source[at], source[at + step], source[at + 2 * step]
    return weigh(np.float32(red), np.float32(green), np.float32(blue))


@op.row_kernel("mixing")
def gray_row(source: Table, target: Table, row: F32Vector) -> None:
    """One strip: the gray values of RGB; `row` is not read."""
    red, green, blue, gray = source[0], source[1], source[2], target[0]
    for k in range(gray.size):
        value = weigh(np.float32(red[k]), np.float32(green[k]), np.float32(blue[k]))
        gray[k] = convert_sat(truncate(value, gray), gray)


@op.row_kernel()
def brightness_row(source: Vector, target: Vector, row: F32Vector) -> None:
    """One strip; row: the factor, 1 less the factor, and the largest value."""
    factor, most = row[0], row[2]
    for k in range(source.size):
        value = clamp(np.float32(source[k]) * factor, most)
        target[k] = convert_sat(truncate(value, target), target)


@op.row_kernel("mixing")
def saturation_row(source: Table, target: Table, row: F32Vector) -> None:
    """Blend each pixel with its gray value; row: as `brightness_row` has it."""
    factor, rest, most = row[0], row[1], row[2]
    whole = most > _ONE
    for k in range(source.shape[1]):
        red, green, blue = source[0, k], source[1, k], source[2, k]
        gray = weigh(np.float32(red), np.float32(green), np.float32(blue))
        if whole:
            gray = np.floor(gray)
        for c in range(3):
            value = np.float32(source[c, k]) * factor
            value = clamp(fused(gray, rest, value), most)
            target[c, k] = convert_sat(truncate(value, target), target)


@always_inline
def blend_with_mean(
    image: Vector, made: Vector, place: tuple[int, int, int], row: F32Vector
) -> None:
    """Of one frame; place: channels, and from pixel to pixel and from channel to channel."""
    channels, pixel, step = place
    factor, rest, most = row
    whole = most > _ONE
    pixels = image.size // channels
    total = 0.0
    for k in range(pixels):
        if channels == 3:
            gray = luma(image, k * pixel, step)
            if whole:
                gray = np.floor(gray)
        else:
            gray = np.float32(image[k])
        total += np.float64(gray)
    mean = np.float32(total) / np.float32(pixels)
    for k in range(image.size):
        value = np.float32(image[k]) * factor
        made[k] = clamp(fused(mean, rest, value), most)


@op.jit
def contrast_samples(slabs: Slabs, planes: I64Table, rows: F32Table, begin: int, end: int) -> None:
    """Blend each frame with the mean of its gray image, whose sum is float64."""
    source, sources, target, targets = slabs
    for i in range(begin, end):
        frames, height, width, channels, pixel, step = planes[i]
        size = height * width * channels
        for frame in range(frames):
            first, to = sources[i] + frame * size, targets[i] + frame * size
            # Slices, not offsets: an index that cannot be negative vectorizes.
            image, made = source[first : first + size], target[to : to + size]
            blend_with_mean(image, made, (channels, pixel, step), rows[i])


@always_inline
def turned(
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


@op.row_kernel("mixing")
def hue_row(source: Table, target: Table, row: F32Vector) -> None:
    """One strip; row: by how much hues turn, and the largest value."""
    turn, most = row[0], row[1]
    scale, back = _ONE, _ONE
    if most > _ONE:
        scale, back = BYTE, TO_BYTE
    for k in range(source.shape[1]):
        red = np.float32(source[0, k]) * scale
        green = np.float32(source[1, k]) * scale
        blue = np.float32(source[2, k]) * scale
        red, green, blue = turned(red, green, blue, turn)
        target[0, k] = convert_sat(truncate(red * back, target), target)
        target[1, k] = convert_sat(truncate(green * back, target), target)
        target[2, k] = convert_sat(truncate(blue * back, target), target)
