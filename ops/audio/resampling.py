"""Sounds at another rate: sums over windowed sinc functions.

Formula: J. O. Smith, "Digital Audio Resampling", 2002; the window is Hann's. Windows are read from
a table, linearly between its entries. Positions are counted in blocks of outputs: the begin of each
is exact, and float32 steps lead on. So a part of a sound is as the whole.

There is no filter but that of the input: what lies above half of a lower output rate is mirrored.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, Float32Array

_PER_SAMPLE: Final = 32
"""Entries of the table from one sample to the next."""
_BLOCK: Final = 256
"""Outputs whose positions are counted by float32 steps."""


def lobes_of(quality: float) -> int:
    """How many zeros the window has on each side: 3 for 0, 16 for 50, 64 for 100."""
    return round(0.007 * quality * quality - 0.09 * quality + 3)


@lru_cache(maxsize=128)
def window_table(lobes: int) -> Float32Array:
    """(33, 2 * lobes + 2): entry number 32 * k + p of the table at [p, k], zeros outside."""
    size = 2 * lobes * _PER_SAMPLE + 1
    places = np.arange(size) - (size - 1) / 2
    envelope = 0.5 * (1.0 + np.cos(np.pi * places * 2.0 / size))
    entries = np.zeros((2 * lobes + 3) * _PER_SAMPLE)
    entries[:size] = np.sinc(places / _PER_SAMPLE) * envelope
    shape = _PER_SAMPLE + 1, 2 * lobes + 2
    numbers = np.arange(shape[0])[:, None] + _PER_SAMPLE * np.arange(shape[1])
    return np.ascontiguousarray(entries[numbers], np.float32)


@op.jit
def _weights(table: Any, lobes: int, start: Any, numbers: Any, out: Any) -> None:
    """The window at `start`, `start + 1`, ...: as many as there are in `out`. numbers: 0, 1, ...,
    as float32, so that loops are wide."""
    center = np.float32(lobes * _PER_SAMPLE)
    place = start * np.float32(_PER_SAMPLE) + center
    first = np.floor(place)
    phase, column = np.int64(first) % _PER_SAMPLE, np.int64(first) // _PER_SAMPLE
    low = table[phase, column : column + out.size]
    high = table[phase + 1, column : column + out.size]
    for k in range(out.size):
        # Each place is rounded by itself, as one that was not counted from the first.
        exact = (start + numbers[k]) * np.float32(_PER_SAMPLE) + center
        share = exact - (first + np.float32(_PER_SAMPLE) * numbers[k])
        out[k] = low[k] + share * (high[k] - low[k])


@op.jit
def resample(
    sound: Any,
    channels: int,
    ratio: float,
    table: Any,
    lobes: int,
    first: int,
    target: Any,
    scratch: Any,
) -> None:
    """Outputs `first`, `first + 1`, ... of a sound, (n, channels) flat, at every `ratio`-th sample.

    first: a multiple of `_BLOCK`; target: (outputs, channels), flat, float32; scratch: float32 (3,
    2 * lobes), memory and the numbers 0, 1, ...
    """
    size, count = sound.size // channels, target.size // channels
    weights, products, numbers = scratch[0], scratch[1], scratch[2]
    step = np.float32(ratio)
    for block in range(0, count, _BLOCK):
        exact = np.float64(first + block) * ratio
        base = np.int64(np.floor(exact))
        place = np.float32(exact - np.float64(base))
        for k in range(block, min(block + _BLOCK, count)):
            upper = np.int64(np.ceil(place))
            begin = max(upper - lobes, -base)
            end = max(min(upper + lobes, size - base), begin)
            taps = end - begin
            _weights(table, lobes, np.float32(begin) - place, numbers, weights[:taps])
            for c in range(channels):
                at = (base + begin) * channels + c
                if channels == 1:
                    values = sound[at : at + taps]
                    for j in range(taps):
                        products[j] = values[j] * weights[j]
                else:
                    for j in range(taps):
                        products[j] = sound[at + j * channels] * weights[j]
                whole = taps - taps % 4
                s0, s1 = np.float32(0), np.float32(0)
                s2, s3 = np.float32(0), np.float32(0)
                for j in range(0, whole, 4):
                    s0 += products[j]
                    s1 += products[j + 1]
                    s2 += products[j + 2]
                    s3 += products[j + 3]
                for j in range(whole, taps):
                    s0 += products[j]
                target[k * channels + c] = (s0 + s1) + (s2 + s3)
            place += step


def resampled_length(size: int, rate_in: float, rate_out: float) -> int:
    """ceil(size * rate_out / rate_in)."""
    return int(np.ceil(size * rate_out / rate_in))


def resample_sound(
    sound: Array, channels: int, rate_in: float, rate_out: float, lobes: int, target: Float32Array
) -> None:
    """Fill `target`, flat, with a float32 sound at another rate."""
    if rate_in == rate_out and sound.size == target.size:
        target[:] = sound
        return
    scratch = np.empty((3, 2 * lobes), np.float32)
    scratch[2] = np.arange(2 * lobes)
    ratio = float(rate_in) / float(rate_out)
    resample(sound, channels, ratio, window_table(lobes), lobes, 0, target, scratch)
