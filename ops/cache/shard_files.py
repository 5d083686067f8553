"""The two files of a shard on disk: the data, and the index, which says what is in the data.

Both are append-only and have one writer, which is one process. They begin with a header. Their
names are random and are never used again.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.support.positional import read_into
from gradiva.eager.types.arrays import Array

from .checksums import BLOCK, SUM_BYTES, block_count, damaged_block
from .entry import Entry, OpenShard, Shard
from .packing import unpack

VERSION: Final = 1
HEADER_BYTES: Final = 64
DATA: Final = ".data"
INDEX: Final = ".index"
NAME: Final = re.compile(r"gradiva-([0-9a-f]{32})(\.data|\.index)")
"""The names of our files."""

_MAGIC: Final = b"gradiva cache\n"
_ENDINGS: Final = {DATA: 1, INDEX: 2}
_HEADER: Final = struct.Struct("<14sHHH16sQ16xI")
_FILES: Final = 64
"""Open files that are kept open."""
_TOUCHED: Final = 10.0
"""Seconds from one time that a shard is marked as used to the next."""
_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
_CREATED: Final = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)


class Header(NamedTuple):
    """The header of a file. version: of the format; ending: of the file's name; name: the 16 bytes
    that it has in common with the other file and with both names; created: nanoseconds since the
    epoch of the system."""

    version: int
    ending: str
    name: bytes
    created: int

    def packed(self) -> bytes:
        """The bytes of the file."""
        kind = _ENDINGS[self.ending]
        parts = _MAGIC, self.version, kind, 0, self.name, self.created
        content = _HEADER.pack(*parts, 0)[:-4]
        return content + zlib.crc32(content).to_bytes(4, "little")


def read_header(data: bytes) -> Header | None:
    """The header that a file begins with; None for a file of something else, or a damaged one."""
    if len(data) < HEADER_BYTES:
        return None
    magic, version, kind, _, name, created, found = _HEADER.unpack_from(data)
    if magic != _MAGIC or zlib.crc32(data[: HEADER_BYTES - 4]) != found:
        return None
    for ending, number in _ENDINGS.items():
        if number == kind:
            return Header(version, ending, name, created)
    return None


def open_file(path: Path, owner: int | None) -> int:
    """A descriptor for reading. Raises OSError, and PermissionError for a file that is to be
    trusted to neither this user nor the owner of the folder.

    owner: the user to whom the folder belongs.
    """
    handle = os.open(path, _FLAGS)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if hasattr(os, "getuid"):
            trusted = facts.st_uid in (os.getuid(), owner, 0)
            if not trusted or stat.S_IMODE(facts.st_mode) & 0o022:
                raise PermissionError(errno.EPERM, "other users can write it")
    except BaseException:
        os.close(handle)
        raise
    return handle


def is_ours(path: Path) -> bool:
    """Whether a file with one of our names begins as our files do."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        return os.read(handle, len(_MAGIC)) == _MAGIC
    except OSError:
        return False
    finally:
        os.close(handle)


def make_files(folder: Path) -> tuple[bytes, int, int]:
    """Make the files of a new shard. Returns its name and the descriptors of the data and of the
    index. Raises OSError."""
    name, created = os.urandom(16), time.time_ns()
    stem = f"gradiva-{name.hex()}"
    handles: list[int] = []
    paths: list[Path] = []
    try:
        # The data first: an index without data would be believed.
        for ending in (DATA, INDEX):
            path = folder / (stem + ending)
            handles.append(os.open(path, _CREATED, 0o600))
            paths.append(path)
            header = Header(VERSION, ending, name, created).packed()
            if os.write(handles[-1], header) != len(header):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except BaseException:
        for handle in handles:
            os.close(handle)
        for path in reversed(paths):
            path.unlink(missing_ok=True)
        raise
    return name, handles[0], handles[1]


class FileShard(Shard):
    """A shard on disk, as those see it that read it."""

    def __init__(self, number: int, folder: Path, name: bytes, owner: int | None) -> None:
        super().__init__(number)
        stem = f"gradiva-{name.hex()}"
        self.name, self.index, self.data = name, folder / (stem + INDEX), folder / (stem + DATA)
        self.seed = zlib.crc32(name)
        """The first state of the checksums of records, so that a record of another shard is no
        record of this one."""
        self.kinds: dict[int, int] = {}
        """From the number of a kind in the file to that in the store."""
        self.read_to = HEADER_BYTES
        """Bytes of the index whose records are known."""
        self.seen = 0
        """The size of the index when it was last read."""
        self.version: int | None = None
        """The version of its format; None if it has none of our headers."""
        self.created = 0
        """When it was made, as the header says."""
        self.is_damaged = False
        """Whether the index has a record that is no record, so that what follows is lost."""
        self.is_own = False
        """Whether this process writes it."""
        self.reserved = 0
        """Bytes of the data, with those that this process is about to write."""
        self._owner = owner
        self._touched = float("-inf")

    def open(self) -> OpenShard | None:
        """Its data; None if they are not there. Raises OSError where too many files are open."""
        opened = self.opened
        if opened is not None:
            return opened
        try:
            opened = OpenShard(open_file(self.data, self._owner))
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            return None
        if len(OpenShard.open_files) <= _FILES:
            self.opened = opened
        return opened

    def keep_open(self) -> OpenShard | None:
        """The same for an entry that somebody holds; None also where too many files are open."""
        if self.opened is None and len(OpenShard.open_files) >= _FILES:
            return None
        try:
            return self.open()
        except OSError:
            return None

    def shut(self) -> None:
        """Close the file as soon as nobody reads it."""
        self.opened = None

    def touch(self) -> None:
        """Mark it as used, for processes that look for room."""
        now = time.monotonic()
        self.used = True
        if now - self._touched > _TOUCHED:
            self._touched = now
            with suppress(OSError):  # it can only be read, or another process has made room
                os.utime(self.index)


def read_bytes(handle: int, entry: Entry, target: Array, begin: int, end: int) -> bool:
    """Read the bytes `begin` to `end - 1` of an entry into their places, and some beside them.
    Returns whether they are undamaged. target: has room for the whole entry."""
    if begin == end:
        return True
    if not entry.packed:
        return read_blocks(handle, entry, target, begin, end)
    data = np.empty(entry.stored, np.uint8)
    good = read_blocks(handle, entry, data, 0, entry.stored)
    return good and unpack(data, target, begin, end)


def read_blocks(handle: int, entry: Entry, target: Array, begin: int, end: int) -> bool:
    """Read the blocks that hold the bytes `begin` to `end - 1` of an entry, as they are stored,
    into their places. Returns whether they are undamaged."""
    first, last = begin // BLOCK, block_count(end)
    size = entry.stored
    sums = np.empty(last - first, np.uint64)
    table = entry.offset + size + SUM_BYTES * first
    block = target[first * BLOCK : min(last * BLOCK, size)]
    try:
        good = _fill(handle, memoryview(block.data), entry.offset + first * BLOCK)
        good = good and _fill(handle, memoryview(sums.view(np.uint8).data), table)
    except OSError:
        return False
    return good and damaged_block(target, entry.key, sums, first) < 0


def _fill(handle: int, view: memoryview, offset: int) -> bool:
    """Read into all of a buffer; False at the end of the file. Raises OSError."""
    while view:
        count = read_into(handle, view, offset)
        if not count:
            return False
        view, offset = view[count:], offset + count
    return True
