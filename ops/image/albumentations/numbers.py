"""Random numbers for one sample, one after the other."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import natural_log, normal_from_word, philox
from gradiva.eager.types.arrays import F64Vector
from gradiva.ops.random.crop_window import exponential


@op.jit
def _fill(
    first: int, position: np.uint64, seed: np.uint64, number: np.uint32, out: F64Vector
) -> None:
    """Numbers from 0 on and below 1, two from each block of random words."""
    for block in range(out.size // 2):
        words = philox(np.uint32(first + block), number, position, seed)
        high = np.uint64(words[0]) << np.uint64(32) | np.uint64(words[1])
        out[2 * block] = np.float64(high >> np.uint64(11)) * 2.0**-53
        low = np.uint64(words[2]) << np.uint64(32) | np.uint64(words[3])
        out[2 * block + 1] = np.float64(low >> np.uint64(11)) * 2.0**-53


class Numbers:
    """A source of random numbers that depend on the sample and on nothing around it."""

    def __init__(self, position: int, seed: np.uint64, number: np.uint32) -> None:
        self._key = np.uint64(position), seed, number
        self._block = 0
        self._left: list[float] = []

    def unit(self) -> float:
        """From 0 on and below 1."""
        if not self._left:
            made = np.empty(16)
            _fill(self._block, *self._key, made)
            self._block += 8
            self._left = made[::-1].tolist()
        return self._left.pop()

    def uniform(self, low: float, high: float) -> float:
        """Between two numbers."""
        return low + (high - low) * self.unit()

    def integer(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self.unit() * (high - low + 1))

    def shuffled(self, count: int) -> list[int]:
        """0 ... count - 1 in a random order."""
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.integer(0, last)
            order[last], order[other] = order[other], order[last]
        return order

    def seed(self) -> int:
        """32 random bits: a seed for what needs many numbers."""
        return self.integer(0, (1 << 32) - 1)

    def normal(self, mean: float, deviation: float) -> float:
        """From a normal distribution."""
        return mean + deviation * float(normal_from_word(np.uint32(self.seed())))

    def log_uniform(self, low: float, high: float) -> float:
        """Between two numbers, whose logarithm is uniform."""
        first, last = natural_log(low), natural_log(high)
        return float(exponential(self.uniform(first, last)))
