"""Files that are open for reading at any position: a file descriptor, or a remote object."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Final, TypeAlias

from gradiva.eager.support.local_files import open_regular
from gradiva.eager.support.positional import read_at, read_into
from gradiva.eager.types.arrays import Array

from .errors import StorageError
from .facts import ObjectFacts
from .ranges import LARGEST, Content, Want, fill
from .storage import Storage
from .urls import is_url, local_path

_FIRST: Final = 1 << 18
"""The number of bytes that are read at once if the access pattern is unknown."""


class RemoteFile:
    """A remote object, read at any position. For sequential reads it reads ahead, in increasing
    steps."""

    def __init__(self, url: str, storage: Storage) -> None:
        self._url, self._storage = url, storage.beside()
        (facts,) = storage.facts([url])
        if isinstance(facts, StorageError):
            raise facts
        self.facts: ObjectFacts = facts
        self._data, self._begin = b"", 0
        self._step, self._turn = _FIRST, 0

    def read(self, count: int, offset: int) -> bytes:
        """Like `os.pread`: fewer bytes at the end."""
        end = min(offset + count, self.facts.size)
        last = self._begin + len(self._data)
        if not (self._begin <= offset and end <= last) and offset < end:
            follows = self._begin <= offset <= last + self._step and bool(self._data)
            self._step = min(2 * self._step, LARGEST) if follows else _FIRST
            self._data = self._load(offset, max(end, offset + self._step), follows)
            self._begin = offset
        return self._data[max(offset - self._begin, 0) : max(end - self._begin, 0)]

    def _load(self, begin: int, end: int, follows: bool) -> bytes:
        storage, size = self._storage, self.facts.size
        end = min(end, size)
        storage.plan(self._turn + 1)
        if follows and end < size:
            storage.expect([Want(self._url, end, min(end + self._step, size))])
        storage.fetch()
        (found,) = storage.take([Want(self._url, begin, end)])
        self._turn += 1
        storage.passed(self._turn)
        if isinstance(found, StorageError):
            raise found
        return b"".join(found)

    def fill(self, offset: int, target: Array) -> None:
        """Fill an array of bytes. Raises OSError."""
        if offset + target.nbytes > self.facts.size:
            raise OSError(f"it ends at byte {self.facts.size}")
        if target.nbytes <= self._step:
            fill(target, [memoryview(self.read(target.nbytes, offset))])
            return
        (found,) = self._storage.take([Want(self._url, offset, offset + target.nbytes)])
        if isinstance(found, StorageError):
            raise found
        fill(target, found)

    def close(self) -> None:
        self._storage.forget()


Handle: TypeAlias = "int | RemoteFile"


def open_handle(path: str, storage: Storage | None) -> Handle:
    """Open a file. Raises OSError. storage: for URLs."""
    if storage is not None and is_url(path):
        return RemoteFile(path, storage)
    return open_regular(local_path(path))


def close_handle(handle: Handle) -> None:
    if isinstance(handle, int):
        os.close(handle)
    else:
        handle.close()


def pread(handle: Handle, count: int, offset: int) -> bytes:
    """The bytes from this position on, fewer at the end of the file. Raises OSError."""
    if isinstance(handle, int):
        return read_at(handle, count, offset)
    return handle.read(count, offset)


def read_fully(handle: Handle, offset: int, target: Array) -> None:
    """Fill an array with the bytes from this position on. Raises OSError if the file ends
    earlier."""
    if not isinstance(handle, int):
        handle.fill(offset, target)
        return
    view = memoryview(target.data).cast("B") if target.size else memoryview(b"")
    done = 0
    while done < len(view):
        count = read_into(handle, view[done:], offset + done)
        if count == 0:
            raise OSError(f"it ends at byte {offset + done}")
        done += count


class LoadedFile(RemoteFile):
    """An object whose bytes are all in memory."""

    def __init__(self, url: str, storage: Storage, content: Content) -> None:
        self._url, self._storage = url, storage
        self._data, self._begin = b"".join(content), 0
        self.facts = ObjectFacts(len(self._data), "")
        self._step, self._turn = LARGEST, 0

    def fill(self, offset: int, target: Array) -> None:
        end = offset + target.nbytes
        if end > len(self._data):
            raise OSError(f"it ends at byte {len(self._data)}")
        fill(target, [memoryview(self._data)[offset:end]])

    def close(self) -> None:
        pass


class PartlyLoadedFile(RemoteFile):
    """An object of which some ranges are in memory. Other ranges are read as usual, by one thread
    at a time."""

    def __init__(self, url: str, storage: Storage) -> None:
        super().__init__(url, storage)
        self._held: list[tuple[int, memoryview]] = []
        self._lock = threading.RLock()  # used by `fill`

    def hold(self, begin: int, content: Content) -> None:
        """These bytes are in memory."""
        self._held.append((begin, memoryview(b"".join(content))))

    def _found(self, count: int, offset: int) -> memoryview | None:
        for begin, data in self._held:
            if begin <= offset and offset + count <= begin + len(data):
                return data[offset - begin : offset - begin + count]
        return None

    def read(self, count: int, offset: int) -> bytes:
        found = self._found(min(count, self.facts.size - offset), offset)
        if found is not None:
            return bytes(found)
        with self._lock:
            return super().read(count, offset)

    def fill(self, offset: int, target: Array) -> None:
        found = self._found(target.nbytes, offset)
        if found is not None:
            fill(target, [found])
            return
        with self._lock:
            super().fill(offset, target)


def load_files(paths: Sequence[str], storage: Storage | None) -> dict[str, LoadedFile | OSError]:
    """The remote files among these, fetched at once and as a whole."""
    if storage is None:
        return {}
    urls = [path for path in dict.fromkeys(paths) if is_url(path)]
    contents = storage.take([Want(url) for url in urls])
    return {
        url: found if isinstance(found, OSError) else LoadedFile(url, storage, found)
        for url, found in zip(urls, contents, strict=True)
    }
