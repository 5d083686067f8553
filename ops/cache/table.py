"""The entries of a store, by key: a hash table over records in plain memory.

An entry takes 64 bytes for its record and 8 to 24 in the table: a dictionary of objects would take
ten times as much for the millions of samples that a data set has. Looking up takes no lock: a
record is there before the table refers to it, and what is replaced is replaced as a whole.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Int64Array

from .records import FLAGS, GONE, RECORD, RECORD_BYTES, unpack_record

_BITS: Final = 14
_ROWS: Final = 1 << _BITS
"""Records in a segment of memory."""
_LEAST: Final = 1 << 10
_HALVES: Final = struct.Struct("<QQ")
_FLAGS: Final = RECORD.fields["flags"][1] if RECORD.fields else 0


class _State(NamedTuple):
    """slots: the number of a record, or -1; segments: of `_ROWS` records each."""

    slots: memoryview
    mask: int
    segments: list[bytearray]


class Table:
    """The records by key. All methods but `find` are called with the store's lock held."""

    def __init__(self) -> None:
        self._rows = self._gone = 0
        self._state = _State(_empty(_LEAST), _LEAST - 1, [])

    def __len__(self) -> int:
        return self._rows - self._gone

    def find(self, key: bytes) -> tuple[Any, ...] | None:
        """The parts of the record of a key, in the order of `RECORD`; of several, of the one that
        was added first."""
        slots, mask, segments = self._state
        low, high = _HALVES.unpack(key)
        slot = (low ^ high) & mask
        while (row := slots[slot]) >= 0:
            segment, place = segments[row >> _BITS], (row & (_ROWS - 1)) * RECORD_BYTES
            if segment.startswith(key, place) and not segment[place + _FLAGS + 1] & (GONE >> 8):
                return unpack_record(segment, place)
            slot = (slot + 1) & mask
        return None

    def add(self, records: np.ndarray[Any, Any]) -> None:
        """Add records, whose `last` is the number of their shard."""
        first, at = self._rows, 0
        segments = self._state.segments
        while at < len(records):
            place = self._rows & (_ROWS - 1)
            if not place:
                segments.append(bytearray(_ROWS * RECORD_BYTES))
            part = records[at : at + _ROWS - place]
            begin = place * RECORD_BYTES
            segments[-1][begin : begin + part.nbytes] = part.tobytes()
            at += len(part)
            self._rows += len(part)
        if 2 * self._rows > self._state.mask:
            self._grow()
        else:
            self._insert(self._state, np.arange(first, self._rows), records)

    def forget(self, key: bytes, shard: int, offset: int) -> bool:
        """Remove one entry. Returns whether it was there."""
        slots, mask, segments = self._state
        low, high = _HALVES.unpack(key)
        slot = (low ^ high) & mask
        while (row := slots[slot]) >= 0:
            segment, place = segments[row >> _BITS], (row & (_ROWS - 1)) * RECORD_BYTES
            found = unpack_record(segment, place)
            if (found[0], found[-1], found[1]) == (key, shard, offset):
                if found[FLAGS] & GONE:
                    return False
                segment[place + _FLAGS + 1] |= GONE >> 8
                self._gone += 1
                return True
            slot = (slot + 1) & mask
        return False

    def forget_shards(self, shards: set[int]) -> None:
        """Remove all entries of some shards."""
        for records in self.records():
            chosen = np.isin(records["last"], list(shards)) & (records["flags"] & GONE == 0)
            records["flags"][chosen] |= GONE
            self._gone += int(chosen.sum())
        if 2 * self._gone > self._rows:
            self._grow()

    def records(self) -> list[np.ndarray[Any, Any]]:
        """All records, those that are gone too, in the order in which they were added."""
        return [
            np.frombuffer(segment, RECORD)[: self._rows - number * _ROWS]
            for number, segment in enumerate(self._state.segments)
        ]

    def _grow(self) -> None:
        """Make a larger table, without what is gone."""
        parts = [records[records["flags"] & GONE == 0] for records in self.records()]
        count = sum(map(len, parts))
        size = _LEAST
        while size < 3 * count:
            size *= 2
        segments = self._state.segments
        if self._gone:
            segments = []
            whole = np.concatenate(parts) if parts else np.empty(0, RECORD)
            for begin in range(0, count, _ROWS):
                data = whole[begin : begin + _ROWS].tobytes()
                segments.append(bytearray(data) + bytearray(_ROWS * RECORD_BYTES - len(data)))
        self._rows, self._gone = count, 0
        state = _State(_empty(size), size - 1, segments)
        first = 0
        for part in parts:
            self._insert(state, np.arange(first, first + len(part)), part)
            first += len(part)
        self._state = state

    @staticmethod
    def _insert(state: _State, rows: Int64Array, records: np.ndarray[Any, Any]) -> None:
        """Have the table refer to records."""
        low, high = records["key"].T
        places = ((low ^ high) & np.uint64(state.mask)).astype(np.int64)
        rows, slots = rows.astype(np.int32), np.asarray(state.slots)
        while len(rows):
            free = slots[places] < 0
            # Where several want a slot, the first of them gets it, which is written last.
            slots[places[free][::-1]] = rows[free][::-1]
            waiting = slots[places] != rows
            rows, places = rows[waiting], (places[waiting] + 1) & state.mask


def _empty(size: int) -> memoryview:
    return memoryview(np.full(size, -1, np.int32).data)
