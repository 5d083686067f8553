"""The tables of `resize` for a whole batch, as its GPU kernels read them.

The same coefficients as on the CPU, by the same functions; there each thread makes them when it
comes to a sample, here they are made before all samples are resampled at once.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gradiva.eager.jit import jit

from .resample import blend_rows_first
from .resample_taps import axis_origin, axis_taps, fill_axis, first_axis

__all__ = ["END", "EXTENT", "LOW", "STARTS", "TAPS", "WEIGHTS", "batch_axes"]

F32: TypeAlias = npt.NDArray[np.float32]
F64: TypeAlias = npt.NDArray[np.float64]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]

# What is known of an axis: how many outputs, how many inputs each of them reads, where its first
# inputs and its weights begin in the tables, the lowest input that is read and the one after the
# highest.
EXTENT, TAPS, STARTS, WEIGHTS, LOW, END = range(6)


@jit
def _same(key: F64, values: Any) -> bool:
    same = True
    for k in range(len(key)):
        same = same and key[k] == values[k]
        key[k] = values[k]
    return same


@jit
def batch_axes(
    sizes: I64, window: I64, roi: F64, filters: I64, flips: I64
) -> tuple[I64, I64, I32, F32]:
    """Axes (N, 3, 6), see EXTENT; order (N,): 1 where rows are blended first; starts; weights.

    sizes, window, roi, filters: see resample.py; flips (N, 3): whether the window is mirrored along
    D, H, W. The weights of an axis are those of all outputs for the first input, then for the
    second ...: neighbouring threads read neighbouring ones. A sample without elements has extents
    of 0. Samples share the tables of the one before that are the same.
    """
    count = len(sizes)
    axes = np.zeros((count, 3, 6), np.int64)
    order = np.zeros(count, np.int64)
    owners = np.full((count, 3), -1, np.int64)
    origins = np.zeros((count, 3), np.int64)
    key = np.full((3, 10), np.nan)
    held, own = np.empty(10, np.float64), np.full(3, -1, np.int64)
    heads, places, most, longest = 0, 0, 1, 1
    for i in range(count):
        size, win, region, filt = sizes[i], window[i], roi[i], filters[i]
        nothing = size[0] == 0 or size[1] == 0
        for axis in range(3):
            if size[2 + axis] == 0 or win[2 * axis + 1] <= win[2 * axis]:
                nothing = True
        if nothing:
            continue
        leader = first_axis(size, region, filt)
        for axis in range(3):
            lo, hi = region[2 * axis], region[2 * axis + 1]
            n, m = size[2 + axis], size[5 + axis]
            kind = filt[axis]
            if axis == 0 and size[2] == 1 and size[5] == 1:
                # The slices of an image are not blended: here, with a weight of exactly 1.
                kind = 0
            if axis != leader:
                origins[i, axis] = axis_origin(n, m, lo, hi, filt[axis], filt[3])
            held[0], held[1], held[2], held[3] = n, m, lo, hi
            held[4], held[5], held[6] = win[2 * axis], win[2 * axis + 1], kind
            held[7], held[8], held[9] = filt[3], origins[i, axis], flips[i, axis]
            if not _same(key[axis], held):
                own[axis] = i
                extent = win[2 * axis + 1] - win[2 * axis]
                taps = axis_taps(n, m, lo, hi, kind, filt[3])
                found = axes[i, axis]
                found[EXTENT], found[TAPS], found[STARTS], found[WEIGHTS] = (
                    extent, taps, heads, places,
                )  # fmt: skip
                heads += extent
                places += extent * taps
                most, longest = max(most, extent), max(longest, extent * taps)
            owners[i, axis] = own[axis]
    starts, weights = np.empty(heads, np.int32), np.empty(places, np.float32)
    line, values = np.empty(most, np.int64), np.empty(longest, np.float32)
    taps_of = np.empty(3, np.int64)
    for i in range(count):
        for axis in range(3):
            found = axes[i, axis]
            if owners[i, axis] != i:
                if owners[i, axis] >= 0:
                    found[:] = axes[owners[i, axis], axis]
                continue
            kind, extent, taps = filters[i, axis], found[EXTENT], found[TAPS]
            if axis == 0 and sizes[i, 2] == 1 and sizes[i, 5] == 1:
                kind = 0
            fill_axis(
                sizes[i, 2 + axis], sizes[i, 5 + axis], roi[i, 2 * axis], roi[i, 2 * axis + 1],
                kind, filters[i, 3], axis < 2, origins[i, axis], window[i, 2 * axis],
                window[i, 2 * axis + 1], line, values,
            )  # fmt: skip
            found[LOW], found[END] = line[0], line[0] + taps
            for x in range(extent):
                found[LOW] = min(found[LOW], line[x])
                found[END] = max(found[END], line[x] + taps)
                to = extent - 1 - x if flips[i, axis] else x
                starts[found[STARTS] + to] = line[x]
                for k in range(taps):
                    weights[found[WEIGHTS] + k * extent + to] = values[x * taps + k]
        if owners[i, 0] >= 0:
            for axis in range(3):
                taps_of[axis] = axes[i, axis, TAPS]
            order[i] = blend_rows_first(sizes[i], roi[i], taps_of)
    return axes, order, starts, weights
