"""The provenance of the samples of a batch: for errors, random values, splitting and merging; and
how far a source had read when it delivered them: for schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .sample_origin import SampleOrigin

__all__ = ["NamesOnDemand", "Progress", "Provenance"]

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


class Progress:
    """epoch: of the first sample of a batch; None where the source has no epochs. step: how many
    batches come before this one, since the beginning of the run."""

    __slots__ = ("epoch", "known_step")

    def __init__(self, epoch: int | None, step: int | None = None) -> None:
        self.epoch = epoch
        self.known_step = step

    @property
    def step(self) -> int:
        return self.known_step or 0

    def numbers(self, positions: Numbers) -> Numbers:
        """How many samples come before each of those at these positions, since the beginning: of
        all shards together."""
        return positions

    def at_step(self, step: int) -> Progress:
        """The same, with another number of the batch."""
        return Progress(self.epoch, step)

    def __reduce__(self) -> tuple[Any, ...]:
        return Progress, (self.epoch, self.step)  # without the plan of a reader

    def __repr__(self) -> str:
        return f"Progress(epoch={self.epoch}, step={self.step})"


@dataclass(frozen=True, slots=True)
class Provenance:
    """`positions`: place of each sample in its source's endless stream (int64, shape (N,));
    `names`: file or key of each sample, or None where there is none; `indices`: its number in its
    data set, where that is known; `progress`: of its source, when it delivered the batch, where
    the source knows; `origin`: what identifies the bytes that a source delivered. A
    batch that was computed from it may have the same origin, which then says nothing of its values:
    it is trusted only on what comes straight from a source, and on a selection of that; `places`:
    the number of each sample in the batch as it was read, where that has other samples too."""

    positions: Numbers
    names: Sequence[str] | None = None
    indices: Numbers | None = None
    origin: SampleOrigin | None = field(default=None, compare=False, repr=False)
    progress: Progress | None = field(default=None, compare=False, repr=False)
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
        return Provenance(self.positions[chosen], names, indices, origin, self.progress, places)

    def renamed(self, names: Sequence[str] | None) -> Provenance:
        """Of values that are computed from these samples, with names of their own."""
        return Provenance(self.positions, names, progress=self.progress, places=self.places)

    @staticmethod
    def joined(parts: Sequence[tuple[Numbers, Provenance]], size: int) -> Provenance:
        """Of a batch of so many samples that is put together from parts, given with the numbers of
        their samples in it. Samples of no part are at position 0."""
        positions, places, names = np.zeros(size, np.int64), np.arange(size), [""] * size
        for rows, part in parts:
            positions[rows] = part.positions
            places[rows] = places[rows] if part.places is None else part.places
            for own, sample in enumerate(rows.tolist()):
                names[sample] = part.name(own) or ""
        progress = parts[0][1].progress if parts else None
        return Provenance(positions, names if any(names) else None, None, None, progress, places)
