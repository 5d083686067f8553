"""Numba kernels of `resize`: separable resampling of ragged batches.

A kernel takes a slab (`src`, 1-D, every sample end to end) and writes another (`dst`); it handles
the samples `begin .. end - 1`, so several threads can share a batch, each with scratch of its own
(`scratch_sizes`). Of every sample it reads one row of

- `sizes`   int64 `(N, 8)`: planes, channels, input D, H, W, output D, H, W. A plane is resampled
  alone: `HWC` is one plane of C channels, `CHW` is C planes of one channel, 2-D data has D = 1;
- `window`  int64 `(N, 6)`: lo, hi of the wanted part of the output per axis (D, H, W). Only this
  part is computed and `dst` holds only this part; coefficients use absolute output indices, so
  its bits equal those of a crop of the full result;
- `roi`     float64 `(N, 6)`: lo, hi of the source region per axis; lo > hi mirrors the axis;
- `filters` int64 `(N, 4)`: the filter of each axis (D, H, W), then 1 for antialiasing or 0.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gradiva.eager.jit import jit

from .resample_rows import TO_FLOAT, TO_SMALL_INT, TO_WIDE_INT, blend_rows, resample_row, store_row
from .resample_taps import axis_taps, fill_axis

Array: TypeAlias = npt.NDArray[Any]
F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]
I64: TypeAlias = npt.NDArray[np.int64]


def store_limits(dtype: npt.DTypeLike) -> tuple[int, float, float]:
    """The `kind, low, high` that `resample_range` takes for an output of this dtype."""
    wanted = np.dtype(dtype)
    if wanted == np.float32:
        return TO_FLOAT, 0.0, 0.0
    info = np.iinfo(wanted)
    kind = TO_SMALL_INT if wanted.itemsize < 4 else TO_WIDE_INT
    return kind, float(info.min), float(info.max)


@jit
def blend_rows_first(size: I64, region: F64, taps: I64) -> bool:
    """Whether blending rows before filtering them is the cheaper order for this sample.

    It looks at whole extents, not at the window: the order is part of the result's bits.
    """
    if taps[1] == 1:
        return False
    rows = min(abs(region[3] - region[2]) + taps[1], float(size[3]))
    columns = min(abs(region[5] - region[4]) + taps[2], float(size[4]))
    # A blended element costs about a quarter of a filtered one: it runs in SIMD lanes.
    filtered = 4.0 * taps[2] * size[7]
    blended = float(taps[1] * size[6])
    return bool(blended * columns + size[6] * filtered <= rows * filtered + blended * size[7])


@jit
def scratch_sizes(sizes: I64, window: I64, roi: F64, filters: I64) -> tuple[int, int, int, int]:
    """Lengths that serve any sample: `starts` (3, a), `weights` (3, b), `lines` c, `marks` d."""
    a, b, c, d = 1, 1, 1, 1
    taps = np.empty(3, np.int64)
    for i in range(len(sizes)):
        size = sizes[i]
        for axis in range(3):
            taps[axis] = axis_taps(
                size[2 + axis],
                size[5 + axis],
                roi[i, 2 * axis],
                roi[i, 2 * axis + 1],
                filters[i, axis],
                filters[i, 3],
            )
            extent = window[i, 2 * axis + 1] - window[i, 2 * axis]
            a = max(a, extent)
            b = max(b, extent * taps[axis])
        row = (window[i, 5] - window[i, 4]) * size[1]
        need = row + max(size[4] * size[1], taps[1] * row)
        if size[2] != 1 or size[5] != 1:
            need += taps[0] * (window[i, 3] - window[i, 2]) * row
        c = max(c, need)
        d = max(d, taps[0] + taps[1])
    return a, b, c, 2 * d


@jit
def _nearest_sample(
    src: Array, src_at: int, dst: Array, dst_at: int, size: I64, win: I64, starts: I64
) -> None:
    """Copy whole pixels: no arithmetic, so every dtype is exact."""
    channels = size[1]
    nz, ny, nx = win[1] - win[0], win[3] - win[2], win[5] - win[4]
    pitch, n = size[4] * channels, nx * channels
    out = dst_at
    for plane in range(size[0]):
        for z in range(nz):
            for y in range(ny):
                d = dst[out : out + n]
                if y > 0 and starts[1, y] == starts[1, y - 1]:
                    d[:] = dst[out - n : out]
                else:
                    row = (plane * size[2] + starts[0, z]) * size[3] + starts[1, y]
                    a = src[src_at + row * pitch : src_at + (row + 1) * pitch]
                    if channels == 1:
                        for x in range(nx):
                            d[x] = a[starts[2, x]]
                    elif channels == 3:
                        for x in range(nx):
                            s, o = 3 * starts[2, x], 3 * x
                            d[o] = a[s]
                            d[o + 1] = a[s + 1]
                            d[o + 2] = a[s + 2]
                    else:
                        for x in range(nx):
                            s, o = channels * starts[2, x], channels * x
                            for c in range(channels):
                                d[o + c] = a[s + c]
                out += n


@jit
def _filtered_sample(
    src: Array,
    src_at: int,
    dst: Array,
    dst_at: int,
    size: I64,
    win: I64,
    taps: I64,
    rows_first: bool,
    starts: I64,
    weights: F32,
    lines: F32,
    marks: I64,
    kind: int,
    low: float,
    high: float,
) -> None:
    channels, kz, ky, kx = size[1], taps[0], taps[1], taps[2]
    nz, ny, nx = win[1] - win[0], win[3] - win[2], win[5] - win[4]
    pitch, n = size[4] * channels, nx * channels
    zs, ys, xs = starts[0], starts[1], starts[2]
    wz, wy, wx = weights[0], weights[1], weights[2]
    ends = max(xs[0], xs[nx - 1]) + kx
    skip = min(xs[0], xs[nx - 1])
    deep = size[2] != 1 or size[5] != 1
    # `lines` = one output row, then a blended line or a ring of filtered rows, then a ring of
    # resampled slices.
    row = lines[:n]
    used = n + max(pitch, ky * n)
    work, slices = lines[n:used], lines[used:]
    at, tags = marks[:ky], marks[ky : 2 * ky]
    slice_at, slice_tags = marks[2 * ky : 2 * ky + kz], marks[2 * ky + kz : 2 * (ky + kz)]
    out = dst_at
    for plane in range(size[0]):
        head = src_at + plane * size[2] * size[3] * pitch
        slice_tags[:] = -1
        tags[:] = -1
        for z in range(nz):
            if deep:
                for k in range(kz):
                    depth = zs[z] + k
                    slot = depth % kz
                    if slice_tags[slot] != depth:
                        slice_tags[slot] = depth
                        tags[:] = -1
                        for y in range(ny):
                            line = slices[(slot * ny + y) * n : (slot * ny + y + 1) * n]
                            resample_row(
                                src,
                                head + depth * size[3] * pitch,
                                pitch,
                                channels,
                                y,
                                rows_first,
                                ys,
                                wy,
                                ky,
                                xs,
                                wx,
                                kx,
                                nx,
                                skip,
                                ends - skip,
                                work,
                                at,
                                tags,
                                line,
                            )
            for y in range(ny):
                if deep:
                    for k in range(kz):
                        slice_at[k] = (((zs[z] + k) % kz) * ny + y) * n
                    blend_rows(slices, slice_at, wz, z * kz, kz, n, row)
                else:
                    resample_row(
                        src,
                        head,
                        pitch,
                        channels,
                        y,
                        rows_first,
                        ys,
                        wy,
                        ky,
                        xs,
                        wx,
                        kx,
                        nx,
                        skip,
                        ends - skip,
                        work,
                        at,
                        tags,
                        row,
                    )
                store_row(row, n, dst, out, kind, low, high)
                out += n


@jit
def resample_range(
    src: Array,
    src_offsets: I64,
    dst: Array,
    dst_offsets: I64,
    sizes: I64,
    window: I64,
    roi: F64,
    filters: I64,
    starts: I64,
    weights: F32,
    lines: F32,
    marks: I64,
    kind: int,
    low: float,
    high: float,
    begin: int,
    end: int,
) -> None:
    """Resize the samples `begin .. end - 1`; `kind, low, high` come from `store_limits`."""
    taps = np.zeros(3, np.int64)
    last = np.full((3, 8), np.nan)
    for i in range(begin, end):
        size, win, region, filt = sizes[i], window[i], roi[i], filters[i]
        nothing = size[0] == 0 or size[1] == 0
        for axis in range(3):
            if size[2 + axis] == 0 or win[2 * axis + 1] <= win[2 * axis]:
                nothing = True
        if nothing:
            continue
        nearest = filt[0] == 0 and filt[1] == 0 and filt[2] == 0
        for axis in range(3):
            lo, hi = region[2 * axis], region[2 * axis + 1]
            n, m = size[2 + axis], size[5 + axis]
            a, b = win[2 * axis], win[2 * axis + 1]
            key = last[axis]
            # Samples of one batch often share their geometry; then the table still holds.
            if (
                key[0] == n
                and key[1] == m
                and key[2] == lo
                and key[3] == hi
                and key[4] == a
                and key[5] == b
                and key[6] == filt[axis]
                and key[7] == filt[3]
            ):
                continue
            key[0], key[1], key[2], key[3] = n, m, lo, hi
            key[4], key[5], key[6], key[7] = a, b, filt[axis], filt[3]
            taps[axis] = fill_axis(
                n, m, lo, hi, filt[axis], filt[3], axis < 2, a, b, starts[axis], weights[axis]
            )
        if nearest:
            _nearest_sample(src, src_offsets[i], dst, dst_offsets[i], size, win, starts)
        else:
            _filtered_sample(
                src,
                src_offsets[i],
                dst,
                dst_offsets[i],
                size,
                win,
                taps,
                blend_rows_first(size, region, taps),
                starts,
                weights,
                lines,
                marks,
                kind,
                low,
                high,
            )
