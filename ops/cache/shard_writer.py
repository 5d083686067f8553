"""Writing a shard: data first, then the records that publish them."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager.support.positional import write_at
from gradiva.eager.types.arrays import Array

from .catalog import Catalog
from .checksums import BLOCK, SUM_BYTES, block_count, checksums
from .records import KIND, Kind, NewRecord, made_records
from .shard_files import HEADER_BYTES, FileShard, make_files

MOST_KINDS: Final = 1 << 15
"""Kinds in a shard."""
ALIGNED: Final = 64


def needed_bytes(stored: int) -> int:
    """The bytes that an entry takes in a shard, with its checksums."""
    return -(-(stored + SUM_BYTES * block_count(stored)) // ALIGNED) * ALIGNED


class ShardWriter:
    """The one writer of a shard. All methods but `write` are called with the store's lock held."""

    def __init__(self, folder: Path, number: int, owner: int | None) -> None:
        """Raises OSError."""
        name, self._data, self._index = make_files(folder)
        self.shard = FileShard(number, folder, name, owner)
        self.shard.is_own = self.shard.used = True
        self.end = self._index_end = HEADER_BYTES
        """Where the next entry begins, and the next record."""
        self._kinds: dict[Kind, int] = {}

    def __del__(self) -> None:
        for handle in (getattr(self, "_data", None), getattr(self, "_index", None)):
            if handle is not None:
                with suppress(OSError):
                    os.close(handle)

    @property
    def size(self) -> int:
        """Bytes of both files."""
        return self.end + self._index_end

    @property
    def is_there(self) -> bool:
        """Whether other processes can still find it."""
        with suppress(OSError):
            return os.fstat(self._index).st_nlink > 0 and os.fstat(self._data).st_nlink > 0
        return False

    def reserve(self, taken: int) -> int:
        """A place that takes so many bytes, with checksums."""
        offset = self.end
        self.end += taken
        self.shard.reserved = self.end
        return offset

    @property
    def handle(self) -> int:
        """The descriptor of the file of data."""
        return self._data

    def write(self, offset: int, taken: int, key: bytes, data: Array) -> None:
        """Write an entry at its place. Any thread may do so. Raises OSError."""
        sums = checksums(key, data)
        padding = bytes(taken - len(data) - sums.nbytes)
        write_at(self._data, [data, sums, padding], offset)

    def publish(self, records: bytes) -> None:
        """Add records to the index: then other processes find the entries. Raises OSError."""
        try:
            write_at(self._index, [records], self._index_end)
        except OSError:
            # Half a record would be in front of all that follow.
            os.ftruncate(self._index, self._index_end)
            raise
        self._index_end += len(records)

    def kind(self, kind: Kind) -> int | None:
        """The number of a kind in this shard, which is stored if it is new; None if there are too
        many. Raises OSError."""
        found = self._kinds.get(kind)
        if found is not None:
            return found
        number = len(self._kinds)
        if number >= MOST_KINDS:
            return None
        text = np.frombuffer(kind.text(), np.uint8)
        if len(text) > BLOCK:
            raise OSError(errno.EINVAL, "a shape of so many axes cannot be stored")
        key, taken = self.shard.name, needed_bytes(len(text))
        offset = self.reserve(taken)
        self.write(offset, taken, key, text)
        record = NewRecord(key, offset, len(text), 0.0, number, KIND, (len(text),))
        self.publish(made_records([record], self.shard.seed))
        self._kinds[kind] = number
        return number

    def kinds(self, catalog: Catalog) -> dict[int, int]:
        """From the numbers of kinds in this shard to those in the store."""
        known = self.shard.kinds
        for kind, number in self._kinds.items():
            if number not in known:
                found = catalog.kind_number(kind)
                if found is not None:
                    known[number] = found
        return known
