"""`RepeatedRNG`: one draw of a generator for several calls."""

from __future__ import annotations

from .generator import RNG
from .keys import RandomKey


class RepeatedRNG(RNG):
    """Stands for another generator, from which it draws once, for calls that belong together.

    by_default: whether that is the default one because the user has named none; number: what a
    graph that is recorded has numbered the call, once it has.
    """

    def __init__(self, generator: RNG, by_default: bool) -> None:
        self.generator = generator
        self.by_default = by_default
        self.number: int | None = None
        self._key: RandomKey | None = None

    def draw(self) -> RandomKey:
        if self._key is None:
            self._key = self.generator.draw()
        return self._key
