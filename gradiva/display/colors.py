"""Values of any type as colors, and what was done to them in words."""

from __future__ import annotations

import colorsys

import numpy as np

from .axes import Array

__all__ = ["PAINT", "color", "to_pixels"]

_WHOLE = 1 << 22
"""Elements up to which the range is that of the whole sample; beyond, of the pixels drawn."""
_DARKEST = 16.0
"""Floats from 0 to less than this are scaled: as levels of 0..255 nothing would be seen."""
_MOST_CLASSES = 32
_HIGHEST_CLASS = 64
_IGNORED = (255, -1)
PAINT = (255, 0, 255)
"""Pixels that are NaN or infinite."""
_CHECKS = (154, 205)


def color(label: int) -> tuple[int, int, int]:
    """The color of class `label`: 0 is black, neighbors differ; 255 and -1, to be ignored, are
    light gray."""
    if label == 0:
        return (0, 0, 0)
    if label in _IGNORED:
        return (200, 200, 200)
    # Steps by the golden ratio: hues of nearby numbers are far apart.
    hue = (label * 0.6180339887) % 1.0
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.65 if label % 2 else 0.9, 0.95)
    return (round(red * 255), round(green * 255), round(blue * 255))


def to_pixels(array: Array, whole: Array) -> tuple[Array, str]:
    """Colors, uint8 (..., 3), and a note.

    array: (..., C), C from 1 to 4, what is drawn of `whole`, by which the range is found.
    One channel is gray, two are red and green, the fourth is opacity.
    """
    if array.dtype == np.bool_:
        return _channels(array.astype(np.uint8) * np.uint8(255), True)
    if array.shape[-1] == 1 and array.dtype.kind in "iu":
        classes = _classes(array)
        if classes is not None:
            return _palette(array[..., 0], classes)
    if array.dtype == np.uint8:
        return _channels(array, True)
    return _scaled(array, whole if whole.size <= _WHOLE else array)


def _classes(array: Array) -> Array | None:
    """The distinct values of a mask, or None if it is an image."""
    found = np.unique(array)
    if len(found) > _MOST_CLASSES or set(found.tolist()) <= {0, 255}:
        return None
    known = found[~np.isin(found, _IGNORED)]
    if array.dtype == np.uint8 and known.size and known.max() > _HIGHEST_CLASS:
        return None
    return None if known.size and known.min() < 0 else found


def _palette(array: Array, classes: Array) -> tuple[Array, str]:
    table = np.array([color(int(label)) for label in classes], np.uint8)
    shown = ", ".join(map(str, classes[:6].tolist())) + (", ..." if len(classes) > 6 else "")
    return table[np.searchsorted(classes, array)], f"mask: {shown}"


def _scaled(array: Array, whole: Array) -> tuple[Array, str]:
    values = array.astype(np.float64)
    finite = np.isfinite(values)
    low, high, bad = _range(whole)
    notes = []
    full = True
    if low > high:
        low, high = 0.0, 1.0
    elif whole.dtype == np.uint16:
        low, high = 0.0, 65535.0
    elif whole.dtype.kind == "f" and low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif low >= 0 and high <= 255 and (whole.dtype.kind in "iu" or high >= _DARKEST):
        low, high = 0.0, 255.0
    elif low == high:
        notes.append(f"all {low:.4g}")
        low, high, full = low - 1.0, high + 1.0, False
    else:
        notes.append(f"scaled from {low:.4g}..{high:.4g}")
        full = False
    if bad:
        notes.append(f"{bad} NaN or infinite")
    # Halves, for the difference of the extremes of float64 is infinite.
    span = max(high / 2 - low / 2, np.finfo(np.float64).tiny)
    scaled = (np.where(finite, values, low) / 2 - low / 2) / span
    pixels, note = _channels((np.clip(scaled, 0, 1) * 255).round().astype(np.uint8), full)
    pixels[~finite.all(axis=-1)] = PAINT
    return pixels, "; ".join([*notes, *([note] if note else [])])


def _range(whole: Array) -> tuple[float, float, int]:
    """The smallest and the largest finite value, and how many values are not finite."""
    if whole.dtype.kind in "iu":
        return float(whole.min()), float(whole.max()), 0
    values = whole.astype(np.float64, copy=False)
    finite = np.isfinite(values)
    bad = int(values.size - np.count_nonzero(finite))
    values = values[finite] if bad else values
    if not values.size:
        return 1.0, 0.0, bad
    return float(values.min()), float(values.max()), bad


def _channels(array: Array, full: bool) -> tuple[Array, str]:
    """uint8 (..., C) as (..., 3). full: the values have their own range, so that the fourth
    channel can be opacity."""
    count = array.shape[-1]
    if count == 1:
        return _gray(array), ""
    if count == 2:
        blue = np.zeros_like(array[..., :1])
        return np.concatenate([array, blue], axis=-1), "2 channels as red and green"
    if count == 3:
        return np.array(array), ""
    if not full:
        return np.array(array[..., :3]), "first 3 of 4 channels"
    rows, columns = np.indices(array.shape[-3:-1])
    checks = np.where((rows // 8 + columns // 8) % 2, *_CHECKS)[..., None]
    opacity = array[..., 3:] / 255
    return (array[..., :3] * opacity + checks * (1 - opacity)).round().astype(np.uint8), ""


def _gray(array: Array) -> Array:
    return np.repeat(array, 3, axis=-1)
