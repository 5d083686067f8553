"""Shards: where the data of entries are, in a file or in memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import ClassVar

from gradiva.eager.types.arrays import Array


class OpenShard:
    """Data that can be read: of an open file, which is closed when nobody refers to this any more,
    or of memory.

    handle: the descriptor, -1 for memory; memory: uint8, 1-D; None for a file.
    """

    __slots__ = ("handle", "memory")
    open_files: ClassVar[int] = 0
    """How many are open in this process, about."""

    def __init__(self, handle: int, memory: Array | None = None) -> None:
        self.handle, self.memory = handle, memory
        if handle >= 0:
            OpenShard.open_files += 1

    def __del__(self) -> None:
        if self.handle >= 0:
            OpenShard.open_files -= 1
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
