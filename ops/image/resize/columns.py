"""Columns of the tables that `cpu.py` describes, with a row for each sample."""

from __future__ import annotations

PLANES, CHANNELS, IN_D, IN_H, IN_W, OUT_D, OUT_H, OUT_W = range(8)
ROW_PITCH, SLICE_PITCH, PLANE_PITCH = 8, 9, 10
"""Of `sizes`: extents in elements, channels in elements of a pixel, pitches in elements."""

D_BEGIN, D_END, H_BEGIN, H_END, W_BEGIN, W_END = range(6)
"""Of `window` and of `roi`: where a part begins and ends along each axis, in elements."""
