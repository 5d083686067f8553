"""What targets of some of the samples of a batch hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


class Part(Mapping[str, Any]):
    """Values by name, of which some samples are taken when they are read.

    whole: the values of all samples. take: makes that part of what belongs to all.
    """

    def __init__(self, whole: Mapping[str, Any], take: Callable[[Any], Any]) -> None:
        self.whole = whole
        self._take = take
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._take(self.whole[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def whole_of(fields: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The values of all samples, if these are the unchanged parts of one batch."""
    first = fields[0]
    if not isinstance(first, Part):
        return None
    same = all(isinstance(one, Part) and one.whole is first.whole for one in fields)
    return first.whole if same else None
