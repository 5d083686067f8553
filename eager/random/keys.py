"""The keys of random calls."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["RandomKey"]


class RandomKey(NamedTuple):
    """All that the values of one random call depend on, beside the positions of its samples."""

    seed: int
    number: int
