"""Resampling with the arithmetic of torch.nn.functional.interpolate, for all filters of images.

For uint8 that arithmetic is in whole numbers, so it is known exactly: weights are float64,
rounded to 16 bits with as many binary places as the largest of them allows (at the border, where
several fall on one pixel, the largest while they are added); the sum along an axis
is rounded half up and clipped to a byte; W comes first, then H. For float32 the weights are float32
and so are the sums, in the order of the taps; torch may contract a multiplication and an addition,
so the last bits differ. Checked against torch 2.13.0 on the CPU
(tests/ops/image/test_resize_torch.py).

The weights: an output pixel i of m lies at (i + 0.5) n / m in an input of n. Bilinear is the
triangle; bicubic is Keys' kernel with a = -0.5 with antialiasing (which also stretches the kernels
over n / m pixels, and leaves out what lies beyond the border) and a = -0.75 without (there the
pixels at the border are repeated); lanczos, with antialiasing alone, is sinc(x) sinc(x / 3).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Table, F32Volume, I32Table, I64Vector, U8Volume

from .fixed_point import weight

_CUBIC, _LANCZOS = int(op.InterpType.INTERP_CUBIC), int(op.InterpType.INTERP_LANCZOS3)
_REACH = {_CUBIC: 2, _LANCZOS: 3}
"""Pixels on each side that a filter takes; 1 for the others."""
_PLACES, _LIMIT = 22, 1 << 15
"""Binary places of a weight, at most; what a weight must stay below."""


class _AxisWeights(NamedTuple):
    """What one axis takes: for each output pixel the first input pixel, how many, their weights;
    and the binary places of the weights (0: they are float32)."""

    starts: Array
    counts: Array
    weights: Array
    places: int


def _kernel(x: Array, filter: int, antialias: bool) -> Array:
    """The filter at x, in the dtype of x."""
    if filter == _LANCZOS:
        # NumPy's sine may differ in the last bit from the one of the C library.
        return np.array([weight(one, filter) for one in x.ravel().tolist()], x.dtype).reshape(
            x.shape
        )
    x = np.abs(x)
    if filter != _CUBIC:
        return np.where(x < 1, 1 - x, np.zeros_like(x))
    a = x.dtype.type(-0.5 if antialias else -0.75)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    # The same polynomial, rounded in two ways.
    far = (
        (((x - 5) * x + 8) * x - 4) * a if antialias else ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    )
    return np.where(x < 1, near, np.where(x < 2, far, np.zeros_like(x)))


@functools.lru_cache(maxsize=64)
def _table(n: int, m: int, filter: int, antialias: bool, integer: bool) -> _AxisWeights:
    real: Any = np.float64 if integer else np.float32
    scale = real(n) / real(m)
    half, reach = real(0.5), _REACH.get(filter, 1)
    places, largest = np.arange(m, dtype=real), real(0.0)
    if antialias:
        stretch = max(scale, real(1.0))
        center = scale * (places + half)
        starts = np.maximum((center - reach * stretch + half).astype(np.int64), 0)
        counts = np.minimum((center + reach * stretch + half).astype(np.int64), n) - starts
        taps = np.arange(counts.max())
        at = (starts[:, None] + taps).astype(real) - center[:, None] + half
        weights = _kernel(at * (real(1.0) / stretch), filter, True)
        weights[taps >= counts[:, None]] = 0
        # `accumulate` adds from left to right; `sum` would not.
        weights /= np.add.accumulate(weights, axis=1)[:, -1:]
        largest = weights.max()
    else:
        # Rounded once: in float64 nothing of a float32 is lost.
        source = (np.float64(scale) * (places + half) - half).astype(real)
        if filter != _CUBIC:
            source = np.maximum(source, real(0.0))
        whole = np.minimum(np.floor(source).astype(np.int64), n - 1)
        part = np.clip(source - whole.astype(real), real(0.0), real(1.0))
        lowest = whole - reach + 1
        starts = np.maximum(lowest, 0)
        counts = np.minimum(whole + reach + 1, n) - starts
        weights = np.zeros((m, 2 * reach), real)
        for tap in range(2 * reach):
            slot = np.clip(np.clip(lowest + tap, 0, n - 1) - starts, 0, counts - 1)
            weights[np.arange(m), slot] += _kernel(real(tap + 1 - reach) - part, filter, False)
            largest = max(largest, weights.max())
    if not integer:
        return _AxisWeights(starts, counts, weights, 0)
    bits = 0
    while bits < _PLACES and int(0.5 + largest * (1 << (bits + 1))) < _LIMIT:
        bits += 1
    scaled = weights * (1 << bits)
    return _AxisWeights(
        starts, counts, np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32), bits
    )


@op.jit
def _resample_bytes(
    region: tuple[U8Volume, int, int, int, int],
    across: tuple[I64Vector, I64Vector, I32Table, int],
    down: tuple[I64Vector, I64Vector, I32Table, int],
    middle: Array,
    sums: Array,
    target: Array,
) -> None:
    """region: source, top, left, rows and channels; source, target: (planes, H, W * channels),
    uint8; across, down: tables of the axes; `middle`: rows that are as wide as the target's;
    `sums`: int32, one such row."""
    source, top, left, rows, channels = region
    (starts, counts, weights, places), (first_rows, below, scales, digits) = across, down
    for plane in range(source.shape[0]):
        for y in range(rows):
            line, made = source[plane, top + y], middle[y]
            for x in range(len(starts)):
                first = (left + starts[x]) * channels
                for c in range(channels):
                    total = 1 << (places - 1)
                    for k in range(counts[x]):
                        total += weights[x, k] * np.int64(line[first + k * channels + c])
                    made[x * channels + c] = min(max(total >> places, 0), 255)
        for y in range(len(first_rows)):
            sums[:] = 1 << (digits - 1)
            for k in range(below[y]):
                weight, made = scales[y, k], middle[first_rows[y] + k]
                for j in range(len(sums)):
                    sums[j] += weight * np.int32(made[j])
            row = target[plane, y]
            for j in range(len(sums)):
                row[j] = min(max(sums[j] >> digits, 0), 255)


@op.jit
def _resample_floats(
    region: tuple[F32Volume, int, int, int, int],
    across: tuple[I64Vector, I64Vector, F32Table, int],
    down: tuple[I64Vector, I64Vector, F32Table, int],
    middle: Array,
    target: Array,
) -> None:
    """As `_resample_bytes`, in float32."""
    source, top, left, rows, channels = region
    (starts, counts, weights, _), (first_rows, below, scales, _) = across, down
    for plane in range(source.shape[0]):
        for y in range(rows):
            line, made = source[plane, top + y], middle[y]
            for x in range(len(starts)):
                first = (left + starts[x]) * channels
                for c in range(channels):
                    total = np.float32(0.0)
                    for k in range(counts[x]):
                        total += weights[x, k] * line[first + k * channels + c]
                    made[x * channels + c] = total
        for y in range(len(first_rows)):
            row = target[plane, y]
            row[:] = np.float32(0.0)
            for k in range(below[y]):
                weight, made = scales[y, k], middle[first_rows[y] + k]
                for j in range(len(row)):
                    row[j] += weight * made[j]


@op.jit
def _pick(
    source: Array, top: int, left: int, channels: int, rows: Array, columns: Array, target: Array
) -> None:
    """Copy the nearest pixels.

    source, target: (planes, H, W * channels); top, left: where the region begins, in pixels; rows,
    columns: the indices that are copied, within the region.
    rows, columns: int64, in pixels.
    """
    for plane in range(source.shape[0]):
        for y in range(len(rows)):
            line, row = source[plane, top + rows[y]], target[plane, y]
            for x in range(len(columns)):
                for c in range(channels):
                    row[x * channels + c] = line[(left + columns[x]) * channels + c]


def _nearest_places(n: int, m: int, exact: bool) -> Array:
    """The pixel of n that each of m takes: the one at or before i n / m, in float32; exact: at or
    before (i + 0.5) n / m."""
    at = (np.arange(m, dtype=np.float32) + exact * np.float32(0.5)) * (
        np.float32(n) / np.float32(m)
    )
    return np.asarray(np.minimum(np.floor(at).astype(np.int64), n - 1))


def nearest(
    source: Array, region: tuple[int, int, int, int], target: Array, exact: bool = False
) -> None:
    """Nearest neighbor of uint8 or float32, or nearest-exact; as `resize_torch`."""
    top, left, bottom, right = region
    planes, height, width, channels = target.shape
    _pick(
        source.reshape(planes, source.shape[1], -1),
        top,
        left,
        channels,
        _nearest_places(bottom - top, height, exact),
        _nearest_places(right - left, width, exact),
        target.reshape(planes, height, -1),
    )


def resize_torch(
    source: Array, region: tuple[int, int, int, int], target: Array, filter: int, antialias: bool
) -> None:
    """Resample the region (top, left, bottom, right) of planes into planes of another size.

    source, target: (planes, H, W, channels), uint8 or float32, contiguous.
    """
    top, left, bottom, right = region
    planes, height, width, channels = target.shape
    integer = source.dtype == np.uint8
    across = _table(right - left, width, filter, antialias, integer)
    down = _table(bottom - top, height, filter, antialias, integer)
    packed = source.reshape(planes, source.shape[1], -1)
    made = target.reshape(planes, height, -1)
    middle = np.empty((bottom - top, width * channels), source.dtype)
    head = packed, top, left, bottom - top, channels
    tables: tuple[Any, Any] = tuple(across), tuple(down)
    if integer:
        sums = np.empty(width * channels, np.int32)
        _resample_bytes(head, *tables, middle, sums, made)
    else:
        _resample_floats(head, *tables, middle, made)
