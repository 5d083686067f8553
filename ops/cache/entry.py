"""An entry of a store: what is known of a result that was kept, and where its data are."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array

from .shard import OpenShard, Shard


class Entry(NamedTuple):
    """A result that a store has. Holding an entry keeps its data readable, also after the store
    has removed them, as long as there are not too many open files.

    dtype: NumPy's name of it, as it was stored; layout, shape: of the sample; failure: the facts of
    a sample that is damaged, which has no data; seconds: how long it took to compute it.

    The rest is for stores: the key; the shard, and what keeps it open; where the data begin in it,
    and how many bytes they have, stored and unpacked; whether they are packed.
    """

    dtype: str
    layout: str
    shape: tuple[int, ...]
    failure: dict[str, Any] | None
    seconds: float
    key: bytes
    shard: Shard
    opened: OpenShard | None
    offset: int
    stored: int
    size: int
    packed: bool

    def rows_of(self, first: int, last: int | None) -> tuple[int, int]:
        """The bytes of the rows `first` to `last - 1` of the first axis. Raises ValueError."""
        rows = self.shape[0] if self.shape else 1
        last = rows if last is None else last
        if not 0 <= first <= last <= rows:
            raise ValueError(f"rows {first} to {last} of {rows}")
        each = self.size // rows if rows else 0
        return first * each, last * each

    def bytes_of(self, out: np.ndarray[Any, Any]) -> Array:
        """The bytes of an array that takes the sample. Raises ValueError for one that cannot."""
        if not out.flags.c_contiguous or out.nbytes != self.size:
            raise ValueError(f"expected a contiguous array of {self.size} bytes")
        return out.reshape(-1).view(np.uint8)

    def as_failure(self, text: bytes) -> Entry | None:
        """The entry of a damaged sample, whose data are its facts; None if they are no facts."""
        try:
            facts = json.loads(text)
        except ValueError:
            return None
        if not isinstance(facts, dict):
            return None
        return self._replace(dtype="", layout="", shape=(), failure=facts)


class _Elsewhere(Shard):
    """Stands for memory that belongs to no store."""

    def open(self) -> OpenShard | None:
        return None


_elsewhere = _Elsewhere(-1)


def in_memory(array: Array) -> Entry:
    """An array as an entry that is in no store, so that it is read together with others."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    opened, size = OpenShard(-1, data), len(data)
    facts = array.dtype.name, "", array.shape, None, 0.0, bytes(16)
    return Entry(*facts, _elsewhere, opened, 0, size, size, False)
