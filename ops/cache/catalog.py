"""What a store has: the table of records, and the shards and kinds that the records name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from .entry import Entry, Shard
from .packing import GROWTH, can_pack
from .records import EXTENTS, FLAGS, GONE, PACKED, RECORD, RECORD_BYTES, Kind, unpack_record
from .table import Table

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
        """The entry of a key, with its flags. The facts of a damaged sample are its data, which are
        still to be read."""
        record = self.table.find(key)
        return None if record is None else self._entry(key, record)

    def entries(self) -> Iterator[Entry]:
        """All entries that are there. Those that are damaged samples have their facts as data."""
        for records in self.table.records():
            data = records.tobytes()
            for place in range(0, len(data), RECORD_BYTES):
                record = unpack_record(data, place)
                found = None if record[FLAGS] & GONE else self._entry(record[0], record)
                if found is not None:
                    yield found[0]

    def _entry(self, key: bytes, record: tuple[Any, ...]) -> tuple[Entry, int] | None:
        _, offset, stored, seconds, number, flags, *_, last = record
        shard = self.shards.get(last)
        if shard is None:
            return None
        dtype, item_bytes, layout, ndim, shape = self._kinds[number]
        if shape is None:
            shape = record[EXTENTS : EXTENTS + ndim]
        size, packed = math.prod(shape) * item_bytes, bool(flags & PACKED)
        if size > GROWTH * stored if packed else size != stored:
            return None
        opened = shard.opened or shard.keep_open()
        where = key, shard, opened, offset, stored, size, packed
        return Entry(dtype, layout, shape, None, seconds, *where), flags

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

    def add(self, shard: Shard, records: np.ndarray[Any, Any], kinds: Mapping[int, int]) -> int:
        """Add entries of a shard. kinds: from the numbers of kinds in the records to those in this
        store; entries of other kinds are left out. Returns how many these are. Entries that nothing
        here can unpack are left out, too."""
        most = max(kinds, default=-1) + 1
        known = np.full(most + 1, -1, np.int32)
        known[list(kinds)] = list(kinds.values())
        numbers = known[np.minimum(records["kind"].astype(np.int64), most)]
        known_kind = numbers >= 0
        unknown = GONE if can_pack() else GONE | PACKED
        usable = known_kind & (records["flags"] & unknown == 0)
        chosen = np.array(records[usable], RECORD)
        chosen["kind"] = numbers[usable]
        chosen["last"] = shard.number
        self.table.add(chosen)
        return len(records) - int(known_kind.sum())

    def forget(self, entry: Entry) -> bool:
        """Remove an entry. Returns whether it was there."""
        return self.table.forget(entry.key, entry.shard.number, entry.offset)
