"""Numba kernels of `resize`: separable resampling of ragged batches.

A kernel takes a slab (`src`, 1-D, every sample end to end); it handles the samples
`begin .. end - 1`, so several threads can share a batch, each with scratch of its own
(`scratch_sizes`). It makes the output row by row, in float32; each row goes through a chain
(`eager/rows/row_chain.py`), which rounds it, does to it what follows in a fused group, and stores
it. Of every sample the kernel reads one row of

- `sizes`   int64 `(N, 11)`: planes, channels, input D, H, W, output D, H, W, and the source
  elements from one row, slice and plane to the next. A plane is resampled alone: `HWC` is one
  plane of C channels, `CHW` is C planes of one channel, 2-D data has D = 1;
- `window`  int64 `(N, 6)`: lo, hi of the wanted part of the output per axis (D, H, W). Only this
  part is computed and stored; coefficients use absolute output indices, so its bits equal those
  of a crop of the full result;
- `roi`     float64 `(N, 6)`: lo, hi of the source region per axis; lo > hi mirrors the axis;
- `filters` int64 `(N, 5)`: the filter of each axis (D, H, W), then 1 for antialiasing or 0, then
  the number of axes, 2 or 3: a volume of one slice is not resampled in the order of a plane;
- `samples`: the table of `eager/rows/row_chain.py`, which says where rows go.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import noinline
from gradiva.eager.jit.subprocess_compiler import SubprocessCompiler, compile_noinline
from gradiva.eager.rows.row_chain import (
    FORM_CHANNELS,
    MIRROR,
    PATCHES,
    TARGET,
    TARGET_FRAME,
    TARGET_PLANE,
    TARGET_ROW,
    UPSIDE_DOWN,
    finish_patches,
    finish_row,
)
from gradiva.eager.simd.intrinsics import local_floats, local_words, span, without_refcount
from gradiva.eager.types.arrays import (
    Array,
    F32Table,
    F32Vector,
    F64Table,
    Float32Array,
    Float64Array,
    I64Table,
    I64Vector,
    Int64Array,
    U8Vector,
)

from .columns import (
    CHANNELS,
    D_BEGIN,
    D_END,
    H_BEGIN,
    H_END,
    IN_D,
    IN_H,
    IN_W,
    OUT_D,
    OUT_H,
    OUT_W,
    PLANE_PITCH,
    PLANES,
    ROW_PITCH,
    SLICE_PITCH,
    W_BEGIN,
    W_END,
)
from .rows import blend_rows, find_heads, forget, pick_row, resample_rows
from .taps import axis_of, axis_origin, axis_taps, fill_axis, first_axis, is_new

_BLOCK: Final = 8
"""Rows that are made at once: of an image the ones that stay in the first-level cache."""


@op.jit
def blend_rows_first(size: Int64Array, region: Float64Array, taps: Int64Array) -> bool:
    """Whether blending rows before filtering them is the cheaper order for this sample.

    It looks at whole extents, not at the window: the order is part of the result's bits.

    size: (11,), a row of `sizes`; region: (6,), a row of `roi`, in pixels; taps: (3,), inputs that
    an output reads, along D, H, W.
    """
    if taps[1] == 1:
        return False
    rows = min(abs(region[H_END] - region[H_BEGIN]) + taps[1], float(size[IN_H]))
    columns = min(abs(region[W_END] - region[W_BEGIN]) + taps[2], float(size[IN_W]))
    # A blended element costs about a quarter of a filtered one: it runs in SIMD lanes.
    filtered = 4.0 * taps[2] * size[OUT_W]
    blended = float(taps[1] * size[OUT_H])
    return bool(
        blended * columns + size[OUT_H] * filtered <= rows * filtered + blended * size[OUT_W]
    )


@op.jit
def padded(elements: int) -> int:
    """The length of a line of scratch: room for one element more, in whole cache lines.

    elements: float32 numbers.
    """
    return elements // 16 * 16 + 16


PICKED, ROWS_FIRST, COLUMNS_FIRST, DEEP = 1, 2, 4, 4
"""The ways of samples, as bits: whole pixels are picked, or rows are blended first, or filtered;
the latter two times `DEEP` for volumes."""


@op.jit
def is_deep(size: Int64Array) -> bool:
    """Whether slices are blended, too.

    size: (11,), a row of `sizes`.
    """
    return bool(size[IN_D] != 1 or size[OUT_D] != 1)


@op.jit
def scratch_sizes(
    sizes: Int64Array, window: Int64Array, roi: Float64Array, filters: Int64Array
) -> tuple[int, int, int, int, int]:
    """Lengths that serve any sample: `starts` (4, a), `weights` (3, b), `lines` c, `marks` d. Last,
    the ways that there are.

    sizes, window, roi, filters: as at the top of this file. The lengths are in elements.
    """
    a, b, c, d, ways = 1, 1, 1, 1, 0
    taps = local_words()
    for i in range(len(sizes)):
        size = sizes[i]
        for axis in range(3):
            taps[axis] = axis_taps(axis_of(axis, size, roi[i], filters[i]))
            extent = window[i, 2 * axis + 1] - window[i, 2 * axis]
            a = max(a, extent)
            b = max(b, extent * taps[axis])
        row = padded((window[i, W_END] - window[i, W_BEGIN]) * size[CHANNELS])
        # Rows of a block, and four blended lines or a ring of filtered rows, and a ring of slices.
        need = _BLOCK * row + max(4 * padded(size[IN_W] * size[CHANNELS]), (taps[1] + 3) * row)
        deep = is_deep(size)
        if deep:
            need += taps[0] * (window[i, H_END] - window[i, H_BEGIN]) * row
        c = max(c, need)
        d = max(d, taps[0] + taps[1])
        if filters[i, 0] == 0 and filters[i, 1] == 0 and filters[i, 2] == 0:
            ways |= PICKED
        else:
            way = ROWS_FIRST if blend_rows_first(size, roi[i], taps) else COLUMNS_FIRST
            ways |= way * DEEP if deep else way
    return a, b, c, 2 * d + 13 + _BLOCK, ways


@op.jit
def store_row_of(
    row: Float32Array,
    channels: int,
    plane: int,
    y: int,
    sample: Int64Array,
    chain: tuple[I64Vector, int, int, int, int],
) -> None:
    """Hand one row to the chain; `y` counts the rows of all slices.

    row: float32, pixels * channels values; plane: the number of the plane; sample: a row of the
    table `samples`, in bytes; chain: its form, the addresses of parameters, scratch and target, and
    the bytes of an element there.
    """
    form, parameters, scratch, dst, item = chain
    if form[PATCHES]:
        pixels, head = len(row) // channels, row.ctypes.data
        finish_patches(head, pixels, plane, y, form, parameters, scratch, sample, dst, item)
        return
    to = dst + sample[TARGET] + plane * sample[TARGET_FRAME] + y * sample[TARGET_ROW]
    # A chain of one channel takes interleaved ones alike, whatever their number.
    pixels = len(row) if form[FORM_CHANNELS] == 1 else len(row) // channels
    pace = sample[TARGET_PLANE] // item
    head = row.ctypes.data
    finish_row(head, 0, pixels, sample[MIRROR], form, parameters, scratch, to, pace)


@noinline
def _nearest_sample(
    src: Array,
    src_at: int,
    size: Int64Array,
    win: Int64Array,
    room: tuple[I64Table, F32Table, F32Vector, I64Vector],
    sample: Int64Array,
    chain: tuple[I64Vector, int, int, int, int],
) -> None:
    """Pick whole pixels: float32 holds the values of every dtype taken here exactly.

    src_at: where the sample begins, in elements; size, win: rows of `sizes` and `window`; room:
    starts (in pixels of the input), weights, lines and marks; sample, chain: as in `store_row_of`.
    """
    (starts, _, lines, _), channels = room, size[CHANNELS]
    nz, ny, nx = win[D_END] - win[D_BEGIN], win[H_END] - win[H_BEGIN], win[W_END] - win[W_BEGIN]
    row = lines[: nx * channels]
    for plane in range(size[PLANES]):
        for z in range(nz):
            for y in range(ny):
                if y == 0 or starts[1, y] != starts[1, y - 1]:
                    at = (
                        src_at
                        + plane * size[PLANE_PITCH]
                        + starts[0, z] * size[SLICE_PITCH]
                        + starts[1, y] * size[ROW_PITCH]
                    )
                    pick_row(src[at : at + size[IN_W] * channels], channels, starts[2], nx, row)
                where = ny - 1 - y if sample[UPSIDE_DOWN] else y
                store_row_of(row, channels, plane, z * ny + where, sample, chain)


@noinline
def _filtered_sample(
    src: Array,
    src_at: int,
    size: Int64Array,
    win: Int64Array,
    taps: Int64Array,
    columns_first: bool | None,
    deep: bool | None,
    room: tuple[I64Table, F32Table, F32Vector, I64Vector],
    sample: Int64Array,
    chain: tuple[I64Vector, int, int, int, int],
) -> None:
    """columns_first: None where rows are blended before they are filtered; deep: None for one that
    is no volume.

    src_at: where the sample begins, in elements; size, win: rows of `sizes` and `window`; taps:
    (3,), inputs that an output reads, along D, H, W; room: starts (in pixels of the input),
    weights, lines and marks; sample, chain: as in `store_row_of`.
    """
    starts, weights = without_refcount(room[0]), without_refcount(room[1])
    lines, marks = without_refcount(room[2]), without_refcount(room[3])
    channels, kz, ky, kx = size[CHANNELS], taps[0], taps[1], taps[2]
    nz, ny, nx = win[D_END] - win[D_BEGIN], win[H_END] - win[H_BEGIN], win[W_END] - win[W_BEGIN]
    pitch, n = size[ROW_PITCH], nx * channels
    zs, ys, xs, heads = starts[0], starts[1], starts[2], starts[3]
    wz, wy, wx = weights[0], weights[1], weights[2]
    length = padded(n)
    block: Any = np.int64(_BLOCK)
    used = block * length
    rows, lines = span(lines, 0, used), span(lines, used, len(lines) - used)
    # `to`, then the elements that are safe, then what `resample_rows` marks.
    to, marks = span(marks, 0, block), span(marks, block, len(marks) - block)
    safe, at, tags = span(marks, 0, 2), span(marks, 2, 8 + ky), span(marks, 10 + ky, 3 + ky)
    slice_at, slice_tags = span(marks, 13 + 2 * ky, kz), span(marks, 13 + 2 * ky + kz, kz)
    skip, width, between = 0, size[IN_W] * channels, length
    held = width
    if columns_first is None:
        skip = min(xs[0], xs[nx - 1])
        width = (max(xs[0], xs[nx - 1]) + kx - skip) * channels
        between = held = padded(width)
    find_heads(xs, nx, skip, channels, kx, held, heads, safe)
    used = 4 * between if columns_first is None else (ky + 3) * length
    work = (span(lines, 0, used), between, skip, width)
    slices = span(lines, used, len(lines) - used)
    down, across = (ys, wy, ky, ny), (heads, wx, kx, nx, safe, channels)
    # Of a volume, a slice is made whole before slices are blended.
    made, deepest = rows, 1
    if deep is not None:
        made, block, deepest = slices, ny, kz
    for plane in range(size[PLANES]):
        head = src_at + plane * size[PLANE_PITCH]
        if deep is not None:
            forget(slice_tags)
        forget(tags)
        for z in range(nz):
            for top in range(0, ny, block):
                bottom = min(top + block, ny)
                for k in range(deepest):
                    depth = zs[z] + k
                    slot = depth % deepest
                    if deep is not None:
                        if slice_tags[slot] == depth:
                            continue
                        slice_tags[slot] = depth
                        forget(tags)
                    for y in range(top, bottom, _BLOCK):
                        for i in range(_BLOCK):
                            to[i] = (slot * block + y - top + i) * length
                        rows_of = (src, head + depth * size[SLICE_PITCH], pitch)
                        count = min(_BLOCK, bottom - y)
                        resample_rows(
                            rows_of,
                            y,
                            count,
                            columns_first,
                            down,
                            across,
                            work,
                            (at, tags),
                            made,
                            to,
                        )
                for y in range(top, bottom):
                    row = span(rows, 0 if deep is not None else (y - top) * length, n)
                    if deep is not None:
                        for k in range(kz):
                            slice_at[k] = (((zs[z] + k) % kz) * ny + y) * length
                        blend_rows(slices, slice_at, wz, z * kz, kz, n, row)
                    where = ny - 1 - y if sample[UPSIDE_DOWN] else y
                    store_row_of(row, channels, plane, z * ny + where, sample, chain)


@op.jit
def resample_range(
    src: Array,
    tables: tuple[I64Vector, I64Table, I64Table, F64Table, I64Table],
    room: tuple[I64Table, F32Table, F32Vector, I64Vector, F64Table],
    samples: Int64Array,
    chain: tuple[I64Vector, F32Table, U8Vector, int, int],
    pick: bool | None,
    columns_first: bool | None,
    deep: bool | None,
    begin: int,
    end: int,
) -> None:
    """Resize those of the samples `begin .. end - 1` that go one way: where `pick` is not None,
    those that are picked; else, where `columns_first` is None, those whose rows are blended before
    they are filtered, and else the others; and of these, where `deep` is not None, the volumes.
    What is None leaves out what is compiled for the other: few batches need more than one.

    tables: offsets of the samples, then as at the top of this file; room: arrays for starts,
    weights, lines and marks, and (3, 9), what starts and weights were made for, nan where for
    nothing; chain: its form, parameters and scratch, the address of the slab with the results, and
    the bytes of an element there.
    """
    form, parameters, scratch, dst, item = chain
    src, offsets = without_refcount(src), without_refcount(tables[0])
    sizes, window = without_refcount(tables[1]), without_refcount(tables[2])
    roi, filters = without_refcount(tables[3]), without_refcount(tables[4])
    starts, weights = without_refcount(room[0]), without_refcount(room[1])
    lines, marks = without_refcount(room[2]), without_refcount(room[3])
    last = without_refcount(room[4])
    samples, form = without_refcount(samples), without_refcount(form)
    own_room = (starts, weights, lines, marks)
    taps, held = local_words(), local_floats()
    first, pace, strips = parameters.ctypes.data, 4 * parameters.shape[1], scratch.ctypes.data
    for i in range(begin, end):
        size, win, region, filt = sizes[i], window[i], roi[i], filters[i]
        nearest = filt[0] == 0 and filt[1] == 0 and filt[2] == 0
        nothing = size[PLANES] == 0 or size[CHANNELS] == 0 or nearest == (pick is None)
        for axis in range(3):
            if size[2 + axis] == 0 or win[2 * axis + 1] <= win[2 * axis]:
                nothing = True
        if nothing:
            continue
        for axis in range(3):
            taps[axis] = axis_taps(axis_of(axis, size, region, filt))
        if pick is None:
            other = blend_rows_first(size, region, taps) == (columns_first is not None)
            if other or is_deep(size) == (deep is None):
                continue
        leader = first_axis(size, region, filt)
        for axis in range(3):
            facts = axis_of(axis, size, region, filt)
            n, m, lo, hi, kind, antialias = facts
            a, b = win[2 * axis], win[2 * axis + 1]
            origin = axis_origin(facts) if axis != leader else 0
            # Samples of one batch often share their geometry; then the table still holds.
            held[0], held[1], held[2], held[3], held[4] = n, m, lo, hi, a
            held[5], held[6], held[7], held[8] = b, kind, antialias, origin
            if is_new(last[axis], held):
                place = (starts[axis], weights[axis])
                fill_axis(facts, axis < 2, origin, a, b, *place)
        own = (form, first + i * pace, strips, dst, item)
        if pick is not None:
            _nearest_sample(src, offsets[i], size, win, own_room, samples[i], own)
        else:
            way = (taps, columns_first, deep)
            _filtered_sample(src, offsets[i], size, win, *way, own_room, samples[i], own)


def compile_filtered(dtype: str) -> None:
    """Compile `_filtered_sample` for images of this dtype, as most calls need it."""
    words, numbers = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32)
    row, room = words[0], (words, numbers, numbers[0], words[0])
    chain = (row, 0, np.uint64(0), 0, 1)
    compile_noinline(
        _filtered_sample, np.zeros(1, dtype), 0, row, row, row, None, None, room, row, chain
    )


def _is_for(types: tuple[Any, ...], dtype: str) -> bool:
    """Whether `compile_filtered` compiles for these types."""
    columns_first, deep = (str(one) for one in types[5:7])
    return str(types[0].dtype) == np.dtype(dtype).name and columns_first == deep == "none"


filtered_compiler: Final = SubprocessCompiler(_filtered_sample, compile_filtered, _is_for)
"""Half of what `resample_range` takes to compile."""
