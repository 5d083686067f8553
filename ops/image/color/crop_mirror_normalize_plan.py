"""The plan of `crop_mirror_normalize`: any layout as five output axes with source steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Float32Array, Int64Array

AXES: Final = 5


@dataclass(frozen=True)
class NormalizePlan(op.Plan):
    """One row per sample; the axes are the output's, with leading extents of 1."""

    extents: Int64Array  # (N, 5)
    steps: Int64Array  # (N, 5): source elements per step, negative along a mirrored axis
    starts: Int64Array  # (N,): source element of output coordinate 0, which may lie outside
    lows: Int64Array  # (N, 5): the output coordinates that have a source
    highs: Int64Array  # (N, 5)
    channel_axis: int


def plan(
    shapes: Int64Array,
    anchors: Int64Array,
    windows: Int64Array,
    mirror: Array,
    layout: str,
    output_layout: str = "CHW",
    pad_output: bool = False,
) -> NormalizePlan:
    """Plan a batch; an empty `output_layout` keeps the input's. Windows come from `window_in`."""
    output_layout = output_layout or layout
    if sorted(output_layout) != sorted(layout):
        raise op.OperatorValueError(
            f"Output layout {output_layout!r} is not a permutation of {layout!r}."
        )
    count, ndim = shapes.shape
    strides = np.ones(shapes.shape, np.int64)
    for axis in range(ndim - 2, -1, -1):
        strides[:, axis] = strides[:, axis + 1] * shapes[:, axis + 1]
    order = [layout.index(letter) for letter in output_layout]
    channel, width = layout.index("C"), layout.index("W")

    starts = (anchors * strides).sum(axis=1)
    lows = np.minimum(np.maximum(-anchors, 0), windows)
    highs = np.maximum(np.minimum(shapes - anchors, windows), lows)
    steps = strides.copy()
    flipped = mirror != 0
    last = windows[:, width] - 1
    starts = np.where(flipped, starts + last * strides[:, width], starts)
    steps[:, width] = np.where(flipped, -steps[:, width], steps[:, width])
    low, high = lows[:, width].copy(), highs[:, width].copy()
    lows[:, width] = np.where(flipped, windows[:, width] - high, low)
    highs[:, width] = np.where(flipped, windows[:, width] - low, high)

    extents = windows.copy()
    if pad_output:
        extents[:, channel] = padded_channels(windows[:, channel])

    shapes_out = extents[:, order]
    if (extents[:, channel] == 1).all():
        # One channel may stand anywhere; in front, the rows are long.
        order.remove(channel)
        order.insert(0, channel)

    def wide(table: Int64Array, rest: int) -> Int64Array:
        result = np.full((count, AXES), rest, np.int64)
        result[:, AXES - ndim :] = table[:, order]
        return result

    return NormalizePlan(
        shapes_out,
        wide(extents, 1),
        wide(steps, 0),
        starts,
        wide(lows, 0),
        wide(highs, 1),
        AXES - ndim + order.index(channel),
    )


def padded_channels(channels: Int64Array) -> Int64Array:
    """The next powers of two."""
    return np.array([1 << max(int(count) - 1, 0).bit_length() for count in channels], np.int64)


def fold(
    mean: Array, std: Array, scale: float = 1.0, shift: float = 0.0
) -> tuple[Float32Array, Float32Array]:
    """(mean', factor) with out = (x - mean') * factor, both float32.

    The shift moves into the mean, in float64; the scale into the factor, in float32. Both are
    (channels,) or (N, channels), and broadcast against each other.
    """
    m, s = np.asarray(mean, np.float32), np.asarray(std, np.float32)
    factor, offset = np.float32(scale), np.float32(shift)
    with np.errstate(all="ignore"):
        moved = m.astype(np.float64) - np.float64(offset) * s.astype(np.float64) / factor
        return moved.astype(np.float32), factor / s


def channel_rows(name: str, rows: Array, channels: Int64Array) -> Array:
    """The argument `name`, (N, 1) or (N, channels), checked against each sample's channels."""
    given = rows.shape[1]
    if given != 1 and (channels != given).any():
        raise op.wrong_value(
            name, f"1 value, or one for each of {int(channels.max())} channels", given
        )
    return rows
