"""Random numbers of plans: functions of seed, epoch, purpose and place."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log, philox
from gradiva.eager.types.arrays import F64Vector, U64Vector

# Purposes. 0xFFFFFFFF are the permutations of `plan.py`.
CHOICES, CLASSES, MEMBERS, SOURCES, BATCHES = range(0xFFFFFFFE, 0xFFFFFFF9, -1)


@op.jit
def _keys(seed: np.uint64, epoch: np.uint64, purpose: int, first: int, found: U64Vector) -> None:
    """Fill `found` with random words of 64 bits, for the numbers from `first` on; purpose: tells
    draws of one epoch apart."""
    for index in range(found.size):
        a, b, _, _ = philox(
            np.uint32(first + index), np.uint32(purpose), np.uint64(epoch), np.uint64(seed)
        )
        found[index] = (np.uint64(a) << np.uint64(32)) | np.uint64(b)


def keys(seed: int, epoch: int, purpose: int, first: int, count: int) -> np.ndarray[Any, Any]:
    """A random uint64 for each place from `first` on."""
    found = np.empty(count, np.uint64)
    _keys(np.uint64(seed), np.uint64(epoch), purpose, first, found)
    return found


def uniforms(
    seed: int, epoch: int, purpose: int, first: int, count: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A random number between 0 and 1, both excluded, for each place from `first` on."""
    words = keys(seed, epoch, purpose, first, count) >> np.uint64(12)
    return (words.astype(np.float64) + 0.5) * 2.0**-52


@op.jit
def _race(numbers: F64Vector, weights: F64Vector) -> None:
    """Turn uniform numbers into arrival times of processes with these rates."""
    for index in range(numbers.size):
        numbers[index] = -natural_log(numbers[index]) / weights[index]


def race(seed: int, epoch: int, weights: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Exponential times with these rates: their order is that of a weighted draw without
    replacement (Efraimidis, Spirakis: "Weighted random sampling with a reservoir", 2006)."""
    times = uniforms(seed, epoch, CHOICES, 0, len(weights))
    _race(times, weights)
    return times
