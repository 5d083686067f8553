"""Quantiles of the Poisson distribution, computed by plain multiplications and additions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import normal_from_word

SUMMED: Final = 64.0
"""Up to this mean the probabilities are summed, above it the quantile is expanded."""


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
        while wanted > total and k < 1000.0:
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
