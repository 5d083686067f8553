"""The inner loops of `gaussian_blur`: one row of the output from rows of the input."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_sat
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array, I64Vector, Int64Array, Vector


@op.jit
def symmetric(
    src: Float32Array, at: Int64Array, weights: Float32Array, half: int, n: int, out: Float32Array
) -> None:
    """`out[:n]` = the weighted sum of 2 * half + 1 runs of n elements that begin at `src[at[k]]`.

    weights: of the middle one, and of the pairs at distance 1, 2, ... from it. The pairs are added
    from the middle outwards, also where the loops below take several at once.
    """
    o = out[:n]
    m = src[at[half] : at[half] + n]
    w = weights[0]
    if half == 0:
        for j in range(n):
            o[j] = w * m[j]
        return
    b, c = src[at[half - 1] : at[half - 1] + n], src[at[half + 1] : at[half + 1] + n]
    wb = weights[1]
    if half == 1:
        for j in range(n):
            o[j] = w * m[j] + wb * (b[j] + c[j])
        return
    d, e = src[at[half - 2] : at[half - 2] + n], src[at[half + 2] : at[half + 2] + n]
    wd = weights[2]
    if half == 2:
        for j in range(n):
            o[j] = w * m[j] + wb * (b[j] + c[j]) + wd * (d[j] + e[j])
        return
    f, g = src[at[half - 3] : at[half - 3] + n], src[at[half + 3] : at[half + 3] + n]
    wf = weights[3]
    for j in range(n):
        v = w * m[j] + wb * (b[j] + c[j]) + wd * (d[j] + e[j])
        o[j] = v + wf * (f[j] + g[j])
    k = 4
    while k + 1 <= half:
        b, c = src[at[half - k] : at[half - k] + n], src[at[half + k] : at[half + k] + n]
        k += 1
        d, e = src[at[half - k] : at[half - k] + n], src[at[half + k] : at[half + k] + n]
        k += 1
        wb, wd = weights[k - 2], weights[k - 1]
        for j in range(n):
            o[j] = o[j] + wb * (b[j] + c[j]) + wd * (d[j] + e[j])
    if k <= half:
        b, c = src[at[half - k] : at[half - k] + n], src[at[half + k] : at[half + k] + n]
        wb = weights[k]
        for j in range(n):
            o[j] = o[j] + wb * (b[j] + c[j])


@op.jit
def reflect(index: int, size: int) -> int:
    """Where the border is mirrored to: of -1 to 1, of `size` to `size - 2`, and so on."""
    # Divisions are slow, and needed for windows larger than the image only.
    index = abs(index)
    if index < size:
        return index
    period = 2 * (size - 1)
    if index <= period:
        return period - index
    if size == 1:
        return 0
    index = index % period
    return index if index < size else period - index


@op.jit
def _filter_line(
    source: Array,
    channels: int,
    weights: Float32Array,
    half: int,
    at: Int64Array,
    line: Float32Array,
    out: Float32Array,
) -> None:
    """`out` = one row of the input, blurred along its pixels; `line`: room for it with borders."""
    n = len(source)
    border = half * channels
    middle = line[border : border + n]
    for j in range(n):
        middle[j] = np.float32(source[j])
    width = n // channels
    for x in range(half):
        left, right = reflect(x - half, width), reflect(width + x, width)
        for c in range(channels):
            line[x * channels + c] = middle[left * channels + c]
            line[border + n + x * channels + c] = middle[right * channels + c]
    for k in range(2 * half + 1):
        at[k] = k * channels
    symmetric(line, at, weights, half, n, out)


@op.jit
def blur_row(
    plane: tuple[Vector, int, int, int, int],
    y: int,
    weights: Float32Array,
    halves: Int64Array,
    scratch: tuple[F32Vector, F32Vector, I64Vector, I64Vector, I64Vector, F32Vector],
) -> None:
    """`out` = row `y` of a blurred plane.

    plane: the slab, where the plane begins in it, the elements of a row, channels, height; weights,
    halves: along the axes D, H, W; scratch: line, ring, tags, at, slots, out. `ring` keeps
    2 * halves[1] + 1 rows that are blurred along x; `tags` says which row each slot holds (-1:
    none). Rows that are reached by reflection lie in the window, or the window holds all.
    """
    src, base, pitch, channels, height = plane
    line, ring, tags, at, slots, out = scratch
    half_y = halves[1]
    taps = 2 * half_y + 1
    before = reflect(y - half_y, height)
    slot = before % taps
    for k in range(taps):
        row = reflect(y + k - half_y, height)
        # The slot is row % taps. Rows follow each other by steps of one: no division is needed.
        slot += row - before
        slot = 0 if slot == taps else (taps - 1 if slot < 0 else slot)
        before = row
        if tags[slot] != row:
            tags[slot] = row
            head = base + row * pitch
            source, made = src[head : head + pitch], ring[slot * pitch : (slot + 1) * pitch]
            _filter_line(source, channels, weights[2], halves[2], at, line, made)
        slots[k] = slot * pitch
    symmetric(ring, slots, weights[1], half_y, pitch, out)


@op.jit
def convert_line(source: Float32Array, target: Array) -> None:
    """Round and saturate."""
    for j in range(target.size):
        target[j] = convert_sat(source[j], target)
