"""Files of this machine and of others as binary streams, for libraries that read such."""

from __future__ import annotations

import io
import os
from typing import IO, Any, Final

from .handles import Handle, RemoteFile, close_handle, open_handle, pread
from .storage import Storage

_BUFFER: Final = 1 << 16


def opened_file(path: str, storage: Storage | None) -> IO[bytes]:
    """A stream that can seek. Raises OSError. storage: for URLs."""
    handle = open_handle(path, storage)
    if isinstance(handle, int):
        return os.fdopen(handle, "rb")
    return io.BufferedReader(_Stream(handle), _BUFFER)


class _Stream(io.RawIOBase):
    """An object on another machine."""

    def __init__(self, file: RemoteFile) -> None:
        self._handle: Handle = file
        self._size, self._place = file.facts.size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("a place before the first byte")
        self._place = base + offset
        return self._place

    def readinto(self, target: Any) -> int:
        view = memoryview(target).cast("B")
        data = pread(self._handle, len(view), self._place)
        view[: len(data)] = data
        self._place += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            close_handle(self._handle)
        super().close()
