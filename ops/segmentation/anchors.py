"""How boxes and anchors differ: for the CPU, and translated for a GPU. All numbers are float32."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log

__all__ = ["area_of", "center_difference", "overlap", "size_difference"]


@op.jit
def log_ratio(top: np.float32, bottom: np.float32) -> np.float32:
    """The natural logarithm of a ratio of two lengths, as float32; NaN where the second one is
    0."""
    if bottom == np.float32(0.0):
        return np.float32(np.nan)
    ratio = np.float64(top / bottom)
    if not ratio > 0.0:
        return np.float32(-np.inf if ratio == 0.0 else np.nan)
    return np.float32(natural_log(ratio))


@op.jit
def area_of(left: np.float32, top: np.float32, right: np.float32, bottom: np.float32) -> np.float32:
    """The area of a box, in float32."""
    return (right - left) * (bottom - top)


@op.jit
def overlap(
    left: np.float32,
    top: np.float32,
    right: np.float32,
    bottom: np.float32,
    area: np.float32,
    other_left: np.float32,
    other_top: np.float32,
    other_right: np.float32,
    other_bottom: np.float32,
    other_area: np.float32,
) -> np.float32:
    """Intersection over union."""
    zero = np.float32(0.0)
    width = min(right, other_right) - max(left, other_left)
    height = min(bottom, other_bottom) - max(top, other_top)
    common = width * height if width > zero and height > zero else zero
    return common / (area + other_area - common) if common > zero else zero


@op.jit
def center_difference(
    center: np.float32,
    own: np.float32,
    extent: np.float32,
    scale: np.float32,
    mean: np.float32,
    std: np.float32,
) -> np.float32:
    """How far the center of a box is from that of an anchor, which has this extent. float32 in this
    order, as DALI has it."""
    return ((center * scale - own * scale) / (extent * scale) - mean) / std


@op.jit
def size_difference(
    extent: np.float32, own: np.float32, scale: np.float32, mean: np.float32, std: np.float32
) -> np.float32:
    """How much larger a box is than an anchor, in the same order."""
    return (log_ratio(extent * scale, own * scale) - mean) / std
