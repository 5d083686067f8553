"""The random values of one call of an automatic augmentation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradiva.capture.recording.free_calls import per_recorded_sample as for_each_sample
from gradiva.eager.types.dtypes import int32
from gradiva.ops.random.uniform import uniform

from .bins import per_sample, random_signs
from .checks import another_seed
from .declared import Augmentation

__all__ = ["Draws"]


class Draws:
    """Draws values for each sample of `data`, each time with another seed made from `seed`."""

    def __init__(self, data: Any, seed: int | None) -> None:
        self._size = per_sample(data)
        self._seed = seed
        self._count = 0

    def number(self, count: int, shape: tuple[int, ...] | None = None) -> Any:
        """One of 0 ... count - 1, or an array of them."""
        return self._uniform(values=list(range(count)), dtype=int32, shape=shape)

    def chance(self, shape: tuple[int, ...]) -> Any:
        """Numbers from 0 to 1."""
        return self._uniform(range=(0.0, 1.0), shape=shape)

    def signs(
        self, augmentations: Iterable[Augmentation], shape: tuple[int, ...] | None = None
    ) -> Any:
        """0 or 1, where 1 negates a magnitude; None if no augmentation is ever negated."""
        if any(one.randomly_negate for one in augmentations):
            return random_signs(self._next_seed(), shape, self._size)
        return None

    def _uniform(self, **arguments: Any) -> Any:
        draw: Any = for_each_sample(uniform)
        return draw(**arguments, seed=self._next_seed(), **self._size)

    def _next_seed(self) -> int | None:
        number, self._count = self._count, self._count + 1
        return another_seed(self._seed, number) if number else self._seed
