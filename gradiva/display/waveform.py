"""Audio as a drawn wave."""

from __future__ import annotations

import numpy as np

from .axes import Array
from .colors import PAINT

__all__ = ["waveform"]

_INK = (59, 130, 246, 255)
_AXIS = (128, 128, 128, 128)
"""Both are seen on white and on black; the rest is transparent."""
_MOST_CHANNELS = 8
_MOST = 1 << 20
"""Samples that are looked at; of longer audio every n-th."""


def waveform(array: Array, width: int, height: int) -> tuple[Array, str]:
    """Pixels (height, width, 4), and a note.

    array: (samples, channels). Each column of pixels spans the smallest to the largest of its
    samples; the largest magnitude of all reaches the edge of its channel's lane.
    """
    step = -(-len(array) // _MOST)
    array = array[::step]
    count, channels = array.shape
    lanes = min(channels, _MOST_CHANNELS)
    pixels = np.zeros((height, width, 4), np.uint8)
    values = array[:, :lanes].astype(np.float64)
    finite = np.isfinite(values)
    values = np.where(finite, values, 0.0)
    peak = float(np.abs(values).max())
    unit = 1.0 if peak == 0 else peak
    starts = np.arange(width) * count // width
    low = np.minimum.reduceat(values, starts)
    high = np.maximum.reduceat(values, starts)
    bad = ~np.logical_and.reduceat(finite, starts)
    lane_height = height // lanes
    rows = np.arange(lane_height)[:, None]
    middle = (lane_height - 1) / 2
    for lane in range(lanes):
        part = pixels[lane * lane_height : (lane + 1) * lane_height]
        part[round(middle)] = _AXIS
        top = np.floor(middle - high[:, lane] / unit * middle + 0.5)
        bottom = np.ceil(middle - low[:, lane] / unit * middle - 0.5)
        part[(rows >= np.minimum(top, bottom)) & (rows <= np.maximum(top, bottom))] = _INK
        part[:, bad[:, lane]] = (*PAINT, 255)
    notes = [f"peak {peak:.3g}"]
    if channels > 1:
        notes.append(f"{channels} channels" + (f", {lanes} shown" if lanes < channels else ""))
    if not finite.all():
        notes.append(f"{finite.size - np.count_nonzero(finite)} NaN or infinite")
    if step > 1:
        notes.append(f"of every {step}th sample")
    return pixels, "; ".join(notes)
