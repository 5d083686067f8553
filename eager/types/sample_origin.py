"""What identifies the bytes of the samples of a source, so that results can be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["IdentitiesOnDemand", "SampleOrigin"]

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class IdentitiesOnDemand(Sequence["str | None"]):
    """The identities of samples, which are made once, when somebody asks for one of them.

    make: the identities of `size` samples, in any thread.
    """

    __slots__ = ("_made", "_make", "_size")

    def __init__(self, make: Callable[[], Sequence[str | None]], size: int) -> None:
        self._make, self._size = make, size
        self._made: Sequence[str | None] | None = None

    def _all(self) -> Sequence[str | None]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, at: Any) -> Any:
        return self._all()[at]

    def __iter__(self) -> Iterator[str | None]:
        return iter(self._all())

    def __repr__(self) -> str:
        return repr([*self])

    def select(self, samples: Sequence[int]) -> IdentitiesOnDemand:
        return IdentitiesOnDemand(lambda: [self[sample] for sample in samples], len(samples))


@dataclass(frozen=True, eq=False, slots=True)
class SampleOrigin:
    """identities: for each sample a text that changes whenever the bytes change that the source
    delivers in this output, the same in every process; None where that is not known. left_out: the
    samples that the source has not read, because `Source.known` says that this is not necessary;
    they are empty. load: reads these samples, some of those left out, in the calling thread, and
    returns the batch of them in this output. It may be called by several threads. It raises
    SampleDataError for a sample that cannot be read.

    Copies for other processes have no origin.
    """

    identities: Sequence[str | None]
    left_out: Mask | None = None
    load: Callable[[list[int]], Any] | None = None

    def select(self, samples: Sequence[int]) -> SampleOrigin:
        chosen, identities, load = list(samples), self.identities, self.load
        if isinstance(identities, IdentitiesOnDemand):
            identities = identities.select(chosen)
        else:
            identities = [identities[sample] for sample in chosen]
        if self.left_out is None or load is None:
            return SampleOrigin(identities)
        whole = load

        def load_chosen(samples: list[int]) -> Any:
            return whole([chosen[sample] for sample in samples])

        return SampleOrigin(identities, self.left_out[chosen], load_chosen)

    def __reduce__(self) -> Any:
        return type(None), ()
