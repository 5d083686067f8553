"""The inner loops of `resize`: blend rows, filter rows, round one row."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.jit.jit import noinline
from gradiva.eager.simd.intrinsics import filter_four, holds_integers, span, without_refcount
from gradiva.eager.types.arrays import (
    Array,
    F32Vector,
    Float32Array,
    I16Vector,
    I64Vector,
    Int64Array,
    Vector,
)

# Adding this and truncating rounds halves away from zero; adding 0.5 would carry 0.49999997 to 1.
_HALF = np.float32(0.49999997)
_ZERO = np.float32(0.0)
# Unsigned indices spare the loops the test for a negative index.
_U1, _U2 = np.uint64(1), np.uint64(2)


@op.jit
def blend_rows(
    src: Array,
    at: Int64Array,
    weights: Float32Array,
    first: int,
    taps: int,
    n: int,
    out: Float32Array,
) -> None:
    """`out[:n]` = sum over k of `weights[first + k]` times the n elements at `src[at[k]]`.

    at: (taps,), in elements of `src`; first: the index of the first weight; n: elements of a row.
    """
    o = span(out, 0, n)
    a = span(src, at[0], n)
    wa = weights[first]
    if taps == 1:
        for j in range(n):
            o[j] = wa * np.float32(a[j])
        return
    b = span(src, at[1], n)
    wb = weights[first + 1]
    if taps == 2:
        for j in range(n):
            o[j] = wa * np.float32(a[j]) + wb * np.float32(b[j])
        return
    c = span(src, at[2], n)
    wc = weights[first + 2]
    if taps == 3:
        for j in range(n):
            o[j] = wa * np.float32(a[j]) + wb * np.float32(b[j]) + wc * np.float32(c[j])
        return
    d = span(src, at[3], n)
    wd = weights[first + 3]
    for j in range(n):
        v = wa * np.float32(a[j]) + wb * np.float32(b[j]) + wc * np.float32(c[j])
        o[j] = v + wd * np.float32(d[j])
    k = 4
    while k + 1 < taps:
        a, b = span(src, at[k], n), span(src, at[k + 1], n)
        wa, wb = weights[first + k], weights[first + k + 1]
        for j in range(n):
            o[j] = o[j] + wa * np.float32(a[j]) + wb * np.float32(b[j])
        k += 2
    if k < taps:
        a = span(src, at[k], n)
        wa = weights[first + k]
        for j in range(n):
            o[j] = o[j] + wa * np.float32(a[j])


@op.jit
def _filter_edges(
    source: Array,
    at: int,
    across: tuple[I64Vector, F32Vector, int, int, I64Vector, int],
    out: Float32Array,
    to: int,
) -> None:
    """The pixels of one line of three channels that are not safe: nothing beyond them is read.

    at: where the line begins in `source`, to: where the result begins in `out`, both in elements;
    across: as in `filter_lines`.
    """
    heads, weights, taps, n, safe, _ = across
    x = 0
    while x < n:
        if x == safe[0]:
            x = safe[1]
            if x >= n:
                break
        p, q, o = at + heads[x], x * taps, to + 3 * x
        w = weights[q]
        a, b = w * np.float32(source[p]), w * np.float32(source[p + 1])
        c = w * np.float32(source[p + 2])
        for k in range(1, taps):
            p += 3
            w = weights[q + k]
            a = a + w * np.float32(source[p])
            b = b + w * np.float32(source[p + 1])
            c = c + w * np.float32(source[p + 2])
        out[o], out[o + 1], out[o + 2] = a, b, c
        x += 1


@noinline
def _filter_row(
    source: Array,
    at: int,
    across: tuple[I64Vector, F32Vector, int, int, I64Vector, int],
    out: Float32Array,
    to: int,
) -> None:
    """One line of any number of channels.

    Arguments as for `_filter_edges`.
    """
    heads, weights, taps, n, _, channels = across
    if channels == 1:
        line, o, k = source[at:], out[to : to + n], np.uint64(taps)
        q = np.uint64(0)
        for i in range(np.uint64(n)):
            p = np.uint64(heads[i])
            a = weights[q] * np.float32(line[p])
            t = _U1
            while t + _U1 < k:
                a = a + weights[q + t] * np.float32(line[p + t])
                a = a + weights[q + t + _U1] * np.float32(line[p + t + _U1])
                t += _U2
            if t < k:
                a = a + weights[q + t] * np.float32(line[p + t])
            q += k
            o[i] = a
        return
    for x in range(n):
        pixel = out[to + x * channels : to + (x + 1) * channels]
        for c in range(channels):
            pixel[c] = _ZERO
        for j in range(taps):
            w = weights[x * taps + j]
            place = at + heads[x] + j * channels
            for c in range(channels):
                pixel[c] = pixel[c] + w * np.float32(source[place + c])


@noinline
def filter_lines(
    source: Array,
    at: Int64Array,
    across: tuple[I64Vector, F32Vector, int, int, I64Vector, int],
    count: int,
    out: Float32Array,
    to: Int64Array,
) -> None:
    """Filter `count` lines, at most four: line i from `source[at[i]]` to `out[to[i]]`.

    across: heads, weights, taps, n, safe, channels. Of the n output pixels x reads `taps` pixels
    from element `heads[x]` of its line. Of the pixels `safe[0] .. safe[1] - 1` one element more may
    be read. `out` has room for one more.
    at, to: (count,), in elements.
    """
    heads, weights, taps, _, safe, channels = across
    source, out = without_refcount(source), without_refcount(out)
    if channels != 3 and channels != 4:
        for i in range(count):
            _filter_row(source, at[i], across, out, to[i])
        return
    for i in range(count, 4):
        at[i], to[i] = at[0], to[0]
    filter_four(source, at, heads, weights, taps, safe[0], safe[1], channels, out, to)
    for i in range(count):
        _filter_edges(source, at[i], across, out, to[i])


@op.jit
def find_heads(
    starts: Int64Array,
    n: int,
    skip: int,
    channels: int,
    taps: int,
    room: int,
    heads: Int64Array,
    safe: Int64Array,
) -> None:
    """The elements that the n output pixels of a line read first, counted from pixel `skip`.

    `safe` becomes the range of pixels that stay within `room` elements when the one after their
    last is read as well: the places rise or fall, so the others are at the ends.

    starts: (n,), in pixels of the input; room: elements of a line from pixel `skip` on; heads:
    (n,), in elements; safe: (2,), in output pixels.
    """
    for x in range(n):
        heads[x] = (starts[x] - skip) * channels
    reach = taps * channels + (1 if channels == 3 else 0)
    safe[0], safe[1] = 0, n
    while safe[0] < n and heads[safe[0]] + reach > room:
        safe[0] += 1
    while safe[1] > safe[0] and heads[safe[1] - 1] + reach > room:
        safe[1] -= 1


@op.jit
def _weighed(src: Array, weights: Float32Array, first: int, taps: int) -> tuple[int, int]:
    """The taps from and to which weights are not 0. Of integers the others count nothing, and
    a sum without them has the same bits; of floats they count where one is infinite or NaN.

    first: the index of the first weight; the results count taps, from 0.
    """
    begin, end = 0, taps
    if holds_integers(src):
        while end > 1 and weights[first + end - 1] == _ZERO:
            end -= 1
        while begin + 1 < end and weights[first + begin] == _ZERO:
            begin += 1
    return begin, end


@op.jit
def _fill_ring(
    plane: tuple[Vector, int, int],
    row: int,
    step: int,
    end: int,
    across: tuple[I64Vector, F32Vector, int, int, I64Vector, int],
    ring: tuple[int, int, F32Vector, I64Vector, I64Vector, I64Vector],
) -> None:
    """Filter up to four input rows, from `row` in steps of 1 or -1, not beyond `end`; ring: size,
    length, lines, at, to, tags.

    plane: the slab, and in elements where the plane begins and the step from row to row; size:
    slots of the ring, length: elements of a slot; at, to: memory for four places, in elements.
    """
    (src, base, pitch), (size, length, lines, at, to, tags) = plane, ring
    count = min(4, (end - row) * step + 1)
    for i in range(count):
        source = row + i * step
        slot = source % size
        tags[slot] = source
        at[i], to[i] = base + source * pitch, slot * length
    filter_lines(src, at, across, count, lines, to)


@noinline
def resample_rows(
    plane: tuple[Vector, int, int],
    y: int,
    count: int,
    columns_first: bool | None,
    down: tuple[I64Vector, F32Vector, int, int],
    across: tuple[I64Vector, F32Vector, int, int, I64Vector, int],
    work: tuple[F32Vector, int, int, int],
    scratch: tuple[I64Vector, I64Vector],
    out: Float32Array,
    to: Int64Array,
) -> None:
    """Output rows `y .. y + count - 1` of a plane, row i to `out[to[i]]`.

    plane: the slab, where the plane begins, and the elements from one row to the next; down:
    starts, weights, taps and number of the output rows; across: as in `filter_lines`. Where
    `columns_first` is None, input rows are blended to `lines`, then these are filtered; they hold
    `width` elements from pixel `skip`. Otherwise `lines` is a ring of filtered input rows and
    `tags` says which row each slot holds (-1: none). work: `lines`, the elements from one of these
    to the next, `skip`, `width`; scratch: marks and `tags`.
    """
    (src, base, pitch), (ys, wy, ky, ny), (marks, tags) = plane, down, scratch
    (lines, length, skip, width), (_, _, _, nx, _, channels) = work, across
    at, lead, place = span(marks, 0, ky), span(marks, ky, 4), span(marks, ky + 4, 4)
    if columns_first is None:
        for first in range(0, count, 4):
            four = min(4, count - first)
            for i in range(four):
                row = y + first + i
                begin, end = _weighed(src, wy, row * ky, ky)
                for k in range(begin, end):
                    at[k - begin] = base + (ys[row] + k) * pitch + skip * channels
                lead[i], place[i] = i * length, to[first + i]
                line = span(lines, i * length, width)
                blend_rows(src, at, wy, row * ky + begin, end - begin, width, line)
            filter_lines(lines, lead, across, four, out, place)
        return
    size, n = ky + 3, nx * channels
    ring = (size, length, lines, lead, place, tags)
    rising = ys[ny - 1] >= ys[0]
    end = ys[ny - 1] + ky - 1 if rising else ys[ny - 1]
    for i in range(count):
        first, last = _weighed(src, wy, (y + i) * ky, ky)
        for k in range(first, last):
            row = ys[y + i] + k
            if tags[row % size] != row:
                _fill_ring(plane, row, 1 if rising else -1, end, across, ring)
            at[k - first] = (row % size) * length
        blend_rows(lines, at, wy, (y + i) * ky + first, last - first, n, span(out, to[i], n))


@op.jit
def forget(tags: Int64Array) -> None:
    """None of them is in its slot any more. A loop: Numba takes a second for the error of an
    assignment to a slice.

    tags: (slots,).
    """
    for k in range(len(tags)):
        tags[k] = -1


@op.jit
def pick_row(line: Array, channels: int, starts: Int64Array, n: int, out: Float32Array) -> None:
    """`out` = n whole pixels of one line, those that `starts` names.

    line: n_in * channels elements; starts: (n,), in pixels; out: n * channels elements.
    """
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


@op.row_kernel()
def store_row(source: F32Vector, target: I16Vector, limits: F32Vector) -> None:
    """Round half away from zero, saturate, NaN -> 0; the target has at most 16 bits."""
    lo, hi = limits[0], limits[1]
    for j in range(source.size):
        v = source[j]
        v = v + (_HALF if v > _ZERO else -_HALF)
        v = v if v == v else _ZERO
        v = v if v > lo else lo
        v = v if v < hi else hi
        target[j] = np.int32(v)


@op.row_kernel()
def store_unsigned_row(source: F32Vector, target: Vector, limits: F32Vector) -> None:
    """The same for a target without a sign: what is below 0, and NaN, becomes 0 in one step."""
    hi = limits[1]
    for j in range(source.size):
        v = source[j] + _HALF
        v = v if v > _ZERO else _ZERO
        v = v if v < hi else hi
        target[j] = np.int32(v)
