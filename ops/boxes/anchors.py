"""How boxes and anchors differ: for the CPU, and translated for a GPU. All numbers are float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log

__all__ = ["area_of", "center_difference", "overlap", "size_difference"]


@op.jit
def log_ratio(top: Any, bottom: Any) -> Any:
    if bottom == np.float32(0.0):
        return np.float32(np.nan)
    ratio = np.float64(top / bottom)
    if not ratio > 0.0:
        return np.float32(-np.inf if ratio == 0.0 else np.nan)
    return np.float32(natural_log(ratio))


@op.jit
def area_of(left: Any, top: Any, right: Any, bottom: Any) -> Any:
    return (right - left) * (bottom - top)


@op.jit
def overlap(
    left: Any,
    top: Any,
    right: Any,
    bottom: Any,
    area: Any,
    other_left: Any,
    other_top: Any,
    other_right: Any,
    other_bottom: Any,
    other_area: Any,
) -> Any:
    """Intersection over union."""
    zero = np.float32(0.0)
    width = min(right, other_right) - max(left, other_left)
    height = min(bottom, other_bottom) - max(top, other_top)
    common = width * height if width > zero and height > zero else zero
    return common / (area + other_area - common) if common > zero else zero


@op.jit
def center_difference(center: Any, own: Any, extent: Any, scale: Any, mean: Any, std: Any) -> Any:
    """How far the center of a box is from that of an anchor, which has this extent. float32 in this
    order, as the reference has it."""
    return ((center * scale - own * scale) / (extent * scale) - mean) / std


@op.jit
def size_difference(extent: Any, own: Any, scale: Any, mean: Any, std: Any) -> Any:
    """How much larger a box is than an anchor, in the same order."""
    return (log_ratio(extent * scale, own * scale) - mean) / std
