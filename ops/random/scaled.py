"""Whole numbers below a bound, from random words, by integer operations alone."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op


@op.jit
def scaled(word: np.uint64, bound: np.uint64) -> np.uint64:
    """floor(word * bound / 2**64): a number below `bound`, each as likely, up to 2**-64 * bound."""
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    high, low = word >> shift, word & mask
    bound_high, bound_low = bound >> shift, bound & mask
    first = high * bound_low + ((low * bound_low) >> shift)
    second = low * bound_high + (first & mask)
    return np.uint64(high * bound_high + (first >> shift) + (second >> shift))
