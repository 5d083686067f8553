"""An entry of a store, what is known of a result that was kept, and the shard with its data."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array


class OpenShard:
    """Data that can be read: of an open file, which is closed when nobody refers to this any more,
    or of memory.

    handle: the descriptor, -1 for memory; memory: uint8, 1-D; None for a file.
    """

    __slots__ = ("handle", "memory")
    open_files: ClassVar[dict[int, None]] = {}
    """The descriptors of those that are open in this process. No thread loses what another one
    counts, and a finalizer takes no lock: setting or removing an item is atomic."""

    def __init__(self, handle: int, memory: Array | None = None) -> None:
        self.handle, self.memory = handle, memory
        if handle >= 0:
            OpenShard.open_files[handle] = None

    def __del__(self) -> None:
        if self.handle >= 0:
            OpenShard.open_files.pop(self.handle, None)  # before another file has its number
            with suppress(OSError):
                os.close(self.handle)


class Shard(ABC):
    """Part of a store. number: of the shard in this process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.opened: OpenShard | None = None
        """Its data, as long as they are kept open."""
        self.used = False
        """Whether an entry was found in it since the store was opened."""

    @abstractmethod
    def open(self) -> OpenShard | None:
        """Its data; None if they cannot be read. Raises OSError where too many files are open."""

    def keep_open(self) -> OpenShard | None:
        """The same for an entry that somebody holds; None also where too many files are open."""
        return self.open()

    def touch(self) -> None:
        """Note that an entry was found in it."""
        self.used = True


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
