"""Quantiles of the Poisson distribution, computed by plain multiplications and additions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import normal_from_word
from gradiva.eager.types.arrays import F64Table, U8Table

SUMMED: Final = 64.0
"""Up to this mean the probabilities are summed, above it the quantile is expanded."""
LARGEST: Final = 1000.0
"""The quantile where all sums round to less than what is wanted."""
LONGEST: Final = 256
"""Sums of a mean, at most: then they do not grow any more."""


@op.jit
def falling(mean: float) -> float:
    """exp(-mean) for 0 <= mean <= 700, the same bits on every machine: a power of two times a
    Taylor series. Relative error below 1e-14."""
    halvings = np.floor(mean * 1.4426950408889634 + 0.5)
    rest = halvings * 0.6931471805599453 - mean
    total = 1.0
    for term in range(18, 0, -1):
        total = 1.0 + rest / np.float64(term) * total
    return math.ldexp(total, -int(halvings))


@op.jit
def poisson_from_word(mean: float, none: float, word: np.uint32) -> float:
    """The Poisson quantile of (word + 1/2) / 2**32: the least k with P(X <= k) not below that.

    none: `falling(mean)`, the probability of 0, for a mean up to SUMMED. For larger ones the
    Cornish-Fisher expansion in the normal quantile is used; see Giles, "Algorithm 955:
    approximation of the inverse Poisson cumulative distribution function", ACM TOMS 42 (2016). It
    is off by one for less than 1 word in 10,000. 0 for means that are not positive, or NaN.
    """
    if not mean > 0.0:
        return 0.0
    if mean - mean != 0.0:  # infinite
        return mean
    if mean <= SUMMED:
        wanted = (np.float64(word) + 0.5) * 2.3283064365386963e-10
        chance, total, k = none, none, 0.0
        # The last few sums may round to less than the largest `wanted`: then the tail is cut.
        while wanted > total and k < LARGEST:
            k += 1.0
            chance *= mean / k
            total += chance
        return k
    w: float = normal_from_word(word)
    root = math.sqrt(mean)
    square = w * w
    value = mean + root * w + (2.0 + square) / 6.0 - w * (2.0 + square) / (72.0 * root)
    fine = (3.0 * square + 7.0) * square / 810.0 - 8.0 / 405.0
    result: float = np.floor(value + fine / mean)
    return result


@op.jit
def fill_sums(factor: float, sums: F64Table, starts: U8Table) -> int:
    """Tables of the quantiles of all bytes x, of mean x / factor, for a factor that is positive.

    sums: (256, `LONGEST`) float64, the chance of at most k, as `poisson_from_word` adds it up;
    starts: (256, 256) uint8, the quantile of the least word with such a highest byte. Returns for
    how many bytes there are tables: the others have means that are not summed.
    """
    known = 0
    for byte in range(256):
        mean = np.float64(byte) / factor
        if mean > SUMMED:
            break
        chance = total = falling(mean)
        before, k = -1.0, 0
        while total != before and k < LONGEST - 1:
            sums[byte, k] = before = total
            k += 1
            chance *= mean / np.float64(k)
            total += chance
        sums[byte, k] = np.inf
        k = 0
        for high in range(256):
            while sums[byte, k] < (np.float64(high << 24) + 0.5) * 2.3283064365386963e-10:
                k += 1
            starts[byte, high] = k
        known += 1
    return known


@op.jit
def poisson_from_sums(byte: np.uint8, word: np.uint32, sums: F64Table, starts: U8Table) -> float:
    """What `poisson_from_word` gives, by the tables of `fill_sums`."""
    wanted = (np.float64(word) + 0.5) * 2.3283064365386963e-10
    k = np.int64(starts[byte, word >> np.uint32(24)])
    while wanted > sums[byte, k]:
        k += 1
    return LARGEST if sums[byte, k] == np.inf else np.float64(k)
