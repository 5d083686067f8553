"""The records of an LMDB file: where the value of each key lies, in the order of the keys.

The file is pages of one size. A page begins with its number (uint64), two bytes, flags (uint16),
and two places (uint16) between which it is free; the first one is where its list of nodes (uint16
each) ends. Pages 0 and 1 say where the tree begins; the one with the larger transaction counts. A
node of a branch is the number of a page (48 bits) and the size of its key; a node of a leaf the
size of its value (uint32), flags, the size of its key, the key, and the value or the number of the
first of the pages that hold it. (OpenLDAP, `mdb.c`.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import Containers, Places, RecordTable, check_not_empty
from gradiva.ops.readers.core.scan_cache import Scan, kept_scan
from gradiva.ops.storage.handles import Handle, pread
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url, join, local_path

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF = 1, 2
_BIG, _OTHERS = 1, 6
"""Flags of a node: its value has pages of its own; it is a database, or several values."""
_HEADER = 16
_PAGE = struct.Struct("<QHHHH")
_NODE = struct.Struct("<HHHH")
_META = struct.Struct("<II")
_NO_PAGE = (1 << 64) - 1
_DEEPEST = 32


class _MetaPage(NamedTuple):
    """What page 0 or 1 says."""

    transaction: int
    page_size: int
    root: int


def _damaged(what: str, page: int) -> op.SampleDataError:
    return op.SampleDataError(f"a damaged LMDB file: {what} (page {page})")


def _meta(handle: Handle, place: int) -> _MetaPage | None:
    content = pread(handle, 152, place)
    if len(content) < 152 or _META.unpack_from(content, 16) != (_MAGIC, _VERSION):
        return None
    (page_size,) = struct.unpack_from("<I", content, 40)
    (root,) = struct.unpack_from("<Q", content, 128)
    (transaction,) = struct.unpack_from("<Q", content, 144)
    good = 256 <= page_size <= 1 << 16 and page_size & (page_size - 1) == 0
    return _MetaPage(transaction, page_size, root) if good else None


class _PageWalk:
    """Walks over the pages of a file."""

    def __init__(self, handle: Handle, size: int) -> None:
        self._handle, self._size = handle, size
        first = _meta(handle, 0)
        # Without the first one, the second is looked for at the pages' usual size.
        second = _meta(handle, first.page_size if first else 4096)
        metas = [meta for meta in (first, second) if meta is not None]
        if not metas:
            raise op.SampleDataError("this is no LMDB file: its first pages do not say so")
        self._meta = max(metas)
        self._seen: set[int] = set()
        self.found: list[tuple[int, int, int, int]] = []
        self.keys: list[bytes] = []
        self._keys_size = 0

    def walk(self) -> None:
        """Note all records. Raises SampleDataError."""
        if self._meta.root == _NO_PAGE:
            return
        stack = [self._children(self._meta.root)]
        while stack:
            page = next(stack[-1], None)
            if page is None:
                stack.pop()
                continue
            if len(stack) == _DEEPEST:
                raise _damaged("its tree is too deep", page)
            stack.append(self._children(page))

    def _children(self, page: int) -> Iterator[int]:
        """The pages below a branch; of a leaf the records are noted."""
        size = self._meta.page_size
        if page in self._seen or not 2 <= page < self._size // size:
            raise _damaged("its tree leads to a page that it cannot", page)
        self._seen.add(page)
        content = pread(self._handle, size, page * size)
        if len(content) < size:
            raise _damaged("it ends early", page)
        _, _, flags, lower, _ = _PAGE.unpack_from(content)
        kind = flags & ~0x10
        if kind not in (_BRANCH, _LEAF) or not _HEADER <= lower <= size or lower % 2:
            raise _damaged("a page that is no part of its tree", page)
        nodes = struct.unpack_from(f"<{(lower - _HEADER) // 2}H", content, _HEADER)
        if not all(lower <= node <= size - _NODE.size for node in nodes):
            raise _damaged("a record outside of its page", page)
        if kind == _BRANCH:
            return iter([self._child(content, node) for node in nodes])
        for node in nodes:
            self._note(content, node, page)
        return iter(())

    def _child(self, content: bytes, node: int) -> int:
        low, middle, high, _ = _NODE.unpack_from(content, node)
        return int(low | middle << 16 | high << 32)

    def _note(self, content: bytes, node: int, page: int) -> None:
        low, high, flags, key_size = _NODE.unpack_from(content, node)
        size, begin = low | high << 16, node + _NODE.size + key_size
        if flags & _OTHERS:
            raise _damaged("databases in it, and several values of a key, are not read", page)
        if flags & _BIG:
            if begin + 8 > len(content):
                raise _damaged("a record outside of its page", page)
            first = int.from_bytes(content[begin : begin + 8], "little")
            place = first * self._meta.page_size + _HEADER
            last = self._size
        else:
            place = page * self._meta.page_size + begin
            last = (page + 1) * self._meta.page_size
        if place + size > last:
            raise _damaged("a record longer than the file", page)
        key = content[node + _NODE.size : begin]
        self.found.append((place, size, self._keys_size, self._keys_size + key_size))
        self._keys_size += key_size
        self.keys.append(key)


def scan_tree(handle: Handle, size: int) -> Scan:
    """Offset and size of each value, begin and end of its key in the text behind them. Raises
    SampleDataError."""
    tree = _PageWalk(handle, size)
    tree.walk()
    return np.array(tree.found, np.int64).reshape(-1, 4), b"".join(tree.keys)


class Database(NamedTuple):
    """The records of LMDB files, one file after the other. given: the files, as they were named."""

    given: list[str]
    containers: Containers
    places: Places
    keys: list[bytes]


class DatabaseTable(RecordTable):
    """The records of databases."""

    def __init__(self, database: Database) -> None:
        super().__init__(database.containers, database.places)
        self._database = database

    def names(self, indices: op.Int64Array) -> list[str]:
        given, keys, files = self._database.given, self._database.keys, self._places.files
        return [f"{given[files[index]]} at key {_text(keys[index])}" for index in indices.tolist()]


def _text(key: bytes) -> str:
    return key.decode("utf-8", "backslashreplace")


def open_database(paths: tuple[str, ...] | list[str], storage: Storage | None = None) -> Database:
    """The records of files, or of folders with a `data.mdb`. Raises OperatorValueError, and
    SampleDataError with the file."""
    files = [_file_of(local_path(path)) for path in paths]
    containers = Containers(files, "path", storage)
    scans = [kept_scan("lmdb 1", path, 4, scan_tree, storage) for path in containers.paths]
    check_not_empty(sum(len(rows) for rows, _ in scans), containers, "path")
    keys = [text[begin:end] for rows, text in scans for begin, end in rows[:, 2:].tolist()]
    return Database([*paths], containers, Places.join([rows for rows, _ in scans]), keys)


def _file_of(path: str) -> str:
    """The file of a database. On another machine, what does not end as a file's name does is a
    folder."""
    folder = not path.endswith((".mdb", ".lmdb")) if is_url(path) else os.path.isdir(path)
    return join(path, "data.mdb") if folder else path
