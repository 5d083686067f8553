"""The kernel of `normalize`: subtract, multiply, add, where the numbers differ along some axes."""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.simd.intrinsics import span
from gradiva.eager.types.arrays import F32Vector, I64Table, Slabs, Vector

_LANES: Final = 256
_FEW: Final = 16


@op.jit
def _strip(
    source: Vector, means: F32Vector, scales: F32Vector, shift: np.float32, target: Vector
) -> None:
    """Normalize values that each have a mean and a scale of their own, and add `shift`.

    source, means, scales, target: of equal length, in elements.
    """
    for j in range(source.size):
        deviation = np.float32(source[j]) - means[j]
        target[j] = convert_sat(deviation * scales[j] + shift, target)


@op.jit
def _alike(
    source: Vector, mean: np.float32, scale: np.float32, shift: np.float32, target: Vector
) -> None:
    """Normalize values with one mean and one scale, and add `shift`.

    source, target: of equal length, in elements.
    """
    for j in range(source.size):
        deviation = np.float32(source[j]) - mean
        target[j] = convert_sat(deviation * scale + shift, target)


@op.jit
def _few_rows(
    source: Vector,
    rows: int,
    means: F32Vector,
    scales: F32Vector,
    shift: np.float32,
    target: Vector,
) -> None:
    """Normalize blocks of few values, each block with its mean and its scale; rows: the values of a
    block.

    source, target: of equal length, in elements; means, scales: one for each block.
    """
    for block in range(means.size):
        for k in range(block * rows, (block + 1) * rows):
            deviation = np.float32(source[k]) - means[block]
            target[k] = convert_sat(deviation * scales[block] + shift, target)


@op.jit
def normalize_samples(
    slabs: Slabs,
    extents: I64Table,
    means: tuple[F32Vector, I64Table],
    scales: tuple[F32Vector, I64Table],
    shift: np.float32,
    begin: int,
    end: int,
) -> None:
    """Normalize samples `begin` to `end`: (x - mean) * scale + shift in float32.

    extents: of groups of axes, kept and reduced ones in turns (`reductions.axes.groups`); means,
    scales: float32 and (N, 2): where those of a sample begin, and 1 if they differ along the kept
    axes, 0 if there is one.
    slabs: with offsets in elements; the places of means and scales are in elements, too.
    """
    src, src_offsets, dst, dst_offsets = slabs
    (mean, mean_steps), (scale, scale_steps) = means, scales
    pairs = extents.shape[1] // 2
    lane_means = np.empty(_LANES, np.float32)
    lane_scales = np.empty(_LANES, np.float32)
    for i in range(begin, end):
        outer = 1
        for group in range(2 * pairs - 1):
            outer *= extents[i, group]
        rows, columns = extents[i, 2 * pairs - 1], extents[i, 2 * pairs]
        volume = rows * columns
        m, m_step = mean_steps[i]
        k, k_step = scale_steps[i]
        if m_step == 0 and k_step == 0:
            volume *= outer
            s, d = src_offsets[i], dst_offsets[i]
            _alike(src[s : s + volume], mean[m], scale[k], shift, dst[d : d + volume])
            continue
        if pairs == 1 and columns == 1 and rows <= _FEW and m_step == 1 and k_step == 1:
            s, d = src_offsets[i], dst_offsets[i]
            source, target = src[s : s + outer * rows], dst[d : d + outer * rows]
            _few_rows(source, rows, mean[m : m + outer], scale[k : k + outer], shift, target)
            continue
        for block in range(outer):
            to, rest, pitch = 0, block, columns
            for group in range(2 * pairs - 2, -1, -1):
                if group % 2 == 0:
                    to += rest % extents[i, group] * pitch
                    pitch *= extents[i, group]
                rest //= extents[i, group]
            s = src_offsets[i] + block * volume
            d = dst_offsets[i] + block * volume
            for first in range(0, columns, _LANES):
                count = min(_LANES, columns - first)
                side = max(1, min(rows, _LANES // columns))
                width = side * count
                for j in range(width):
                    at = to + first + j % count
                    lane_means[j] = mean[m + at * m_step]
                    lane_scales[j] = scale[k + at * k_step]
                # Whole rows lie one after the other; parts of rows come one by one.
                step = side * columns
                for at in range(first, volume, step):
                    n = min(width, volume - at)
                    source, target = span(src, s + at, n), span(dst, d + at, n)
                    _strip(source, lane_means, lane_scales, shift, target)
