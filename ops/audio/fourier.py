"""Fourier transforms of eight rows of values side by side, in float32.

Method: the self-sorting transform of T. G. Stockham (C. Van Loan, "Computational Frameworks for the
Fast Fourier Transform", 1992, section 1.7), by factors of 4, 2 and odd primes. Two halves of a row
of even length are one complex transform of half of the length. Each row is a lane of its own
(`eager/simd/vectors.py`): so its bits depend on itself alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.simd.vectors import LANES, add, load, mul, spread, square_root, store, sub
from gradiva.eager.types.arrays import F32Vector, Float32Array

_LARGEST_PRIME: Final = 31
_LONGEST: Final = 1 << 14


class FourierPlan(NamedTuple):
    """A transform of rows of `size` real values, as kernels take it.

    factors: of the complex transform, in the order of its passes; twiddles: (cos, sin) pairs of all
    passes, one after another; last: those of the step from a complex transform of half of the size.
    """

    size: int
    factors: op.Int64Array
    twiddles: Float32Array
    last: Float32Array


def _pairs(angles: Any) -> Float32Array:
    """Numbers exp(-i * angle) of the unit circle, as pairs."""
    return np.stack([np.cos(angles), -np.sin(angles)], axis=-1).astype(np.float32)


@lru_cache(maxsize=64)
def fourier_plan(size: int) -> FourierPlan | None:
    """How to transform so many values; None for sizes that these kernels do not take: long ones,
    and those with large prime factors."""
    length = size // 2 if size % 2 == 0 else size
    factors, rest = [], length
    for factor in (4, 2, *range(3, _LARGEST_PRIME + 1, 2)):
        while rest % factor == 0:
            factors.append(factor)
            rest //= factor
    if rest != 1 or not 1 <= size <= _LONGEST:
        return None
    twiddles, left = [np.zeros(0, np.float32)], length
    for factor in factors:
        places, numbers = np.arange(left // factor)[:, None], np.arange(1, factor)
        twiddles.append(_pairs(2 * np.pi * places * numbers / left).ravel())
        roots = np.arange(factor)
        twiddles.append(_pairs(2 * np.pi * roots / factor).ravel() if factor % 2 else twiddles[0])
        left //= factor
    last = _pairs(2 * np.pi * np.arange(length // 2 + 1) / size)
    return FourierPlan(size, np.array(factors, np.int64), np.concatenate(twiddles), last.ravel())


@op.jit
def work_size(size: int) -> int:
    """How many float32 numbers of memory a transform of rows of `size` values needs.

    size: in real values of one row.
    """
    return 4 * LANES * (size + 1) + 4 * LANES * _LARGEST_PRIME


@op.jit
def _pass_4(
    size: int,
    stride: int,
    source: F32Vector,
    target: F32Vector,
    twiddles: F32Vector,
    imaginary: int,
) -> None:
    """One pass, by 4. imaginary: where imaginary parts begin, in both.

    size: complex values of a sub-transform of this pass; stride: how many sub-transforms lie side
    by side; source, target: (2, length, LANES), flat, real parts first; twiddles: (cos, sin) pairs
    of this pass; imaginary: in float32 numbers.
    """
    quarter = size // 4
    distance = stride * quarter * LANES
    for p in range(quarter):
        t = 6 * p
        c1, s1 = spread(twiddles[t]), spread(twiddles[t + 1])
        c2, s2 = spread(twiddles[t + 2]), spread(twiddles[t + 3])
        c3, s3 = spread(twiddles[t + 4]), spread(twiddles[t + 5])
        for q in range(stride):
            at = (q + stride * p) * LANES
            ar, ai = load(source, at), load(source, imaginary + at)
            br, bi = load(source, at + distance), load(source, imaginary + at + distance)
            cr, ci = load(source, at + 2 * distance), load(source, imaginary + at + 2 * distance)
            dr, di = load(source, at + 3 * distance), load(source, imaginary + at + 3 * distance)
            pr, pi, mr, mi = add(ar, cr), add(ai, ci), sub(ar, cr), sub(ai, ci)
            vr, vi, wr, wi = add(br, dr), add(bi, di), sub(br, dr), sub(bi, di)
            to = (q + 4 * stride * p) * LANES
            width = stride * LANES
            store(target, to, add(pr, vr))
            store(target, imaginary + to, add(pi, vi))
            # Times -i: (re, im) becomes (im, -re).
            xr, xi = add(mr, wi), sub(mi, wr)
            yr, yi = sub(pr, vr), sub(pi, vi)
            zr, zi = sub(mr, wi), add(mi, wr)
            if p > 0:
                xr, xi = sub(mul(xr, c1), mul(xi, s1)), add(mul(xr, s1), mul(xi, c1))
                yr, yi = sub(mul(yr, c2), mul(yi, s2)), add(mul(yr, s2), mul(yi, c2))
                zr, zi = sub(mul(zr, c3), mul(zi, s3)), add(mul(zr, s3), mul(zi, c3))
            store(target, to + width, xr)
            store(target, imaginary + to + width, xi)
            store(target, to + 2 * width, yr)
            store(target, imaginary + to + 2 * width, yi)
            store(target, to + 3 * width, zr)
            store(target, imaginary + to + 3 * width, zi)


@op.jit
def _pass_2(
    size: int,
    stride: int,
    source: F32Vector,
    target: F32Vector,
    twiddles: F32Vector,
    imaginary: int,
) -> None:
    """One pass, by 2.

    Arguments as for `_pass_4`.
    """
    half = size // 2
    distance, width = stride * half * LANES, stride * LANES
    for p in range(half):
        c, s = spread(twiddles[2 * p]), spread(twiddles[2 * p + 1])
        for q in range(stride):
            at, to = (q + stride * p) * LANES, (q + 2 * stride * p) * LANES
            ar, ai = load(source, at), load(source, imaginary + at)
            br, bi = load(source, at + distance), load(source, imaginary + at + distance)
            store(target, to, add(ar, br))
            store(target, imaginary + to, add(ai, bi))
            xr, xi = sub(ar, br), sub(ai, bi)
            if p > 0:
                xr, xi = sub(mul(xr, c), mul(xi, s)), add(mul(xr, s), mul(xi, c))
            store(target, to + width, xr)
            store(target, imaginary + to + width, xi)


@op.jit
def _pass_odd(
    size: int,
    stride: int,
    factor: int,
    source: F32Vector,
    target: F32Vector,
    twiddles: F32Vector,
    imaginary: int,
    pairs: F32Vector,
) -> None:
    """One pass, by an odd factor. pairs: memory for sums and differences of what lies opposite.

    pairs: at most 4 * factor * LANES float32 numbers. The others as for `_pass_4`.
    """
    part, half = size // factor, factor // 2
    distance, width = stride * part * LANES, stride * LANES
    roots = 2 * part * (factor - 1)
    for p in range(part):
        for q in range(stride):
            at, to = (q + stride * p) * LANES, (q + factor * stride * p) * LANES
            fr, fi = load(source, at), load(source, imaginary + at)
            tr, ti = fr, fi
            for j in range(1, half + 1):
                a, b = at + j * distance, at + (factor - j) * distance
                ar, ai = load(source, a), load(source, imaginary + a)
                br, bi = load(source, b), load(source, imaginary + b)
                place = 4 * LANES * (j - 1)
                store(pairs, place, add(ar, br))
                store(pairs, place + LANES, add(ai, bi))
                store(pairs, place + 2 * LANES, sub(ar, br))
                store(pairs, place + 3 * LANES, sub(ai, bi))
                tr, ti = add(tr, add(ar, br)), add(ti, add(ai, bi))
            store(target, to, tr)
            store(target, imaginary + to, ti)
            for k in range(1, half + 1):
                er, ei = fr, fi
                zero = spread(np.float32(0))
                hr, hi = zero, zero
                for j in range(1, half + 1):
                    root = roots + 2 * (j * k % factor)
                    c, s = spread(twiddles[root]), spread(twiddles[root + 1])
                    place = 4 * LANES * (j - 1)
                    er = add(er, mul(load(pairs, place), c))
                    ei = add(ei, mul(load(pairs, place + LANES), c))
                    hr = add(hr, mul(load(pairs, place + 2 * LANES), s))
                    hi = add(hi, mul(load(pairs, place + 3 * LANES), s))
                for way in range(2):
                    number = k if way == 0 else factor - k
                    xr = sub(er, hi) if way == 0 else add(er, hi)
                    xi = add(ei, hr) if way == 0 else sub(ei, hr)
                    if p > 0:
                        t = 2 * (p * (factor - 1) + number - 1)
                        c, s = spread(twiddles[t]), spread(twiddles[t + 1])
                        xr, xi = sub(mul(xr, c), mul(xi, s)), add(mul(xr, s), mul(xi, c))
                    store(target, to + number * width, xr)
                    store(target, imaginary + to + number * width, xi)


@op.jit
def _complex_transform(length: int, plan: FourierPlan, work: F32Vector) -> int:
    """Transform what stands at the beginning of `work`, (2, length, LANES), and return where the
    result begins: there, or behind it.

    length: in complex values; work: `work_size` float32 numbers; the place that is returned is in
    float32 numbers, too.
    """
    _, factors, twiddles, _ = plan
    imaginary = length * LANES
    first, second = work[: 2 * imaginary], work[2 * imaginary : 4 * imaginary]
    pairs = work[work.size - 4 * LANES * _LARGEST_PRIME :]
    size, stride, used = length, 1, 0
    for number in range(factors.size):
        factor = factors[number]
        source, target = (first, second) if number % 2 == 0 else (second, first)
        own = twiddles[used:]
        if factor == 4:
            _pass_4(size, stride, source, target, own, imaginary)
        elif factor == 2:
            _pass_2(size, stride, source, target, own, imaginary)
        else:
            _pass_odd(size, stride, factor, source, target, own, imaginary, pairs)
            used += 2 * factor
        used += 2 * (size // factor) * (factor - 1)
        size //= factor
        stride *= factor
    return 2 * imaginary if factors.size % 2 else 0


@op.jit
def power_of_lanes(plan: FourierPlan, power: int, work: F32Vector, out: F32Vector) -> None:
    """The power (2) or magnitude (1) of eight rows, which stand in `work` as `place_of` says, into
    `out`, (size // 2 + 1, LANES) flat.

    work: `work_size(size)` float32 numbers.
    """
    size, last = plan[0], plan[3]
    length = size // 2 if size % 2 == 0 else size
    begin = _complex_transform(length, plan, work)
    imaginary = begin + length * LANES
    half = spread(np.float32(0.5))
    for k in range(size // 2 + 1):
        if size % 2:
            at = k * LANES
            xr, xi = load(work, begin + at), load(work, imaginary + at)
        else:
            # X[k] = (Z[k] + Z*[n - k]) / 2 - i / 2 exp(-2 pi i k / size) (Z[k] - Z*[n - k])
            at, other = k % length * LANES, (length - k) % length * LANES
            ar, ai = load(work, begin + at), load(work, imaginary + at)
            br, bi = load(work, begin + other), load(work, imaginary + other)
            # Beyond the half the factor is that of the other side, mirrored.
            far = 2 * k > length
            t = 2 * (length - k if far else k)
            cosine = -last[t] if far else last[t]
            c, s = spread(cosine), spread(last[t + 1])
            dr, di = sub(ar, br), add(ai, bi)
            er, ei = add(ar, br), sub(ai, bi)
            xr = mul(half, add(er, add(mul(dr, s), mul(di, c))))
            xi = mul(half, add(ei, sub(mul(di, s), mul(dr, c))))
        value = add(mul(xr, xr), mul(xi, xi))
        if power == 1:
            value = square_root(value)
        store(out, k * LANES, value)


@op.jit
def place_of(size: int, number: int) -> int:
    """Where in `work` value `number` of the eight rows stands: real parts are the even ones,
    imaginary parts the odd ones; of an odd size all are real.

    size: real values of a row; the place is in float32 numbers.
    """
    if size % 2:
        return number * LANES
    return ((number % 2) * (size // 2) + number // 2) * LANES
