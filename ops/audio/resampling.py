"""Audio at another rate: sums over windowed sinc functions.

Formula: J. O. Smith, "Digital Audio Resampling", 2002; the window is Hann's. Windows are read from
a table, linearly between its entries. Positions are counted in blocks of outputs: the begin of each
is exact, and float32 steps lead on. So a part of a signal is as the whole.

There is no filter but that of the input: what lies above half of a lower output rate is mirrored.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.vectors import LANES, add, load, mul, spread, store, sub, total
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array

_PER_SAMPLE: Final = 32
"""Entries of the table from one sample to the next."""
BLOCK: Final = 256
"""Outputs whose positions are counted by float32 steps."""
_SPARE: Final = 8
"""Steps that are rounded may lead a little beyond the end."""


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
def resample(
    planes: F32Vector,
    size: int,
    channels: int,
    ratio: float,
    table: F32Vector,
    lobes: int,
    target: F32Vector,
) -> None:
    """A signal at every `ratio`-th sample of another.

    planes: one for each channel, of `size` samples, flat, with `lobes` zeros before them and
    `lobes + _SPARE` behind;
    table: `window_table`, flat; target: (outputs, channels), flat, float32.
    """
    taps, count = 2 * lobes, target.size // channels
    whole, pitch, width = taps - taps % LANES, taps + 2, size + taps + _SPARE
    step, center = np.float32(ratio), np.float32(lobes * _PER_SAMPLE)
    per_sample = np.float32(_PER_SAMPLE)
    numbers = np.arange(taps).astype(np.float32)
    weights = np.empty(taps, np.float32)
    thirtytwo, middle = spread(per_sample), spread(center)
    for block in range(0, count, BLOCK):
        exact = np.float64(block) * ratio
        base: Any = np.int64(np.floor(exact))
        place = np.float32(exact - np.float64(base))
        for k in range(block, min(block + BLOCK, count)):
            upper: Any = np.int64(np.ceil(place))
            # The first sample that counts lies behind as many zeros; the first that is there is
            # the one whose place is rounded.
            head: Any = min(base + upper, size + _SPARE)
            absent: Any = max(lobes - upper - base, 0)
            start = np.float32(upper - lobes + absent) - place
            entry = start * per_sample + center
            first = np.floor(entry)
            row, column = np.int64(first) % _PER_SAMPLE, np.int64(first) // _PER_SAMPLE
            low = row * pitch + column - absent
            high, skipped = low + pitch, np.float32(absent)
            begin, beginning, before = spread(start), spread(first), spread(skipped)
            sums = spread(np.float32(0))
            for j in range(0, whole, LANES):
                number = sub(load(numbers, j), before)
                # Each place is rounded by itself, as one that was not counted from the first.
                at = add(mul(add(begin, number), thirtytwo), middle)
                share = sub(at, add(beginning, mul(thirtytwo, number)))
                left, right = load(table, low + j), load(table, high + j)
                weight = add(left, mul(share, sub(right, left)))
                store(weights, j, weight)
                sums = add(sums, mul(load(planes, head + j), weight))
            rest = np.float32(0)
            for j in range(whole, taps):
                number_ = numbers[j] - skipped
                at_ = (start + number_) * per_sample + center
                share_ = at_ - (first + per_sample * number_)
                left_, right_ = table[low + j], table[high + j]
                weights[j] = left_ + share_ * (right_ - left_)
                rest += planes[head + j] * weights[j]
            target[k * channels] = total(sums) + rest
            for c in range(1, channels):
                sums, rest = spread(np.float32(0)), np.float32(0)
                own = c * width + head
                for j in range(0, whole, LANES):
                    sums = add(sums, mul(load(planes, own + j), load(weights, j)))
                for j in range(whole, taps):
                    rest += planes[own + j] * weights[j]
                target[k * channels + c] = total(sums) + rest
            place += step


def resampled_length(size: int, rate_in: float, rate_out: float) -> int:
    """ceil(size * rate_out / rate_in)."""
    return int(np.ceil(size * rate_out / rate_in))


def resample_audio(
    sound: Array, channels: int, rate_in: float, rate_out: float, lobes: int, target: Float32Array
) -> None:
    """Fill `target`, flat, with a float32 signal at another rate."""
    if rate_in == rate_out and sound.size == target.size:
        target[:] = sound
        return
    size = sound.size // channels
    planes = np.zeros((channels, size + 2 * lobes + _SPARE), np.float32)
    planes[:, lobes : lobes + size] = sound.reshape(size, channels).T
    ratio, table = float(rate_in) / float(rate_out), window_table(lobes).reshape(-1)
    resample(planes.reshape(-1), size, channels, ratio, table, lobes, target)
