"""The keys of random calls."""

from __future__ import annotations

from typing import NamedTuple


class RandomKey(NamedTuple):
    """The key of one random call: its values depend on it and on the positions of its samples
    only."""

    seed: int
    number: int
