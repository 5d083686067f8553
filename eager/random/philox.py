"""Randomness as a function of (seed, number of the call, position of the sample).

The generator is Philox-4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
1, 2, 3", SC 2011). A value does not depend on batch size, threads, prefetching or shards, because
nothing is consumed: it is computed from its key.
"""

from __future__ import annotations

import math

import numpy as np

from gradiva.eager.jit.jit import always_inline, jit


@jit
def philox(
    block: np.uint32, number: np.uint32, position: np.uint64, seed: np.uint64
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Four random 32-bit words for one counter (Philox-4x32, 10 rounds); a kernel.

    block: from 0, one for each four words that a sample needs; number: of the call in its step;
    position: of the sample in the data; seed: of the generator. `Call.draws` holds the last three:
    `positions, seed, number = draws`, where `positions` is int64, (N,).
    """
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    c0 = np.uint64(block)
    c1 = np.uint64(number)
    c2 = np.uint64(position) & mask
    c3 = np.uint64(position) >> shift
    k0 = np.uint64(seed) & mask
    k1 = np.uint64(seed) >> shift
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = ((p1 >> shift) ^ c1 ^ k0, p1 & mask, (p0 >> shift) ^ c3 ^ k1, p0 & mask)
        k0 = (k0 + np.uint64(0x9E3779B9)) & mask
        k1 = (k1 + np.uint64(0xBB67AE85)) & mask
    return np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


@jit
def natural_log(x: float) -> float:
    """Natural logarithm in plain multiplications and additions (series of atanh), so that every
    machine computes the same bits. Error below 1e-15 relative."""
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa *= 2.0
        exponent -= 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = 0.0
    for k in range(12, -1, -1):
        series = series * z + 1.0 / (2.0 * k + 1.0)
    return exponent * 0.6931471805599453 + 2.0 * s * series


@always_inline
def normal_middle(q: float) -> float:
    """The standard normal quantile of q + 1/2, for |q| up to 0.425."""
    # fmt: off
    r = 0.180625 - q * q
    num = ((((((2509.0809287301226727 * r + 33430.575583588128105) * r
               + 67265.770927008700853) * r + 45921.953931549871457) * r
             + 13731.693765509461125) * r + 1971.5909503065514427) * r
           + 133.14166789178437745) * r + 3.387132872796366608
    den = ((((((5226.495278852545925 * r + 28729.085735721942674) * r
               + 39307.89580009271061) * r + 21213.794301586595867) * r
             + 5394.1960214247511077) * r + 687.1870074920579083) * r
           + 42.313330701600911252) * r + 1.0
    # fmt: on
    return q * num / den


@always_inline
def normal_tail(root: float) -> float:
    """The standard normal quantile of 1 - p outside of the middle, from sqrt(-log(p)) up to 5."""
    # fmt: off
    r = root - 1.6
    num = ((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r
               + 0.24178072517745061177) * r + 1.27045825245236838258) * r
             + 3.64784832476320460504) * r + 5.7694972214606914055) * r
           + 4.6303378461565452959) * r + 1.42343711074968357734
    den = ((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r
               + 0.0151986665636164571966) * r + 0.14810397642748007459) * r
             + 0.68976733498510000455) * r + 1.6763848301838038494) * r
           + 2.05319162663775882187) * r + 1.0
    # fmt: on
    return num / den


@jit
def normal_from_word(word: np.uint32) -> float:
    """The standard normal quantile of (word + 1/2) / 2**32, float64; a kernel. word: uint32, one of
    the four of `philox`: so this makes a normal value of a random word.

    Wichura: "Algorithm AS 241: the percentage points of the normal distribution", Applied
    Statistics 37 (1988), routine PPND16; relative accuracy about 1e-16. Reaches +-6.3 sigma: of the
    two tails of the algorithm the outer one, from a root of 5 on, is not met.
    """
    p: float = (np.float64(word) + 0.5) * 2.3283064365386963e-10
    q = p - 0.5
    if abs(q) <= 0.425:
        return normal_middle(q)
    value = normal_tail(math.sqrt(-natural_log(p if q < 0.0 else 1.0 - p)))
    return -value if q < 0.0 else value
