"""The kernel of `crop_mirror_normalize`: a window, mirrored, normalized, in another layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.convert import convert_sat
from gradiva.eager.types.arrays import Array, Float32Array


@op.jit
def normalize_kernel(
    slabs: Any,
    tables: Any,
    mean: Float32Array,
    factor: Float32Array,
    fill: Array,
    channel_axis: int,
    begin: int,
    end: int,
) -> None:
    """Tables from `plan` and `fold`; `mean` and `factor` are (N, channels), broadcast already.

    `fill` (in dst's dtype, one per output channel) is written as it is, not normalized.
    """
    (src, src_offsets, dst, dst_offsets), (extents, steps, starts, lows, highs) = slabs, tables
    for i in range(begin, end):
        d = dst_offsets[i]
        n3, n4 = extents[i, 3], extents[i, 4]
        p3, p4 = steps[i, 3], steps[i, 4]
        lo, hi = lows[i, 4], highs[i, 4]
        for a in range(extents[i, 0]):
            for b in range(extents[i, 1]):
                for c in range(extents[i, 2]):
                    outer = lows[i, 0] <= a < highs[i, 0] and lows[i, 1] <= b < highs[i, 1]
                    outer = outer and lows[i, 2] <= c < highs[i, 2]
                    s2 = src_offsets[i] + starts[i] + a * steps[i, 0] + b * steps[i, 1]
                    s2 += c * steps[i, 2]
                    if channel_axis == 4:
                        row = dst[d : d + n3 * n4]
                        d += n3 * n4
                        first = lows[i, 3] if outer else n3
                        last = max(highs[i, 3], first) if outer else n3
                        for e in range(first):
                            for k in range(n4):
                                row[e * n4 + k] = fill[k]
                        for e in range(last, n3):
                            for k in range(n4):
                                row[e * n4 + k] = fill[k]
                        n = last - first
                        s = s2 + first * p3
                        if n > 0 and n4 == 3 and hi == 3 and p4 == 1 and abs(p3) == 3:
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
                            continue
                        for k in range(n4):
                            if lo <= k < hi:
                                m = mean[i, k]
                                f = factor[i, k]
                                for e in range(n):
                                    x = np.float32(src[s + e * p3 + k * p4])
                                    row[(first + e) * n4 + k] = convert_sat((x - m) * f, dst)
                            else:
                                for e in range(n):
                                    row[(first + e) * n4 + k] = fill[k]
                        continue
                    for e in range(n3):
                        s = s2 + e * p3
                        inside = outer and lows[i, 3] <= e < highs[i, 3]
                        first = lo if inside else n4
                        last = hi if inside else n4
                        # Slices, not offsets: an index that cannot be negative vectorizes.
                        row = dst[d : d + n4]
                        d += n4
                        at = (a, b, c, e)
                        channel = at[channel_axis]
                        for k in range(first):
                            row[k] = fill[channel]
                        for k in range(last, n4):
                            row[k] = fill[channel]
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
