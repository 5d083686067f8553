"""The inner loops of `resize`: blend rows, filter one row, round one row."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gradiva.eager.jit import jit
from gradiva.eager.rows import row_kernel

Array: TypeAlias = npt.NDArray[Any]
F32: TypeAlias = npt.NDArray[np.float32]
I64: TypeAlias = npt.NDArray[np.int64]

# Adding this and truncating rounds halves away from zero; adding 0.5 would carry 0.49999997 to 1.
_HALF = np.float32(0.49999997)
_ZERO = np.float32(0.0)
# Unsigned indices spare the loops the test for a negative index.
_U1, _U2, _U3 = np.uint64(1), np.uint64(2), np.uint64(3)


@jit
def blend_rows(src: Array, at: I64, weights: F32, first: int, taps: int, n: int, out: F32) -> None:
    """`out[:n]` = sum over k of `weights[first + k]` times the n elements at `src[at[k]]`."""
    o = out[:n]
    a = src[at[0] : at[0] + n]
    wa = weights[first]
    if taps == 1:
        for j in range(n):
            o[j] = wa * np.float32(a[j])
        return
    b = src[at[1] : at[1] + n]
    wb = weights[first + 1]
    if taps == 2:
        for j in range(n):
            o[j] = wa * np.float32(a[j]) + wb * np.float32(b[j])
        return
    c = src[at[2] : at[2] + n]
    wc = weights[first + 2]
    if taps == 3:
        for j in range(n):
            o[j] = wa * np.float32(a[j]) + wb * np.float32(b[j]) + wc * np.float32(c[j])
        return
    d = src[at[3] : at[3] + n]
    wd = weights[first + 3]
    for j in range(n):
        v = wa * np.float32(a[j]) + wb * np.float32(b[j]) + wc * np.float32(c[j])
        o[j] = v + wd * np.float32(d[j])
    k = 4
    while k + 1 < taps:
        a, b = src[at[k] : at[k] + n], src[at[k + 1] : at[k + 1] + n]
        wa, wb = weights[first + k], weights[first + k + 1]
        for j in range(n):
            o[j] = o[j] + wa * np.float32(a[j]) + wb * np.float32(b[j])
        k += 2
    if k < taps:
        a = src[at[k] : at[k] + n]
        wa = weights[first + k]
        for j in range(n):
            o[j] = o[j] + wa * np.float32(a[j])


@jit
def _filter_quads(
    line: Array, skip: int, channels: int, starts: I64, weights: F32, taps: int, n: int, out: F32
) -> None:
    """`filter_row` for 3 or 4 channels, four lanes at a time: LLVM makes them one vector.

    With 3 channels the fourth lane is the next pixel's first: it is overwritten right after. The
    last pixel, and one that reads the end of the line, therefore take three lanes.
    """
    k, step, size = np.uint64(taps), np.uint64(channels), np.uint64(len(line))
    last = np.uint64(n - 1)
    q, o = np.uint64(0), np.uint64(0)
    for x in range(np.uint64(n)):
        p = np.uint64(starts[x] - skip) * step
        w = weights[q]
        if channels == 4 or (x < last and p + step * k < size):
            a0, a1 = w * np.float32(line[p]), w * np.float32(line[p + _U1])
            a2, a3 = w * np.float32(line[p + _U2]), w * np.float32(line[p + _U3])
            t = _U1
            while t + _U1 < k:
                v, u = weights[q + t], weights[q + t + _U1]
                p += step
                a0 = a0 + v * np.float32(line[p])
                a1 = a1 + v * np.float32(line[p + _U1])
                a2 = a2 + v * np.float32(line[p + _U2])
                a3 = a3 + v * np.float32(line[p + _U3])
                p += step
                a0 = a0 + u * np.float32(line[p])
                a1 = a1 + u * np.float32(line[p + _U1])
                a2 = a2 + u * np.float32(line[p + _U2])
                a3 = a3 + u * np.float32(line[p + _U3])
                t += _U2
            if t < k:
                p += step
                v = weights[q + t]
                a0 = a0 + v * np.float32(line[p])
                a1 = a1 + v * np.float32(line[p + _U1])
                a2 = a2 + v * np.float32(line[p + _U2])
                a3 = a3 + v * np.float32(line[p + _U3])
            out[o] = a0
            out[o + _U1] = a1
            out[o + _U2] = a2
            out[o + _U3] = a3
        else:
            a0, a1 = w * np.float32(line[p]), w * np.float32(line[p + _U1])
            a2 = w * np.float32(line[p + _U2])
            for s in range(1, taps):
                p += step
                v = weights[q + np.uint64(s)]
                a0 = a0 + v * np.float32(line[p])
                a1 = a1 + v * np.float32(line[p + _U1])
                a2 = a2 + v * np.float32(line[p + _U2])
            out[o] = a0
            out[o + _U1] = a1
            out[o + _U2] = a2
        q += k
        o += step


@jit
def filter_row(
    line: Array, skip: int, channels: int, starts: I64, weights: F32, taps: int, n: int, out: F32
) -> None:
    """`out` = the n output pixels of one line whose first element is input column `skip`."""
    if channels == 3 or channels == 4:
        _filter_quads(line, skip, channels, starts, weights, taps, n, out)
    elif channels == 1:
        k = np.uint64(taps)
        q = np.uint64(0)
        for x in range(np.uint64(n)):
            p = np.uint64(starts[x] - skip)
            a0 = weights[q] * np.float32(line[p])
            t = _U1
            while t + _U1 < k:
                a0 = a0 + weights[q + t] * np.float32(line[p + t])
                a0 = a0 + weights[q + t + _U1] * np.float32(line[p + t + _U1])
                t += _U2
            if t < k:
                a0 = a0 + weights[q + t] * np.float32(line[p + t])
            q += k
            out[x] = a0
    else:
        for i in range(n):
            o = out[i * channels : (i + 1) * channels]
            head = (starts[i] - skip) * channels
            o[:] = _ZERO
            for j in range(taps):
                w = weights[i * taps + j]
                a = line[head + j * channels : head + (j + 1) * channels]
                for c in range(channels):
                    o[c] = o[c] + w * np.float32(a[c])


@jit
def resample_row(
    src: Array,
    base: int,
    pitch: int,
    full: int,
    channels: int,
    y: int,
    rows_first: bool,
    ys: I64,
    wy: F32,
    ky: int,
    xs: I64,
    wx: F32,
    kx: int,
    nx: int,
    skip: int,
    width: int,
    lines: F32,
    at: I64,
    tags: I64,
    out: F32,
) -> None:
    """`out` = output row `y` (counted from the window's first) of the plane at `src[base]`.

    With `rows_first` the input rows are blended, then the one line is filtered. Otherwise `lines`
    is a ring of filtered input rows and `tags` says which row each slot holds (-1: none). `full`:
    elements of an input row; `pitch`: from one row to the next.
    """
    first = y * ky
    if rows_first:
        for k in range(ky):
            at[k] = base + (ys[y] + k) * pitch + skip * channels
        blend_rows(src, at, wy, first, ky, width * channels, lines)
        filter_row(lines[: width * channels], skip, channels, xs, wx, kx, nx, out)
        return
    size = nx * channels
    for k in range(ky):
        row = ys[y] + k
        slot = row % ky
        at[k] = slot * size
        if tags[slot] != row:
            tags[slot] = row
            head = base + row * pitch
            filter_row(src[head : head + full], 0, channels, xs, wx, kx, nx, lines[slot * size :])
    blend_rows(lines, at, wy, first, ky, size, out)


@jit
def pick_row(line: Array, channels: int, starts: I64, n: int, out: F32) -> None:
    """`out` = n whole pixels of one line, those that `starts` names."""
    if channels == 1:
        for x in range(n):
            out[x] = np.float32(line[starts[x]])
    elif channels == 3:
        for x in range(n):
            s, o = 3 * starts[x], 3 * x
            out[o] = np.float32(line[s])
            out[o + 1] = np.float32(line[s + 1])
            out[o + 2] = np.float32(line[s + 2])
    else:
        for x in range(n):
            s, o = channels * starts[x], channels * x
            for c in range(channels):
                out[o + c] = np.float32(line[s + c])


@row_kernel()
def store_row(source: Any, target: Any, limits: Any) -> None:
    """Round half away from zero, saturate, NaN -> 0; the target has at most 16 bits."""
    lo, hi = limits[0], limits[1]
    for j in range(source.size):
        v = source[j]
        v = v + (_HALF if v > _ZERO else -_HALF)
        v = v if v == v else _ZERO
        v = v if v > lo else lo
        v = v if v < hi else hi
        target[j] = np.int32(v)
