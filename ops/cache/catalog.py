"""What a store has: the table of records, and the shards and kinds that the records name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from .entry import Entry
from .records import PACKED, RECORD, Kind
from .shard import Shard
from .table import Table

__all__ = ["Catalog"]

_MOST_KINDS: Final = 1 << 16


class Catalog:
    """Entries by key. All methods but `find` are called with the store's lock held."""

    def __init__(self) -> None:
        self.table = Table()
        self.shards: dict[int, Shard] = {}
        self._kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}

    def __len__(self) -> int:
        return len(self.table)

    def find(self, key: bytes) -> tuple[Entry, int] | None:
        """The entry of a key with its flags; the first of its facts are still to be read where it
        is that of a damaged sample."""
        record = self.table.find(key)
        shard = None if record is None else self.shards.get(record.last)
        if record is None or shard is None:
            return None
        kind, packed = self._kinds[record.kind], bool(record.flags & PACKED)
        shape = record.shape(kind)
        size = math.prod(shape) * kind.item_bytes
        if not packed and size != record.stored:
            return None
        shard.touch()
        where = key, shard, shard.keep_open(), record.offset, record.stored, size, packed
        return Entry(kind.dtype, kind.layout, shape, None, record.seconds, *where), record.flags

    def kind_number(self, kind: Kind) -> int | None:
        """The number of a kind in this store; None if there are too many."""
        number = self._numbers.get(kind)
        if number is None:
            number = len(self._kinds)
            if number >= _MOST_KINDS:
                return None
            self._kinds.append(kind)
            self._numbers[kind] = number
        return number

    def add(self, shard: Shard, records: np.ndarray[Any, Any], kinds: Mapping[int, int]) -> None:
        """Add entries of a shard. kinds: from the numbers of kinds in the records to those in this
        store; entries of other kinds are left out."""
        known = np.full(_MOST_KINDS, -1, np.int32)
        known[list(kinds)] = list(kinds.values())
        numbers = known[records["kind"]]
        chosen = np.array(records[numbers >= 0], RECORD)
        chosen["kind"] = numbers[numbers >= 0]
        chosen["last"] = shard.number
        self.table.add(chosen)

    def forget(self, entry: Entry) -> bool:
        """Remove an entry. Returns whether it was there."""
        return self.table.forget(entry.key, entry.shard.number, entry.offset)
