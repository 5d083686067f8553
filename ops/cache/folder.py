"""The shards of a folder, as the files of all processes say it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.support.positional import read_at

from .catalog import Catalog
from .checksums import SUM_BYTES, block_count, damaged_block
from .records import KIND, RECORD, RECORD_BYTES, Kind, good_records, parsed_kind
from .shard_files import (
    DATA,
    HEADER_BYTES,
    INDEX,
    NAME,
    VERSION,
    FileShard,
    is_ours,
    open_file,
    read_header,
)

_LOOK: Final = 1.0
"""Seconds from one look at the files to the next, at least."""
_SHARE: Final = 20.0
"""A look that takes long is repeated after this many times as long."""
_LONGEST_KIND: Final = 1 << 16
_SECOND: Final = 10**9
_SLACK: Final = 60 * _SECOND
"""A time so far in the future is one of another clock."""
_HOUR: Final = 3600 * _SECOND


class FileFacts(NamedTuple):
    """Bytes of a file, and the nanosecond in which it was last changed."""

    size: int
    changed: int


class ShardFiles(NamedTuple):
    """The files in a folder that have our names."""

    path: Path
    indices: dict[bytes, FileFacts]
    datas: dict[bytes, FileFacts]

    @classmethod
    def of(cls, path: Path) -> ShardFiles:
        """Those in a folder; none if the folder is not there. Raises OSError."""
        found = cls(path, {}, {})
        with suppress(FileNotFoundError), os.scandir(path) as files:
            for file in files:
                match = NAME.fullmatch(file.name)
                if match is None:
                    continue
                with suppress(OSError):
                    facts = file.stat(follow_symlinks=False)
                    group = found.indices if match[2] == INDEX else found.datas
                    group[bytes.fromhex(match[1])] = FileFacts(facts.st_size, facts.st_mtime_ns)
        return found

    def remove_leftovers(self, before: int) -> None:
        """Remove files without the other one of their shard, of processes that were killed while
        they made or removed a shard."""
        for group, others, ending in (
            (self.indices, self.datas, INDEX),
            (self.datas, self.indices, DATA),
        ):
            for name, facts in group.items():
                if name not in others and facts.changed < before:
                    remove_file(self.path / f"gradiva-{name.hex()}{ending}")


def remove_file(path: Path) -> bool:
    """Remove a file with one of our names, if it begins as ours do. Returns whether it did so."""
    if not is_ours(path):
        return False
    try:
        path.unlink()
    except OSError:
        return False
    return True


class Folder:
    """The shards of a folder. All methods but `is_due` are called with the store's lock held."""

    def __init__(self, path: Path, catalog: Catalog) -> None:
        self.path = path
        self.owner: int | None = None
        self.held = 0
        """Bytes of all files of ours."""
        self.damaged = 0
        """Entries that are lost because a record, or the text of their kind, is damaged."""
        self.untrusted = 0
        """Shards that other users could have written."""
        self._catalog = catalog
        self._shards: dict[bytes, FileShard] = {}
        self._numbers = 0
        self._due = float("-inf")
        self.opened = time.time_ns()
        """When this process began to use the folder."""

    def make(self) -> None:
        """Make the folder if it is not there. Raises OSError."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            for path in (self.path, *self.path.parents):
                if path.exists() and not path.is_dir():
                    what = "it" if path == self.path else str(path)
                    text = f"{what} is a file and not a folder"
                    raise NotADirectoryError(errno.ENOTDIR, text) from error
            raise

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
        with suppress(FileNotFoundError):
            self.owner = self.path.stat().st_uid
        files = ShardFiles.of(self.path)
        self.held = sum(one.size for one in (*files.indices.values(), *files.datas.values()))
        for name, shard in self._shards.items():
            if shard.is_own and name in files.datas:  # not all of it may be written yet
                written = files.datas[name].size
                self.held += max(shard.reserved - written, 0)
        there = files.indices.keys() & files.datas.keys()
        self.remove([shard for name, shard in self._shards.items() if name not in there])
        for name in there - self._shards.keys():
            self.add(FileShard(self.new_number(), self.path, name, self.owner))
        changed = [
            shard
            for name, shard in self._shards.items()
            if not shard.is_own and files.indices[name].size != shard.seen
        ]
        for shard in changed:
            if not shard.created:
                self._read_header(shard)
        # An entry may have been stored again because the older one is damaged: the newer one comes
        # first.
        for shard in sorted(changed, key=lambda shard: -shard.created):
            self._read_index(shard)

    def new_number(self) -> int:
        """A number for a shard."""
        self._numbers += 1
        return self._numbers

    def add(self, shard: FileShard) -> None:
        """Add a shard that is there."""
        self._shards[shard.name] = self._catalog.shards[shard.number] = shard

    def remove(self, shards: Iterable[FileShard]) -> None:
        """Forget some shards, whose files are gone."""
        numbers = set()
        for shard in shards:
            numbers.add(shard.number)
            del self._shards[shard.name], self._catalog.shards[shard.number]
            shard.shut()
        if numbers:
            self._catalog.table.forget_shards(numbers)

    def shards(self) -> Iterator[FileShard]:
        """All shards."""
        return iter(list(self._shards.values()))

    def make_room(self, needed: int, capacity: int) -> bool:
        """Remove shards that were not used since this process opened the folder, the one that was
        not used for the longest time first. Returns whether there is room for so many bytes."""
        with suppress(OSError):
            now, files = time.time_ns(), ShardFiles.of(self.path)
            files.remove_leftovers(now - _HOUR)
            self._look()
            unused = []
            for shard in self._shards.values():
                if shard.used or shard.is_own or not is_ours(shard.index):
                    continue
                changed = files.indices[shard.name].changed
                if changed > now + _SLACK:
                    changed = 0
                elif changed % _SECOND == 0:  # the file system may know no parts of a second
                    changed += _SECOND - 1
                if changed < self.opened:
                    unused.append((changed, shard.number, shard))
            for _, _, shard in sorted(unused):
                if self.held + needed <= capacity:
                    break
                # The index first: without one, data are not found.
                for path, facts in ((shard.index, files.indices), (shard.data, files.datas)):
                    path.unlink(missing_ok=True)
                    self.held -= facts[shard.name].size
                self.remove([shard])
        return self.held + needed <= capacity

    def _read_header(self, shard: FileShard) -> None:
        """Learn when a shard was made; a file of another format has nothing to be read."""
        try:
            handle = open_file(shard.index, self.owner)
        except PermissionError:
            self.untrusted += 1
            return
        except OSError:
            return
        try:
            shard.seen = os.fstat(handle).st_size
            header = read_header(read_at(handle, HEADER_BYTES, 0))
        except OSError:
            return
        finally:
            os.close(handle)
        if header is not None and (header.ending, header.name) == (INDEX, shard.name):
            shard.version = header.version
            shard.created = header.created if header.version == VERSION else 0

    def _read_index(self, shard: FileShard) -> None:
        """Add the records behind those that are known."""
        if not shard.created:
            return
        try:
            handle = open_file(shard.index, self.owner)
        except OSError:
            return
        try:
            seen = os.fstat(handle).st_size
            data = read_at(handle, max(seen - shard.read_to, 0), shard.read_to)
            size = shard.data.stat().st_size
        except OSError:
            return
        finally:
            os.close(handle)
        shard.seen = seen
        count = good_records(data, shard.seed)
        if count < len(data) // RECORD_BYTES and not shard.is_damaged:
            shard.is_damaged = True
            self.damaged += 1
        shard.read_to += count * RECORD_BYTES
        records = np.frombuffer(data, RECORD, count)
        # Data are written before their records: what is not there was cut off.
        begins = np.minimum(records["offset"], size)
        whole = (records["offset"] <= size) & (records["stored"] <= np.uint64(size) - begins)
        whole |= records["stored"] == 0  # an empty sample, which may begin behind the end
        self.damaged += count - int(whole.sum())
        records = records[whole]
        is_kind = records["flags"] & KIND != 0
        for record in records[is_kind]:
            kind = self._kind(shard, int(record["offset"]), int(record["stored"]))
            number = None if kind is None else self._catalog.kind_number(kind)
            if number is not None:
                shard.kinds[int(record["kind"])] = number
        self.damaged += self._catalog.add(shard, records[~is_kind], shard.kinds)

    @staticmethod
    def _kind(shard: FileShard, offset: int, stored: int) -> Kind | None:
        """A kind that is stored in a shard; None where its text is damaged."""
        if not 0 < stored <= _LONGEST_KIND:
            return None
        whole = stored + SUM_BYTES * block_count(stored)
        try:
            opened = shard.open()
            data = b"" if opened is None else read_at(opened.handle, whole, offset)
        except (OSError, OverflowError):
            return None
        if len(data) != whole:
            return None
        content = np.frombuffer(data, np.uint8, stored)
        sums = np.frombuffer(data[stored:], "<u8").astype(np.uint64)
        if damaged_block(content, shard.name, sums, 0) >= 0:
            return None
        return parsed_kind(content.tobytes())
