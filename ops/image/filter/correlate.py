"""The sums of `filter`, by OpenCV."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager.rows.convert import convert_array
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

_DIRECT: Final = {
    "reflect_101": "BORDER_REFLECT_101",
    "reflect_1001": "BORDER_REFLECT",
    "clamp": "BORDER_REPLICATE",
    "constant": "BORDER_CONSTANT",
}
"""Borders that OpenCV makes itself; a constant one is 0."""
_NATIVE: Final = tuple(map(np.dtype, ("uint8", "uint16", "int16", "float32")))
_CHANNELS: Final = 512
"""What OpenCV filters in one pass."""


def at_once(image: Array, window: Array, before: list[int], border: str, out: Array) -> bool:
    """Fill `out` without a padded copy, if OpenCV can."""
    if window.ndim > 2 or border not in _DIRECT or image.dtype not in _NATIVE:
        return False
    if math.prod(image.shape[2:]) > _CHANNELS:
        return False
    depth = -1 if out.dtype == image.dtype else cv2.CV_32F
    place = (before[1], before[0])
    made = cv2.filter2D(
        image, depth, window, dst=out, anchor=place, borderType=getattr(cv2, _DIRECT[border])
    )
    if made is not out:
        out[...] = made.reshape(out.shape)
    return True


def correlate_inside(padded: Array, window: Array, out: Array) -> None:
    """Fill `out`, which is smaller than `padded` by the window's extents - 1."""
    direct = window.ndim == 2 and padded.dtype in _NATIVE
    if not direct:
        padded = convert_array(padded, np.dtype(np.float32))
    depth = -1 if direct and out.dtype == padded.dtype else cv2.CV_32F
    if window.ndim == 2:
        result = _flat(padded, window, depth)
    else:
        result = np.empty(out.shape, np.float32)
        for z in range(len(out)):
            parts = (_flat(padded[z + k], window[k], depth) for k in range(len(window)))
            total = next(parts).copy()
            for part in parts:
                total += part
            result[z] = total
    out[...] = convert_array(result, out.dtype)


def _flat(padded: Array, window: Array, depth: int) -> Array:
    """The correlation of one image, where the window lies inside."""
    height, width = (a - b + 1 for a, b in zip(padded.shape, window.shape, strict=False))
    shape = (height, width, *padded.shape[2:])
    if padded.ndim == 3 and padded.shape[2] > _CHANNELS:
        parts = [
            _flat(np.ascontiguousarray(padded[..., k : k + _CHANNELS]), window, depth)
            for k in range(0, padded.shape[2], _CHANNELS)
        ]
        return np.concatenate(parts, axis=2)
    # The anchor in the corner, and no border: what lies outside is cut off.
    result: Array = cv2.filter2D(
        padded, depth, window, anchor=(0, 0), borderType=cv2.BORDER_CONSTANT
    )
    return result[:height, :width].reshape(shape)
