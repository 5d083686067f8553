"""One pass over audio, in blocks of eight frames: from samples to powers, bands and decibels.

`spectrogram` is this pass without bands and decibels; a fused group of a captured graph is all of
it. The steps are those that the operators make one by one, in the same order: so are the bits.

    sound -> a piece of it, filtered -> eight frames times the window, side by side
          -> their spectra -> sums over bands -> the output, or memory -> decibels -> the output
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.intrinsics import span
from gradiva.eager.simd.vectors import LANES, add, gather, load, mul, narrow, spread, store, widen
from gradiva.eager.types.arrays import Array, F32Vector, Float32Array, I64Vector

from .fourier import FourierPlan, place_of, power_of_lanes, work_size
from .levels import levels
from .matrices import BandMatrix


class Emphasis(NamedTuple):
    """`preemphasis_filter`: a coefficient per sample, float32, and the number of the sample that
    stands before the first; -1 for none."""

    coefficients: Float32Array
    border: int


class Framing(NamedTuple):
    """`spectrogram`. start: where frame 0 begins; reflect: whether what lies outside is mirrored;
    rows: whether each frequency is a row ("ft"), or each frame ("tf"); frames: of each sample."""

    start: int
    step: int
    reflect: bool
    window: Float32Array
    fourier: FourierPlan
    power: int
    rows: bool
    frames: op.Int64Array


class Levels(NamedTuple):
    """`to_decibels`. reference: what is 0 dB, or 0 for the largest value of each sample; floor: the
    least ratio, and its result."""

    reference: np.float32
    floor: tuple[np.float32, np.float32]
    multiplier: np.float32


_NO_EMPHASIS = Emphasis(np.zeros(0, np.float32), 0)
_NO_BANDS = BandMatrix.of(np.zeros((0, 0)))
_NO_LEVELS = Levels(np.float32(0), (np.float32(0), np.float32(0)), np.float32(0))


def run_pass(
    call: op.Call,
    source: tuple[Array, op.Int64Array, op.Int64Array],
    framing: Framing,
    target: op.Batch,
    emphasis: Emphasis | None = None,
    bands: BandMatrix | None = None,
    decibels: Levels | None = None,
) -> None:
    """Fill a batch. source: data, where the audio of each sample begins, and its length; call: any
    of the members, whose threads do the work."""
    shown = bands or _NO_BANDS
    rows = shown.begins.size if bands else framing.fourier.size // 2 + 1
    matrix = shown.begins, shown.offsets, shown.weights
    level = decibels or _NO_LEVELS
    scale = decibels is not None, level.reference, level.floor, level.multiplier
    given = emphasis or _NO_EMPHASIS
    place = target.data, target.batch_shape.offsets, rows
    call.for_samples(
        _pass_over, source, tuple(given), tuple(framing), matrix, scale, place, work=target
    )


@op.jit
def _mirrored(at: int, size: int) -> int:
    """The place of a sample outside, mirrored at both ends as often as it takes.

    at: in samples of audio, from the first; may be negative; size: samples of the audio.
    """
    if size == 1:
        return 0
    period = 2 * (size - 1)
    at = at % period
    return min(at, period - at)


@op.jit
def _filtered(sound: F32Vector, at: int, share: np.float32, border: int) -> np.float32:
    """One value of the audio after the filter.

    at: in samples of audio, from 0; share: the coefficient of the sample before, 0 for no filter;
    border: the number of the sample that stands before the first, -1 for none.
    """
    if share == np.float32(0):
        return np.float32(sound[at])
    if at > 0:
        return np.float32(sound[at] - share * sound[at - 1])
    if border < 0:
        return np.float32(sound[0])
    return np.float32(sound[0] - share * sound[min(border, sound.size - 1)])


@op.jit
def cut(
    sound: F32Vector,
    begin: int,
    count: int,
    reflect: bool,
    share: np.float32,
    border: int,
    to: int,
    piece: F32Vector,
) -> None:
    """Values from `begin` on, of which some may lie outside of the audio, into `piece` from `to`
    on.

    begin: in samples of audio, may be negative; count: how many; reflect: whether values outside
    are mirrored (zeros otherwise); share, border: as in `_filtered`; to: a place in `piece`, in
    elements.
    """
    size = sound.size
    # Those that have one before them, side by side; the others, one by one.
    low = min(max(1 - begin, 0), count)
    high = max(min(size - begin, count), low)
    inside = span(sound, begin + low - 1, high - low + 1)
    out = span(piece, to + low, high - low)
    if share == np.float32(0):
        for k in range(high - low):
            out[k] = inside[k + 1]
    else:
        for k in range(high - low):
            out[k] = inside[k + 1] - share * inside[k]
    for k in range(low + count - high):
        t = k if k < low else k - low + high
        value = np.float32(0)
        if 0 <= begin + t < size or reflect:
            value = _filtered(sound, _mirrored(begin + t, size), share, border)
        piece[to + t] = value


@op.jit
def _sum_bands(
    power: F32Vector, matrix: tuple[I64Vector, I64Vector, F32Vector], dotted: bool, out: F32Vector
) -> None:
    """Eight columns times a matrix: in order, or as the sum of four sums (`matrices.py`).

    power: (bins, LANES), flat; matrix: the first bin of each row, the offsets of its weights (rows
    + 1) in elements, and the weights; out: (rows, LANES), flat.
    """
    begins, offsets, weights = matrix
    nothing = spread(0.0)
    for row in range(begins.size):
        first, last = offsets[row], offsets[row + 1]
        at = begins[row] * LANES
        s0, s1, s2, s3 = nothing, nothing, nothing, nothing
        for k in range(first, last):
            product = mul(spread(np.float64(weights[k])), widen(load(power, at)))
            which = (k - first) % 4 if dotted else 0
            if which == 0:
                s0 = add(s0, product)
            elif which == 1:
                s1 = add(s1, product)
            elif which == 2:
                s2 = add(s2, product)
            else:
                s3 = add(s3, product)
            at += LANES
        total = add(add(s0, s1), add(s2, s3)) if dotted else s0
        store(out, row * LANES, narrow(total))


@op.jit
def _put(
    values: F32Vector, rows: int, by_row: bool, first: int, count: int, frames: int, to: F32Vector
) -> None:
    """Eight columns, of which `count` are there, into (rows, frames), or turned.

    values: (rows, LANES), flat; by_row: whether the result is (rows, frames); first: the frame of
    the first column; frames: how many the result has; to: the result, flat.
    """
    for row in range(rows):
        at = row * frames + first
        if by_row and count == LANES:
            store(to, at, load(values, row * LANES))
        elif by_row:
            for k in range(count):
                to[at + k] = values[row * LANES + k]
        else:
            for k in range(count):
                to[(first + k) * rows + row] = values[row * LANES + k]


@op.jit
def _pass_over(
    source: tuple[F32Vector, I64Vector, I64Vector],
    emphasis: tuple[F32Vector, int],
    framing: tuple[int, int, bool, F32Vector, FourierPlan, int, bool, I64Vector],
    matrix: tuple[I64Vector, I64Vector, F32Vector],
    scale: tuple[bool, np.float32, tuple[np.float32, np.float32], np.float32],
    place: tuple[F32Vector, I64Vector, int],
    begin: int,
    end: int,
) -> None:
    """From audio to its spectrogram, mel bands or decibels, eight frames at a time.

    source: the data, and the offset and the size of each sample; emphasis: the coefficient of each
    sample's filter and what lies before its first value; framing: the fields of `Framing`; matrix:
    of the bands, without rows if there are none; scale: whether to convert to decibels, and the
    fields of `Levels`; place: the target, the offset of each result, and the rows of one; begin,
    end: the range of samples.
    """
    data, begins, sizes = source
    coefficients, border = emphasis
    start, step, reflect, window, fourier, power, by_row, frames = framing
    leveled, reference, floor, multiplier = scale
    target, offsets, rows = place
    nfft, length = fourier[0], window.size
    margin, pitch = (nfft - length) // 2, min(step, length)
    piece = np.zeros(pitch * (LANES - 1) + length, np.float32)
    work = np.empty(work_size(nfft), np.float32)
    spectra = np.empty((nfft // 2 + 1) * LANES, np.float32)
    sums = np.empty(rows * LANES, np.float32)
    nothing = spread(np.float32(0))
    banded = matrix[0].size > 0
    for i in range(begin, end):
        count = frames[i]
        sound = span(data, begins[i], sizes[i])
        share = coefficients[i] if coefficients.size else np.float32(0)
        out = span(target, offsets[i], rows * count)
        made = np.empty(out.size, np.float32) if leveled else out
        dotted = not by_row or count == 1
        for first in range(0, count, LANES):
            there = min(LANES, count - first)
            if step <= length:
                whole = (there - 1) * step + length
                cut(sound, first * step + start, whole, reflect, share, border, 0, piece)
            else:
                for k in range(there):
                    at = (first + k) * step + start
                    cut(sound, at, length, reflect, share, border, k * length, piece)
            for t in range(margin):
                store(work, place_of(nfft, t), nothing)
            for t in range(length):
                value = mul(spread(window[t]), gather(piece, t, pitch))
                store(work, place_of(nfft, margin + t), value)
            for t in range(margin + length, nfft):
                store(work, place_of(nfft, t), nothing)
            for t in range(nfft if nfft % 2 else 0):  # imaginary parts
                store(work, (nfft + t) * LANES, nothing)
            power_of_lanes(fourier, power, work, spectra)
            if banded:
                _sum_bands(spectra, matrix, dotted, sums)
                _put(sums, rows, by_row, first, there, count, made)
            else:
                _put(spectra, rows, by_row, first, there, count, made)
        if leveled:
            levels(made, reference, floor, multiplier, out)
