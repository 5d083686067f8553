"""Kernels that only save microseconds per sample: worth it once there are many samples."""

from __future__ import annotations

import sys

__all__ = ["MANY", "Later"]

MANY = 4096
"""So many samples pay for the loading of Numba."""


class Later:
    """Says whether a kernel pays: once Numba is loaded for other kernels, or from then on that many
    samples went by. Until then the same is done in Python, so that a first batch does not wait."""

    def __init__(self) -> None:
        self._seen = 0

    def pays(self, samples: int) -> bool:
        """Whether it does, for so many more samples."""
        return self.pays_alone(samples) or "numba" in sys.modules

    def pays_alone(self, samples: int) -> bool:
        """Whether it does for so many more samples, even if it has yet to be compiled."""
        self._seen += samples
        return self._seen > MANY
