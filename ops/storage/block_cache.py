"""A cache on disk for blocks of objects, shared by all processes of a user.

A block is a file with a digest of its contents and of its key. It is written to a temporary file
and renamed, so a writer that is killed leaves nothing that would be read. A damaged block is
fetched again. When the folder is full, the least recently read blocks are removed.
"""

from __future__ import annotations

import threading
import time
import warnings
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from gradiva.eager.support.checked_file import read_checked, write_checked
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.eager.support.private_folder import private_folder

from .ranges import Data

_UNFINISHED: Final = "unfinished"
_HOUR: Final = 3600
_KEPT: Final = 0.9
"""The fraction of the limit that is kept when the limit has been reached."""


class BlockCache:
    """The blocks in a folder, of at most `limit` bytes. Raises OperatorRuntimeError if the folder
    cannot be used."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._blocks = folder / "blocks"
        self._unfinished = folder / _UNFINISHED
        self._limit = limit
        self._lock = threading.Lock()
        self._unseen = limit  # so the first write counts what is there already
        self._told = False
        for path in (folder, self._blocks, self._unfinished):
            try:
                usable = private_folder(path) is not None
            except OSError as error:
                raise _unusable(path, error.strerror or str(error)) from error
            if not usable:
                raise _unusable(path, "it is no folder of this user, or others can write into it")

    def _place(self, meaning: str) -> Path:
        named = meaning.encode("utf-8", "surrogateescape")
        return self._blocks / blake2b(named, digest_size=20).hexdigest()

    def read(self, url: str, version: str, begin: int, end: int) -> bytes | None:
        """A block, or None."""
        meaning = _meaning(url, version, begin, end)
        place = self._place(meaning)
        content = read_checked(place, meaning)
        if content is None or len(content) != end - begin:
            return None
        with suppress(OSError):  # another process may have made room
            place.touch()
        return content

    def write(self, url: str, version: str, begin: int, content: Data) -> None:
        """Store a block. If that fails, the block is fetched again when it is needed."""
        meaning = _meaning(url, version, begin, begin + len(content))
        try:
            data = bytes(content)
            write_checked(self._place(meaning), meaning, data, self._unfinished, durable=False)
        except OSError as error:
            with self._lock:
                told, self._told = self._told, True
            if not told:
                warnings.warn(
                    f"blocks cannot be kept in {self._blocks}: {error.strerror or error}. They are "
                    "fetched again; set GRADIVA_STORAGE_CACHE to a folder with room for them",
                    RuntimeWarning,
                    stacklevel=2,
                )
            return
        with self._lock:
            self._unseen += len(content)
            if self._unseen < self._limit // 32:
                return
            self._unseen = 0
        self._make_room()

    def _make_room(self) -> None:
        """Other processes may do the same at this moment, so files may be missing."""
        found: list[tuple[float, int, Path]] = []
        for path in self._blocks.iterdir():
            with suppress(OSError):
                facts = path.stat()
                found.append((facts.st_mtime, facts.st_size, path))
        held = sum(size for _, size, _ in found)
        if held > self._limit:
            for _, size, path in sorted(found):
                if held <= self._limit * _KEPT:
                    break
                path.unlink(missing_ok=True)
                held -= size
        now = time.time()
        for path in self._unfinished.iterdir():  # left by processes that were killed
            with suppress(OSError):
                if now - path.stat().st_mtime > _HOUR:
                    path.unlink()


def _meaning(url: str, version: str, begin: int, end: int) -> str:
    return f"block 1 {begin} {end} {version}\0{url}"


def _unusable(path: Path, reason: str) -> OperatorRuntimeError:
    return OperatorRuntimeError(f"GRADIVA_STORAGE_CACHE: {path} cannot be used: {reason}")
