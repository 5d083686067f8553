"""The shards of a folder, as the files of all processes say it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager.support.positional import read_at

from .catalog import Catalog
from .checksums import SUM_BYTES, block_count, damaged_block
from .records import KIND, RECORD, RECORD_BYTES, Kind, good_records, parsed_kind
from .shard_files import HEADER_BYTES, INDEX, NAME, VERSION, FileShard, open_file, read_header

__all__ = ["Folder"]

_LOOK: Final = 1.0
"""Seconds from one look at the files to the next, at least."""
_SHARE: Final = 20.0
"""A look that takes long is repeated after this many times as long."""
_LONGEST_KIND: Final = 1 << 16


class Folder:
    """The shards of a folder. All methods but `is_due` are called with the store's lock held."""

    def __init__(self, path: Path, catalog: Catalog) -> None:
        self.path = path
        self.owner: int | None = None
        self.held = 0
        """Bytes of all files of ours."""
        self.untrusted = 0
        """Shards that other users could have written."""
        self._catalog = catalog
        self._shards: dict[bytes, FileShard] = {}
        self._next = 0
        self._due = float("-inf")

    @property
    def is_due(self) -> bool:
        """Whether it is time to look at the files again."""
        return time.monotonic() >= self._due

    def look(self) -> None:
        """Add what other processes have published, and remove the shards that are gone. Raises
        OSError where the folder cannot be read."""
        began = time.monotonic()
        try:
            self._look()
        finally:
            ended = time.monotonic()
            self._due = ended + max(_LOOK, _SHARE * (ended - began))

    def _look(self) -> None:
        self.owner = self.path.stat().st_uid
        held, found = 0, dict[bytes, int]()
        with os.scandir(self.path) as files:
            for file in files:
                match = NAME.fullmatch(file.name)
                if match is None:
                    continue
                with suppress(OSError):
                    size = file.stat(follow_symlinks=False).st_size
                    held += size
                    if match[2] == INDEX:
                        found[bytes.fromhex(match[1])] = size
        self.held = held
        gone = [shard for name, shard in self._shards.items() if name not in found]
        self.remove(gone)
        for name, size in found.items():
            shard = self._shards.get(name)
            if shard is None:
                shard = self.added(FileShard(self._number(), self.path, name, self.owner))
            if size != shard.seen and not shard.is_own:
                self._read_index(shard)

    def _number(self) -> int:
        self._next += 1
        return self._next

    def added(self, shard: FileShard) -> FileShard:
        """Add a shard that is there."""
        self._shards[shard.name] = self._catalog.shards[shard.number] = shard
        return shard

    def new_number(self) -> int:
        """A number for a shard that is being made."""
        return self._number()

    def remove(self, shards: list[FileShard]) -> None:
        """Forget some shards, whose files are gone."""
        if shards:
            self._catalog.table.forget_shards({shard.number for shard in shards})
        for shard in shards:
            del self._shards[shard.name], self._catalog.shards[shard.number]
            shard.shut()

    def shards(self) -> Iterator[FileShard]:
        """All shards."""
        return iter(list(self._shards.values()))

    def _read_index(self, shard: FileShard) -> None:
        """Add the records behind those that are known."""
        try:
            handle = open_file(shard.index, self.owner)
        except PermissionError:
            self.untrusted += shard.seen == 0
            shard.seen = -1
            return
        except OSError:
            return
        try:
            if shard.read_to == HEADER_BYTES:
                header = read_header(read_at(handle, HEADER_BYTES, 0))
                good = header is not None and (header.version, header.ending) == (VERSION, INDEX)
                if not good or header is None or header.name != shard.name:
                    shard.seen = os.fstat(handle).st_size
                    return
            shard.seen = os.fstat(handle).st_size
            data = read_at(handle, max(shard.seen - shard.read_to, 0), shard.read_to)
        except OSError:
            return
        finally:
            os.close(handle)
        count = good_records(data, shard.seed)
        shard.read_to += count * RECORD_BYTES
        records = np.frombuffer(data, RECORD, count)
        is_kind = records["flags"] & KIND != 0
        for record in records[is_kind]:
            kind = self._kind(shard, int(record["offset"]), int(record["stored"]))
            number = None if kind is None else self._catalog.kind_number(kind)
            if number is not None:
                shard.kinds[int(record["kind"])] = number
        self._catalog.add(shard, records[~is_kind], shard.kinds)

    @staticmethod
    def _kind(shard: FileShard, offset: int, stored: int) -> Kind | None:
        """A kind that is stored in a shard; None where its text is damaged."""
        if not 0 < stored <= _LONGEST_KIND:
            return None
        whole = stored + SUM_BYTES * block_count(stored)
        try:
            opened = shard.open()
            data = b"" if opened is None else read_at(opened.handle, whole, offset)
        except OSError:
            return None
        if len(data) != whole:
            return None
        content = np.frombuffer(data, np.uint8, stored)
        sums = np.frombuffer(data[stored:], "<u8").astype(np.uint64)
        if damaged_block(content, shard.name, sums, 0) >= 0:
            return None
        return parsed_kind(content.tobytes())
