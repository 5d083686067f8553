"""Whole pixels picked by `resize`, where nothing else happens to them: as they are, without float32
in between, which holds every value that is taken here, so that the bits are those of `cpu.py`."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.pixel_vectors import move_three
from gradiva.eager.types.arrays import Array, F64Table, I64Table, I64Vector, Int64Array

from .columns import (
    CHANNELS,
    D_BEGIN,
    D_END,
    H_BEGIN,
    H_END,
    IN_D,
    IN_H,
    IN_W,
    PLANE_PITCH,
    PLANES,
    ROW_PITCH,
    SLICE_PITCH,
    W_BEGIN,
    W_END,
)
from .taps import axis_of, axis_origin, fill_axis, first_axis


@op.jit
def _move_row(src: Array, at: int, heads: Int64Array, channels: int, dst: Array, to: int) -> None:
    """The pixels that begin at the elements `heads` of a line.

    at: where the line begins in `src`, heads: (pixels,), from there, to: where the pixels go in
    `dst`; all in elements.
    """
    count = len(heads)
    done = 0
    if channels == 3 and count > 0:
        # An element more is copied of each: that of the last one would not be ours.
        safe = src.size - at - 4
        while done < count - 1 and heads[done] <= safe:
            move_three(src, at + heads[done], dst, to + 3 * done)
            done += 1
    for x in range(done, count):
        for c in range(channels):
            dst[to + x * channels + c] = src[at + heads[x] + c]


@op.jit
def pick_range(
    src: Array,
    dst: Array,
    places: Int64Array,
    tables: tuple[I64Vector, I64Table, I64Table, F64Table, I64Table],
    begin: int,
    end: int,
) -> None:
    """Resize the samples `begin .. end - 1` to the nearest pixel; they begin at `places` of `dst`.

    tables: as `resample_range` takes them.
    places: (N,), in elements.
    """
    offsets, sizes, window, roi, filters = tables
    longest = 1
    for i in range(begin, end):
        for axis in range(3):
            longest = max(longest, window[i, 2 * axis + 1] - window[i, 2 * axis])
    starts, weights = np.empty((3, longest), np.int64), np.empty((3, longest), np.float32)
    heads = np.empty(longest, np.int64)
    for i in range(begin, end):
        size, win = sizes[i], window[i]
        nz, ny, nx = win[D_END] - win[D_BEGIN], win[H_END] - win[H_BEGIN], win[W_END] - win[W_BEGIN]
        channels = size[CHANNELS]
        if (
            min(nz, ny, nx) <= 0
            or min(size[PLANES], size[CHANNELS], size[IN_D], size[IN_H], size[IN_W]) == 0
        ):
            continue
        leader = first_axis(size, roi[i], filters[i])
        for axis in range(3):
            facts = axis_of(axis, size, roi[i], filters[i])
            origin = axis_origin(facts) if axis != leader else 0
            low, high = win[2 * axis], win[2 * axis + 1]
            fill_axis(facts, axis < 2, origin, low, high, starts[axis], weights[axis])
        for x in range(nx):
            heads[x] = starts[2, x] * channels
        row, to = nx * channels, places[i]
        for plane in range(size[PLANES]):
            for z in range(nz):
                for y in range(ny):
                    if y > 0 and starts[1, y] == starts[1, y - 1]:
                        above, target = dst[to - row : to], dst[to : to + row]
                        for k in range(row):
                            target[k] = above[k]
                    else:
                        at = (
                            offsets[i]
                            + plane * size[PLANE_PITCH]
                            + starts[0, z] * size[SLICE_PITCH]
                        )
                        _move_row(
                            src, at + starts[1, y] * size[ROW_PITCH], heads[:nx], channels, dst, to
                        )
                    to += row
