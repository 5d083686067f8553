"""Resampling of bytes in whole numbers, as Pillow and torch do it, so that it joins fused groups.

The weights of an output pixel are computed in float64 and rounded: to 22 binary places by Pillow,
by torch to 16 bits, with as many places as the largest of an axis allows. Each sum is rounded half
up and clipped to a byte. Columns come first, then rows; since Pillow 12.2 it may be the other way
round, which gives other bits (`rows_first`). A kernel weighs eight rows of three channels, or 24 of
one, at once: `tile` holds for each column the values of these rows side by side. Filtered rows
stand in `ring`; those that are not needed any more are dropped. Each output row goes through a
chain, in float32, as in `cpu.py`, whose tables this reads, too.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import noinline
from gradiva.eager.jit.packed_calls import KernelCall, PerThread
from gradiva.eager.rows.row_chain import UPSIDE_DOWN, Chain
from gradiva.eager.runtime.host_memory import address_of
from gradiva.eager.simd.fixed_point import LANES, move_pixels, weigh_bytes
from gradiva.eager.simd.intrinsics import without_refcount
from gradiva.eager.types.arrays import (
    Array,
    BoolVector,
    F32Table,
    F32Vector,
    F64Table,
    F64Vector,
    I32Table,
    I32Vector,
    I64Table,
    I64Vector,
    Int64Array,
    U8Vector,
)

from .columns import (
    CHANNELS,
    H_BEGIN,
    H_END,
    IN_H,
    IN_W,
    OUT_H,
    OUT_W,
    PLANE_PITCH,
    PLANES,
    ROW_PITCH,
    W_BEGIN,
    W_END,
)
from .cpu import store_row_of

COLUMNS_FIRST: Final = 2
ROWS_FIRST: Final = 3
TORCH: Final = 4
CROPPED: Final = 8
"""In place of the 1 for antialiasing in the table of filters: the arithmetic is Pillow's, and
columns come first, or rows, as `rows_first` says; or it is torch's. The last one is added where the
region, in whole pixels, is cut out before: filters see nothing around it."""
_PLACES: Final = 22
_LIMIT: Final = 1 << 15
"""What a weight of torch stays below."""
_STRIDE: Final = 32
"""Bytes of a column of the tile: what is moved is four bytes long, so some are not used."""
_LINEAR, _CUBIC, _LANCZOS, _TRIANGULAR, _BOX, _HAMMING = 1, 2, 3, 4, 6, 7
TAKEN: Final = (_LINEAR, _CUBIC, _LANCZOS, _TRIANGULAR, _BOX, _HAMMING)
"""The filters, by the values of the public `InterpType`."""
_HAMMING_MEAN: Final = float(np.float32(0.54))
_HAMMING_WAVE: Final = float(np.float32(0.46))
"""Pillow has them in float32."""


@cache
def _pillow_version() -> tuple[int, int]:
    """The first two numbers of it."""
    major, minor, *_ = import_module("PIL").__version__.split(".")
    return int(major), int(minor)


def rows_first(inputs: Int64Array, outputs: Int64Array) -> BoolVector:
    """Whether the Pillow that is installed blends rows first, (N,).

    From version 13 on it does where the height loses more pixels than twice those that the width
    loses; versions 12.2 and 12.3 where the height shrinks, and is more than 100 times the width;
    older ones never. That is of the whole image, also where a region of it is resized. Found by
    trying out 11.0 to 13.0.

    inputs, outputs: (N, 2), heights and widths.
    """
    lost = inputs - outputs
    shrinks = lost[:, 0] > 0
    if _pillow_version() >= (13, 0):
        return shrinks & (lost[:, 0] > 2 * lost[:, 1])
    if _pillow_version() >= (12, 2):
        return shrinks & (inputs[:, 0] > 100 * inputs[:, 1])
    return np.zeros(len(inputs), np.bool_)


@op.jit
def _support(filter: int) -> float:
    """How far a filter reaches on each side, in input pixels where nothing shrinks."""
    if filter == _CUBIC:
        return 2.0
    if filter == _LANCZOS:
        return 3.0
    return 0.5 if filter == _BOX else 1.0


@op.jit
def _taps(n: int, m: int, low: float, high: float, filter: int) -> int:
    """The most input pixels of an output pixel, of n pixels from `low` to `high` that become m."""
    scale = max(np.float64(np.float32(high) - np.float32(low)) / m, 1.0)
    return int(np.ceil(_support(filter) * scale)) * 2 + 1


@op.jit
def _sinc(x: float) -> float:
    """sin(pi x) / (pi x)."""
    angle = x * math.pi
    return 1.0 if angle == 0.0 else math.sin(angle) / angle


@op.jit
def weight(x: float, filter: int) -> float:
    """The filter at x."""
    if filter == _BOX:
        return 1.0 if -0.5 < x <= 0.5 else 0.0
    if filter == _LANCZOS:
        return _sinc(x) * _sinc(x / 3.0) if -3.0 <= x < 3.0 else 0.0
    x = abs(x)
    if filter == _HAMMING:
        wave = _HAMMING_MEAN + _HAMMING_WAVE * math.cos(x * math.pi)
        return _sinc(x) * wave if x < 1.0 else 0.0
    if filter != _CUBIC:
        return 1.0 - x if x < 1.0 else 0.0
    a = -0.5
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    return (((x - 5.0) * x + 8.0) * x - 4.0) * a if x < 2.0 else 0.0


@op.jit
def _weigh(
    extents: tuple[int, int, float, float], filter: int, x: int, numbers: F64Vector
) -> tuple[int, int]:
    """The weights of the output pixel x in float64, in `numbers`. Returns the first input pixel,
    and how many there are.

    extents: pixels of the input and the output, and the ends of the region.
    """
    n, m, low, high = extents
    low32 = np.float32(low)
    scale = np.float64(np.float32(high) - low32) / m
    stretch = max(scale, 1.0)
    support, ratio = _support(filter) * stretch, 1.0 / stretch
    center = np.float64(low32) + (x + 0.5) * scale
    first = max(int(center - support + 0.5), 0)
    count = min(int(center + support + 0.5), n) - first
    total = 0.0
    for k in range(count):
        numbers[k] = weight((k + first - center + 0.5) * ratio, filter)
        total += numbers[k]
    if total != 0.0:
        for k in range(count):
            numbers[k] /= total
    return first, count


@op.jit
def _torch_places(extents: tuple[int, int, float, float], filter: int, numbers: F64Vector) -> int:
    """The binary places of the weights of an axis, all of it."""
    largest, places = 0.0, 0
    for x in range(extents[1]):
        for k in range(_weigh(extents, filter, x, numbers)[1]):
            largest = max(largest, numbers[k])
    while places < _PLACES and int(0.5 + largest * (1 << (places + 1))) < _LIMIT:
        places += 1
    return places


@noinline
def _fill_weights(
    extents: tuple[int, int, float, float],
    filter: int,
    torch: bool,
    begin: int,
    end: int,
    starts: I64Vector,
    counts: I64Vector,
    weights: I32Vector,
    numbers: F64Vector,
) -> tuple[int, int]:
    """Fill in what the output pixels `begin` to `end - 1` read: the first input pixel, how many,
    and their weights. Returns how many weights there are from one to the next, and their places.

    extents: as in `_weigh`; torch: whether the places are torch's; numbers: room.
    """
    n, m, low, high = extents
    taps = _taps(n, m, low, high, filter)
    if m == n and low == 0.0 and high == n:
        for x in range(begin, end):
            starts[x - begin], counts[x - begin] = x, 1
            weights[(x - begin) * taps] = 1 << _PLACES
        return taps, _PLACES
    places = _torch_places(extents, filter, numbers) if torch else _PLACES
    for x in range(begin, end):
        first, count = _weigh(extents, filter, x, numbers)
        starts[x - begin], counts[x - begin] = first, count
        for k in range(count):
            value = numbers[k] * (1 << places)
            rounded = int(value - 0.5) if value < 0.0 else int(value + 0.5)
            weights[(x - begin) * taps + k] = rounded
    return taps, places


@noinline
def _filter_rows(
    src: U8Vector,
    place: tuple[int, int, int, int, int, int],
    across: tuple[I64Vector, I64Vector, I32Vector, int, int, int],
    tile: U8Vector,
    made: U8Vector,
    ring: U8Vector,
    to: int,
    length: int,
) -> None:
    """Filter some input rows along their columns, as many as the tile holds or fewer.

    place: the element of the first one, elements from one to the next, how many, the first pixel
    that is read of each and how many, the channels; across: starts, counts, weights, taps,
    number of the output pixels, places; tile, made: room; to, length: where the rows go in `ring`,
    and their distance.
    """
    starts, counts, weights, taps, wide, places = across
    at, pitch, count, skip, columns, channels = place
    if channels == 3:
        last = columns - 1
        for r in range(count):
            line = at + r * pitch + 3 * skip
            move_pixels(src, line, 3, tile, 3 * r, _STRIDE, last)
            for c in range(3):
                tile[_STRIDE * last + 3 * r + c] = src[line + 3 * last + c]
    else:
        for r in range(count):
            line = at + r * pitch + skip
            for x in range(columns):
                tile[_STRIDE * x + r] = src[line + x]
    for x in range(wide):
        head = (starts[x] - skip) * _STRIDE
        weigh_bytes(tile, head, _STRIDE, weights, x * taps, counts[x], places, made, x * _STRIDE)
    for r in range(count):
        line = to + r * length
        if channels == 3:
            move_pixels(made, 3 * r, _STRIDE, ring, line, 3, wide)
        else:
            for x in range(wide):
                ring[line + x] = made[_STRIDE * x + r]


@op.jit
def _blend(
    source: U8Vector,
    at: int,
    pitch: int,
    weights: I32Vector,
    first: int,
    count: int,
    places: int,
    values: int,
    padded: bool,
    target: U8Vector,
    to: int,
) -> None:
    """Weigh `count` rows of so many values, from `source[at]` on in distances of `pitch`. padded:
    whether `LANES` values more may be read and written."""
    if not padded and values < LANES:
        for j in range(values):
            total = np.int64(1 << (places - 1))
            for k in range(count):
                total += weights[first + k] * np.int64(source[at + k * pitch + j])
            value = total >> places
            target[to + j] = 0 if value < 0 else (255 if value > 255 else value)
        return
    last = values - 1 if padded else values - LANES  # some are made twice
    for k in range(0, values, LANES):
        j = min(k, last)
        weigh_bytes(source, at + j, pitch, weights, first, count, places, target, to + j)


@noinline
def _columns_first(
    src: U8Vector,
    base: int,
    pitch: int,
    channels: int,
    across: tuple[I64Vector, I64Vector, I32Vector, int, int, int],
    down: tuple[I64Vector, I64Vector, I32Vector, int, int, int],
    room: tuple[U8Vector, U8Vector, U8Vector, F32Vector],
    plane: int,
    sample: Int64Array,
    chain: tuple[I64Vector, int, int, int, int],
) -> None:
    """One plane: input rows are filtered, then blended.

    base: where it begins, in elements; across, down: starts, counts, weights, taps, number of the
    output pixels, places; room: tile, what is made of it, ring and line.
    """
    (xs, xn, _, _, wide, _), (ys, yn, wy, ky, high, places) = across, down
    tile, made, ring, line = room
    skip, limit = xs[0], ys[high - 1] + yn[high - 1]
    columns = xs[wide - 1] + xn[wide - 1] - skip
    values, block = wide * channels, LANES // channels
    length, capacity = _padded(values), 2 * ky + 2 * block
    first, held = ys[0], 0
    for y in range(high):
        while first + held < ys[y] + yn[y]:
            if held + block > capacity:
                drop = ys[y] - first
                for k in range((held - drop) * length):
                    ring[k] = ring[drop * length + k]
                first, held = first + drop, held - drop
            count, at = min(block, limit - first - held), base + (first + held) * pitch
            place = (at, pitch, count, skip, columns, channels)
            _filter_rows(src, place, across, tile, made, ring, held * length, length)
            held += count
        head = (ys[y] - first) * length
        _blend(ring, head, length, wy, y * ky, yn[y], places, values, True, made, 0)
        for j in range(values):
            line[j] = np.float32(made[j])
        where = high - 1 - y if sample[UPSIDE_DOWN] else y
        store_row_of(line[:values], channels, plane, where, sample, chain)


@noinline
def _rows_first(
    src: U8Vector,
    base: int,
    pitch: int,
    channels: int,
    across: tuple[I64Vector, I64Vector, I32Vector, int, int, int],
    down: tuple[I64Vector, I64Vector, I32Vector, int, int, int],
    room: tuple[U8Vector, U8Vector, U8Vector, F32Vector],
    plane: int,
    sample: Int64Array,
    chain: tuple[I64Vector, int, int, int, int],
) -> None:
    """One plane: input rows are blended, then filtered. The arguments are those of
    `_columns_first`."""
    (xs, xn, _, _, wide, _), (ys, yn, wy, ky, high, places) = across, down
    tile, made, ring, line = room
    skip, values, block = xs[0], wide * channels, LANES // channels
    columns = xs[wide - 1] + xn[wide - 1] - skip
    width = columns * channels
    length, read = _padded(values), _padded(width)
    done = block * read  # filtered rows stand behind the blended ones
    for top in range(0, high, block):
        count = min(block, high - top)
        for i in range(count):
            y = top + i
            at = base + ys[y] * pitch + skip * channels
            _blend(src, at, pitch, wy, y * ky, yn[y], places, width, False, ring, i * read)
        # The blended rows begin where their first column would be without those before it.
        place = (-skip * channels, read, count, skip, columns, channels)
        _filter_rows(ring, place, across, tile, made, ring, done, length)
        for i in range(count):
            for j in range(values):
                line[j] = np.float32(ring[done + i * length + j])
            where = high - 1 - top - i if sample[UPSIDE_DOWN] else top + i
            store_row_of(line[:values], channels, plane, where, sample, chain)


@noinline
def _resample_sample(
    src: U8Vector,
    src_at: int,
    size: Int64Array,
    win: Int64Array,
    region: Array,
    filter: Int64Array,
    room: tuple[I64Table, I32Table, F64Vector, U8Vector, U8Vector, U8Vector, F32Vector],
    sample: Int64Array,
    chain: tuple[I64Vector, int, int, int, int],
) -> None:
    """One sample. src_at: where it begins, in elements; size, win, region, filter: its rows of the
    tables; room: as `fixed_calls` makes it for a thread; sample, chain: as in `store_row_of`.
    """
    words, weights, numbers, tile, made, ring, line = room
    pitch, channels = size[ROW_PITCH], size[CHANNELS]
    chosen, kind = filter[1], filter[3] & ~CROPPED
    torch = kind == TORCH
    high, top, bottom = size[IN_H], region[H_BEGIN], region[H_END]
    wide, left, right = size[IN_W], region[W_BEGIN], region[W_END]
    if filter[3] & CROPPED:
        src_at += int(top) * pitch + int(left) * channels
        high, wide = int(bottom - top), int(right - left)
        top, left, bottom, right = 0.0, 0.0, float(high), float(wide)
    begin, end = win[W_BEGIN], win[W_END]
    ends = (wide, size[OUT_W], left, right)
    room_of = (words[0], words[1], weights[0], numbers)
    taps, places = _fill_weights(ends, chosen, torch, begin, end, *room_of)
    across = (words[0], words[1], weights[0], taps, end - begin, places)
    begin, end = win[H_BEGIN], win[H_END]
    ends = (high, size[OUT_H], top, bottom)
    room_of = (words[2], words[3], weights[1], numbers)
    taps, places = _fill_weights(ends, chosen, torch, begin, end, *room_of)
    down = (words[2], words[3], weights[1], taps, end - begin, places)
    own = (tile, made, ring, line)
    for plane in range(size[PLANES]):
        base = src_at + plane * size[PLANE_PITCH]
        if kind == ROWS_FIRST:
            _rows_first(src, base, pitch, channels, across, down, own, plane, sample, chain)
        else:
            _columns_first(src, base, pitch, channels, across, down, own, plane, sample, chain)


@op.jit
def fixed_range(
    src: U8Vector,
    tables: tuple[I64Vector, I64Table, I64Table, F64Table, I64Table],
    room: tuple[I64Table, I32Table, F64Vector, U8Vector, U8Vector, U8Vector, F32Vector],
    samples: Int64Array,
    chain: tuple[I64Vector, F32Table, U8Vector, int, int],
    begin: int,
    end: int,
) -> None:
    """Resample the samples `begin .. end - 1`. The arguments are those of `resample_range`; room:
    as `fixed_calls` makes it for a thread."""
    form, parameters, scratch, dst, item = chain
    offsets, sizes, window, roi, filters = tables
    first, pace, strips = parameters.ctypes.data, 4 * parameters.shape[1], scratch.ctypes.data
    src = without_refcount(src)
    for i in range(begin, end):
        size, win = sizes[i], window[i]
        if size[PLANES] == 0 or win[H_END] <= win[H_BEGIN] or win[W_END] <= win[W_BEGIN]:
            continue
        own = (form, first + i * pace, strips, dst, item)
        facts = (size, win, roi[i], filters[i])
        _resample_sample(src, offsets[i], *facts, room, samples[i], own)


@op.jit
def _padded(values: int) -> int:
    """The length of a row of so many bytes, with room for what is read and written beyond."""
    return values // LANES * LANES + 2 * LANES


@op.jit
def _room(
    sizes: Int64Array, window: Int64Array, roi: Array, filters: Int64Array
) -> tuple[int, int, int, int, int, int]:
    """What serves any of the samples: places of an axis, its weights, taps, and bytes of the tile,
    of what is made of it, and of the ring."""
    places, weights, taps, tile, made, ring = 1, 1, 1, _STRIDE, _STRIDE, 1
    for i in range(len(sizes)):
        size, win, region, filter = sizes[i], window[i], roi[i], filters[i, 1]
        high, wide = win[H_END] - win[H_BEGIN], win[W_END] - win[W_BEGIN]
        kx = _taps(size[IN_W], size[OUT_W], region[W_BEGIN], region[W_END], filter)
        ky = _taps(size[IN_H], size[OUT_H], region[H_BEGIN], region[H_END], filter)
        length = _padded(wide * size[CHANNELS])
        places, taps = max(places, wide, high), max(taps, kx, ky)
        weights = max(weights, wide * kx, high * ky)
        tile = max(tile, (size[IN_W] + 1) * _STRIDE)
        made = max(made, (wide + 1) * _STRIDE, length)
        read = _padded(size[IN_W] * size[CHANNELS])
        ring = max(ring, (2 * ky + 2 * LANES) * length, LANES * (read + length))
    return places, weights, taps, tile, made, ring


def fixed_calls(
    data: Array,
    tables: tuple[Int64Array, Int64Array, Int64Array, Array, Int64Array],
    samples: Int64Array,
    chain: Chain,
    target: Array,
    threads: int,
    part: slice,
) -> list[KernelCall]:
    """As `resample_calls`, for bytes and the filters `TAKEN`."""
    places, weights, taps, tile, made, ring = _room(*(table[part] for table in tables[1:]))
    buffers = (
        np.empty((threads, 4, places), np.int64),
        np.empty((threads, 2, weights), np.int32),
        np.empty((threads, taps), np.float64),
        np.empty((threads, tile), np.uint8),
        np.empty((threads, made), np.uint8),
        np.empty((threads, ring), np.uint8),
        np.empty((threads, made), np.float32),
        chain.scratch(threads),
    )
    *room, scratch = [one[0] if threads == 1 else PerThread(one) for one in buffers]
    steps = chain.form, chain.parameters, scratch, address_of(target), target.itemsize
    source = data if data.ndim == 1 else PerThread(data)
    return [(fixed_range, (source, tuple(tables), tuple(room), samples, steps))]
