"""HDF5 files as their library may see them.

Values of any length lie in heaps, and the library never comes to the end of one that has an empty
object in it, as files may have that are damaged or that change while they are read. It would hold
the interpreter's lock all the time. So heaps are looked at before it gets them. (HDF5 file format
specification, version 3, III.E, "Global Heap".)
"""

from __future__ import annotations

import os
import zlib
from typing import Any, Final

from gradiva.ops.storage.handles import Handle, close_handle, open_handle, pread
from gradiva.ops.storage.storage import Storage

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_HEAP: Final = b"GCOL\1\0\0\0"
"""What a heap begins with, at a multiple of its length."""
_HEAD: Final = 16
"""Bytes of the header of a heap, and of each object in it."""
_MANY: Final = 8
"""Objects of a heap from which on it is faster to find it again by its checksum."""
_MOST_KNOWN: Final = 1 << 16


class GuardedFile:
    """A file for h5py, without heaps that are damaged: they are an OSError. known: by places, the
    checksums of heaps that were good, which is added to."""

    def __init__(self, path: str, storage: Storage | None, known: dict[int, int]) -> None:
        self._handle: Handle = open_handle(path, storage)
        self._known = known
        self._place = 0
        self._held = 0, b""
        """The heap that was looked at last, and where it begins."""
        if isinstance(self._handle, int):
            self._size = os.fstat(self._handle).st_size
            _lock(self._handle)
        else:
            self._size = self._handle.facts.size

    def __enter__(self) -> GuardedFile:
        return self

    def __exit__(self, *reason: object) -> None:
        close_handle(self._handle)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}
        self._place = base[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, count: int) -> bytes:
        place = self._place
        if not 0 <= place <= self._size:
            raise OSError(f"it ends at byte {self._size}")
        begin, held = self._held
        if begin <= place and place + count <= begin + len(held):
            content = held[place - begin : place - begin + count]
            # Another heap may lie in this one.
            content = self._looked_at(content, place, 1 if place == begin else 0)
        else:
            content = self._looked_at(pread(self._handle, count, place), place)
        self._place += len(content)
        return content

    def readinto(self, target: Any) -> int:
        view = memoryview(target).cast("B")
        done = 0
        while done < len(view) and (content := self.read(len(view) - done)):
            view[done : done + len(content)] = content
            done += len(content)
        return done

    def _looked_at(self, content: bytes, place: int, first: int = 0) -> bytes:
        """What lies there, with the heaps in it, from the first byte on, as they were looked at.
        Raises OSError."""
        at = content.find(_HEAP, first)
        while at >= 0:
            if (place + at) % len(_HEAP) == 0:
                heap = self._heap(place + at, content[at:])
                content = (content[:at] + heap + content[at + len(heap) :])[: len(content)]
                self._held = place + at, heap  # the library comes back for the rest
            at = content.find(_HEAP, at + 1)
        return content

    def _heap(self, place: int, content: bytes) -> bytes:
        """The heap that begins there, with these bytes. Raises OSError."""
        if len(content) < _HEAD:
            content = pread(self._handle, _HEAD, place)
        size = int.from_bytes(content[8:_HEAD], "little")
        if not _HEAD <= size <= self._size - place:
            raise OSError(f"a damaged heap at byte {place}")
        heap = content[:size] if len(content) >= size else pread(self._handle, size, place)
        at, objects, checksum = _HEAD, 0, 0
        while at + _HEAD <= size:
            extent = int.from_bytes(heap[at + 8 : at + 16], "little")
            if heap[at] or heap[at + 1]:
                extent = _HEAD + (extent + 7) // 8 * 8
            # Number 0 is what is free: to its end.
            if not 0 < extent <= size - at:
                raise OSError(f"a damaged heap at byte {place}")
            at += extent
            objects += 1
            if objects == _MANY:
                checksum = zlib.crc32(heap)
                if self._known.get(place) == checksum:
                    return heap
        if objects >= _MANY:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[place] = checksum
        return heap


def _lock(handle: int) -> None:
    """Share the file with others that read it, as the library does; given back when it is closed.
    Raises OSError where somebody writes."""
    if fcntl is None or os.environ.get("HDF5_USE_FILE_LOCKING", "").upper() in ("FALSE", "0"):
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        close_handle(handle)
        raise OSError("somebody writes it: it is locked") from None
    except OSError:
        pass  # file systems without locks
