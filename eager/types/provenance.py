"""Where the samples of a batch came from: for errors, for randomness, for splitting and merging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Provenance"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """`positions`: place of each sample in its source's endless stream (int64, shape (N,));
    `names`: file or key of each sample, or None where there is none; `indices`: its number in its
    data set, where that is known."""

    positions: np.ndarray[Any, np.dtype[np.int64]]
    names: Sequence[str] | None = None
    indices: np.ndarray[Any, np.dtype[np.int64]] | None = None

    def name(self, sample: int) -> str | None:
        if self.names is None or not 0 <= sample < len(self.names):
            return None
        return self.names[sample]

    def select(self, samples: Sequence[int]) -> Provenance:
        names = None if self.names is None else [self.names[index] for index in samples]
        chosen = list(samples)
        indices = None if self.indices is None else self.indices[chosen]
        return Provenance(self.positions[chosen], names, indices)
