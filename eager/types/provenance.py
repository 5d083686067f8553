"""The provenance of the samples of a batch: for errors, random values, splitting and merging."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .sample_origin import SampleOrigin

__all__ = ["NamesOnDemand", "Provenance"]

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class NamesOnDemand(Sequence[str]):
    """The names of samples of a data set, which are made when somebody asks for them: of most
    batches, nobody does.

    make: the names of the samples with these numbers.
    """

    __slots__ = ("_indices", "_make")

    def __init__(self, make: Callable[[Numbers], list[str]], indices: Numbers) -> None:
        self._make, self._indices = make, indices

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, at: Any) -> Any:
        chosen = self._indices[at]
        return self._make(chosen) if isinstance(at, slice) else self._make(chosen.reshape(1))[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make(self._indices))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr([*self])

    def select(self, samples: list[int]) -> NamesOnDemand:
        return NamesOnDemand(self._make, self._indices[samples])

    def __reduce__(self) -> Any:
        return list, (list(self),)  # without the data set


@dataclass(frozen=True, slots=True)
class Provenance:
    """`positions`: place of each sample in its source's endless stream (int64, shape (N,));
    `names`: file or key of each sample, or None where there is none; `indices`: its number in its
    data set, where that is known; `origin`: what identifies the bytes that a source delivered. A
    batch that was computed from it may have the same origin, which then says nothing of its values:
    it is trusted only on what comes straight from a source, and on a selection of that; `places`:
    the number of each sample in the batch as it was read, where that has other samples too."""

    positions: Numbers
    names: Sequence[str] | None = None
    indices: Numbers | None = None
    origin: SampleOrigin | None = field(default=None, compare=False, repr=False)
    places: Numbers | None = field(default=None, compare=False, repr=False)

    def name(self, sample: int) -> str | None:
        if self.names is None or not 0 <= sample < len(self.names):
            return None
        return self.names[sample]

    def select(self, samples: Sequence[int]) -> Provenance:
        chosen = list(samples)
        names = self.names
        if isinstance(names, NamesOnDemand):
            names = names.select(chosen)
        elif names is not None:
            names = [names[index] for index in chosen]
        indices = None if self.indices is None else self.indices[chosen]
        origin = None if self.origin is None else self.origin.select(chosen)
        places = np.array(chosen, np.int64) if self.places is None else self.places[chosen]
        return Provenance(self.positions[chosen], names, indices, origin, places)
