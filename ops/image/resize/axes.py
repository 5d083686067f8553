"""What the GPU kernels of `resize` are told of each axis of each sample.

The positions and weights themselves are made on the GPU, by resample_tables.cuh, in the arithmetic
of taps.py: for ragged batches that takes the CPU longer than all the rest.
"""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32Vector, Float64Array, Int64Array

from .cpu import blend_rows_first
from .taps import (
    _CURVE_AT,
    _RADII,
    _STEPS,
    _reach,
    _spread,
    _wide,
    axis_of,
    axis_origin,
    axis_taps,
    fill_axis,
    first_axis,
    is_new,
)

# What is known of an axis: how many outputs, how many inputs each of them reads, where its first
# inputs and its weights begin in the tables, the lowest input that is read and the one after the
# highest.
EXTENT, TAPS, STARTS, WEIGHTS, LOW, END = range(6)


@op.jit
def _real_facts(facts: tuple[int, int, float, float, int, int], origin: int, to: F32Vector) -> int:
    """The floats of an axis as `fill_axis` has them; returns the inputs that its filter covers.

    facts: as `axis_of` returns them; origin: in inputs; to: (5,).
    """
    _, m, lo, hi, filt, antialias = facts
    scale = (np.float32(hi) - np.float32(lo)) / np.float32(m)
    base = np.float32(lo - origin)
    to[0], to[1], to[2], to[3], to[4] = 0.0, 0.0, scale, 0.0, base
    if filt == 0:
        return 1
    spread = _spread(m, lo, hi, antialias)
    half = np.float32(0.5)
    offset = np.float32(half * scale - half)
    offset = np.float32(offset - _reach(filt, np.float32(spread)))
    to[0], to[1], to[3] = _STEPS / spread, 2.0 * _RADII[filt] * _STEPS + 1.0, base + offset
    return _wide(filt, spread)


@op.jit
def batch_axes(
    sizes: Int64Array, window: Int64Array, roi: Float64Array, filters: Int64Array, flips: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array, Float64Array]:
    """Axes (N, 3, 6), see EXTENT; order (N,): 1 where rows are blended first; and, for each axis
    whose tables have to be made, the columns of the struct `Axis` of resample_tables.cuh: whole
    numbers (K, 10), which end with the outputs, and floats (K, 5).

    sizes, window, roi, filters: see cpu.py; flips (N, 3): whether the window is mirrored along
    D, H, W. A sample without elements has extents of 0. Samples share the tables of the one before
    where they would be the same.
    """
    count = len(sizes)
    axes, order = np.zeros((count, 3, 6), np.int64), np.zeros(count, np.int64)
    whole, real = np.zeros((3 * count, 10), np.int64), np.zeros((3 * count, 5), np.float64)
    key, held = np.full((3, 10), np.nan), np.empty(10, np.float64)
    owner, taps_of = np.zeros(3, np.int64), np.empty(3, np.int64)
    line = np.empty(1, np.int64)
    heads, places, made = 0, 0, 0
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
            n, m, lo, hi, kind, antialias = axis_of(axis, size, region, filt)
            origin, a, b = 0, win[2 * axis], win[2 * axis + 1]
            if axis != leader:
                origin = axis_origin((n, m, lo, hi, kind, antialias))
            if axis == 0 and n == 1 and m == 1:
                # The slices of an image are not blended: here, with a weight of exactly 1.
                kind = 0
            facts = (n, m, lo, hi, kind, antialias)
            held[0], held[1], held[2], held[3], held[4] = n, m, lo, hi, a
            held[5], held[6], held[7], held[8], held[9] = b, kind, antialias, origin, flips[i, axis]
            found = axes[i, axis]
            if not is_new(key[axis], held):
                found[:] = axes[owner[axis], axis]
                continue
            owner[axis] = i
            taps = axis_taps(facts)
            found[EXTENT], found[TAPS], found[STARTS], found[WEIGHTS] = b - a, taps, heads, places
            wide = _real_facts(facts, origin, real[made])
            row = whole[made]
            row[0], row[1], row[2], row[3], row[4] = heads, places, n, taps, wide
            row[5], row[6], row[7], row[9] = _CURVE_AT[kind], origin, a, b - a
            row[8] = (1 if kind == 0 else 0) + (2 if axis < 2 else 0) + (4 if flips[i, axis] else 0)
            # Places rise or fall: the ends say which inputs are read.
            weights = np.empty(taps, np.float32)
            fill_axis(facts, axis < 2, origin, a, a + 1, line, weights)
            found[LOW], found[END] = line[0], line[0] + taps
            fill_axis(facts, axis < 2, origin, b - 1, b, line, weights)
            found[LOW], found[END] = min(found[LOW], line[0]), max(found[END], line[0] + taps)
            heads, places, made = heads + b - a, places + (b - a) * taps, made + 1
        for axis in range(3):
            taps_of[axis] = axes[i, axis, TAPS]
        order[i] = blend_rows_first(size, region, taps_of)
    return axes, order, whole[:made], real[:made]
