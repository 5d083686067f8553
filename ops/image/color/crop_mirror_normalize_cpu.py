"""The kernels of `crop_mirror_normalize`: a window, mirrored, normalized, in another layout."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import (
    Array,
    F32Vector,
    Float32Array,
    I64Table,
    I64Vector,
    Number,
    Slabs,
    Vector,
)


@op.jit
def _any_channels(
    source: Vector,
    start: int,
    steps: tuple[int, int],
    mean: F32Vector,
    factor: F32Vector,
    fill: Vector,
    kept: tuple[int, int],
    row: Vector,
) -> None:
    """Normalize interleaved pixels of any number of channels.

    start: the element of the source where its first pixel begins; steps: elements of the source
    from one pixel to the next, and from one channel to the next; mean, factor, fill: one value for
    each channel; kept: the first channel that the source has, and that behind the last, others are
    filled; row: the elements of the pixels.
    """
    channels = fill.size
    step, apart = steps
    low, high = kept
    n = row.size // channels
    for k in range(channels):
        if low <= k < high:
            m = mean[k]
            f = factor[k]
            for e in range(n):
                x = np.float32(source[start + e * step + k * apart])
                row[e * channels + k] = convert_sat((x - m) * f, row)
        else:
            for e in range(n):
                row[e * channels + k] = fill[k]


@op.jit
def _fill_pixels(row: Vector, fill: Vector, first: int, last: int) -> None:
    """Fill the pixels `first` to `last - 1` of a row with one value for each channel.

    row: interleaved; first, last: in pixels; fill: (channels,).
    """
    for e in range(first, last):
        for k in range(fill.size):
            row[e * fill.size + k] = fill[k]


@op.jit
def _fill_ends(row: Vector, value: Number, first: int, last: int) -> None:
    """Fill the elements of a row before `first`, and from `last` on.

    first, last: in elements of `row`.
    """
    for k in range(first):
        row[k] = value
    for k in range(last, row.size):
        row[k] = value


@op.jit
def normalize_interleaved(
    slabs: Slabs,
    tables: tuple[I64Table, I64Table, I64Vector, I64Table, I64Table],
    mean: Float32Array,
    factor: Float32Array,
    fill: Array,
    begin: int,
    end: int,
) -> None:
    """Normalize samples whose last axis in the output is that of the channels.

    tables: from `plan` and `fold`; mean, factor: (N, channels), broadcast already; fill: in dst's
    dtype, one value for each output channel, written as it is, not normalized.
    slabs: with offsets in elements; begin, end: the range of samples.
    """
    (src, src_offsets, dst, dst_offsets), (extents, steps, starts, lows, highs) = slabs, tables
    for i in range(begin, end):
        d = dst_offsets[i]
        n3, n4 = extents[i, 3], extents[i, 4]
        p3, p4 = steps[i, 3], steps[i, 4]
        values = fill[:n4]  # there is one for each channel of the sample that has the most
        for a in range(extents[i, 0]):
            for b in range(extents[i, 1]):
                for c in range(extents[i, 2]):
                    outer = lows[i, 0] <= a < highs[i, 0] and lows[i, 1] <= b < highs[i, 1]
                    outer = outer and lows[i, 2] <= c < highs[i, 2]
                    s = src_offsets[i] + starts[i] + a * steps[i, 0] + b * steps[i, 1]
                    s += c * steps[i, 2]
                    row = dst[d : d + n3 * n4]
                    d += n3 * n4
                    first = lows[i, 3] if outer else n3
                    last = max(highs[i, 3], first) if outer else n3
                    _fill_pixels(row, values, 0, first)
                    _fill_pixels(row, values, last, n3)
                    n = last - first
                    s += first * p3
                    if n <= 0 or n4 != 3 or highs[i, 4] != 3 or p4 != 1 or abs(p3) != 3:
                        inner, kept = row[first * n4 : last * n4], (lows[i, 4], highs[i, 4])
                        _any_channels(src, s, (p3, p4), mean[i], factor[i], values, kept, inner)
                        continue
                    m0, m1, m2 = mean[i, 0], mean[i, 1], mean[i, 2]
                    f0, f1, f2 = factor[i, 0], factor[i, 1], factor[i, 2]
                    row = row[first * 3 : last * 3]
                    part = src[min(s, s + (n - 1) * p3) : max(s, s + (n - 1) * p3) + 3]
                    if p3 > 0:
                        for e in range(n):
                            q = e * 3
                            x0 = np.float32(part[q])
                            x1 = np.float32(part[q + 1])
                            x2 = np.float32(part[q + 2])
                            row[q] = convert_sat((x0 - m0) * f0, dst)
                            row[q + 1] = convert_sat((x1 - m1) * f1, dst)
                            row[q + 2] = convert_sat((x2 - m2) * f2, dst)
                    else:
                        for e in range(n):
                            q = (n - 1 - e) * 3
                            x0 = np.float32(part[e * 3])
                            x1 = np.float32(part[e * 3 + 1])
                            x2 = np.float32(part[e * 3 + 2])
                            row[q] = convert_sat((x0 - m0) * f0, dst)
                            row[q + 1] = convert_sat((x1 - m1) * f1, dst)
                            row[q + 2] = convert_sat((x2 - m2) * f2, dst)


@op.jit
def normalize_rows(
    slabs: Slabs,
    tables: tuple[I64Table, I64Table, I64Vector, I64Table, I64Table],
    mean: Float32Array,
    factor: Float32Array,
    fill: Array,
    channel_axis: int,
    begin: int,
    end: int,
) -> None:
    """Normalize samples in which a row of the output is of one channel.

    tables, mean, factor, fill: as in `normalize_interleaved`; channel_axis: the axis of the
    channels in the output, 0 to 3.
    slabs: with offsets in elements; begin, end: the range of samples.
    """
    (src, src_offsets, dst, dst_offsets), (extents, steps, starts, lows, highs) = slabs, tables
    for i in range(begin, end):
        d = dst_offsets[i]
        n3, n4, p3, p4 = extents[i, 3], extents[i, 4], steps[i, 3], steps[i, 4]
        lo, hi = lows[i, 4], highs[i, 4]
        for a in range(extents[i, 0]):
            for b in range(extents[i, 1]):
                for c in range(extents[i, 2]):
                    outer = lows[i, 0] <= a < highs[i, 0] and lows[i, 1] <= b < highs[i, 1]
                    outer = outer and lows[i, 2] <= c < highs[i, 2]
                    s2 = src_offsets[i] + starts[i] + a * steps[i, 0] + b * steps[i, 1]
                    s2 += c * steps[i, 2]
                    for e in range(n3):
                        s = s2 + e * p3
                        inside = outer and lows[i, 3] <= e < highs[i, 3]
                        first = lo if inside else n4
                        last = max(hi, first) if inside else n4
                        # Slices, not offsets: an index that cannot be negative vectorizes.
                        row = dst[d : d + n4]
                        d += n4
                        at = (a, b, c, e)
                        channel = at[channel_axis]
                        _fill_ends(row, fill[channel], first, last)
                        if last <= first:
                            continue
                        m = mean[i, channel]
                        f = factor[i, channel]
                        n = last - first
                        row = row[first:last]
                        s += first * p4
                        # Constant steps let LLVM load strided elements in blocks.
                        if p4 == 3:
                            part = src[s : s + n * 3 - 2]
                            for k in range(n):
                                row[k] = convert_sat((np.float32(part[k * 3]) - m) * f, dst)
                        elif p4 == -3:
                            part = src[s - (n - 1) * 3 : s + 1]
                            for k in range(n):
                                x = np.float32(part[k * 3])
                                row[n - 1 - k] = convert_sat((x - m) * f, dst)
                        elif p4 == 1:
                            part = src[s : s + n]
                            for k in range(n):
                                row[k] = convert_sat((np.float32(part[k]) - m) * f, dst)
                        else:
                            for k in range(n):
                                x = np.float32(src[s + k * p4])
                                row[k] = convert_sat((x - m) * f, dst)
