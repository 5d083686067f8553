"""Shared memory without a name: it is freed when the processes have ended.

On Linux it is a memfd, elsewhere a file that is unlinked before anything is written. Other
processes get it as a file descriptor over their connection. Its size is compared with the free
memory, and its pages are allocated immediately. So a lack of memory is an error here, and not a
signal later.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager.runtime.host_memory import ALIGNMENT, available_memory
from gradiva.eager.support.errors import OperatorRuntimeError

from .fork_hygiene import close_in_forks

__all__ = ["Segment", "aligned", "free_bytes"]

_HAS_MEMFD = hasattr(os, "memfd_create")
_SHARED = Path("/dev/shm")


def aligned(nbytes: int, step: int = ALIGNMENT) -> int:
    """The next multiple of `step`."""
    return -(-nbytes // step) * step


def folder() -> str:
    """The folder for shared memory files, if there is no memfd."""
    return str(_SHARED) if os.access(_SHARED, os.W_OK) else tempfile.gettempdir()


def free_bytes() -> int:
    """Bytes of shared memory that are available."""
    if not _HAS_MEMFD:
        disk = os.statvfs(folder())
        return disk.f_bavail * disk.f_frsize
    found = available_memory()
    return 1 << 62 if found is None else found


def _new_file(nbytes: int) -> int:
    """The descriptor of a new file of this size, without a name."""
    if _HAS_MEMFD:
        fd = os.memfd_create("gradiva", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile(dir=folder()) as file:
            fd = os.dup(file.fileno())
    try:
        os.ftruncate(fd, nbytes)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, nbytes)
    except OSError:
        os.close(fd)
        raise
    return fd


class Segment:
    """A piece of shared memory, in whole pages. Raises OperatorRuntimeError if there is not enough.

    fd: a received descriptor of a segment of another process; this object becomes its owner.
    """

    def __init__(self, nbytes: int, fd: int | None = None) -> None:
        self.nbytes = max(aligned(nbytes, mmap.PAGESIZE), mmap.PAGESIZE)
        if fd is None:
            free = free_bytes()
            if self.nbytes > free:
                raise OperatorRuntimeError(
                    "there is not enough shared memory for the data of worker processes"
                    + ("" if _HAS_MEMFD else f" in {folder()}")
                    + ": use fewer workers (py_num_workers), a smaller prefetch_queue_depth or "
                    "batch_size, or make more available",
                    expected=f"{self.nbytes} bytes",
                    got=f"{free} free",
                )
            try:
                fd = _new_file(self.nbytes)
            except OSError as error:
                raise OperatorRuntimeError(
                    f"{self.nbytes} bytes of shared memory for worker processes: {error}"
                ) from None
        try:
            self._map = mmap.mmap(fd, self.nbytes)  # the mapping has its own descriptor
        except OSError as error:
            os.close(fd)
            raise OperatorRuntimeError(
                f"{self.nbytes} bytes of shared memory for worker processes: {error}"
            ) from None
        self.fd = fd
        # Forked children inherit the mapping and close it. Were it kept from them (MADV_DONTFORK),
        # a view that goes late there would unmap what has come to lie at its address.
        close_in_forks(self)

    def array(
        self, dtype: np.dtype[Any], shape: Sequence[int], offset: int = 0
    ) -> np.ndarray[Any, Any]:
        """A view. Raises ValueError if it does not lie in the segment."""
        volume = math.prod(shape)
        if offset < 0 or offset + volume * dtype.itemsize > self.nbytes:
            raise ValueError(f"{volume} elements at {offset} in a segment of {self.nbytes} bytes")
        if not volume:
            return np.empty(tuple(shape), dtype)
        # Not np.ndarray(buffer=...), which would let the memory be unmapped under it.
        return np.frombuffer(self._map, dtype, volume, offset).reshape(tuple(shape))

    def close(self) -> None:
        """Unmap it. The memory is freed when all processes have unmapped it; there must be no
        views."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
        self._map.close()

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0 and hasattr(self, "_map"):
            with suppress(BufferError):  # a view still exists, and frees the memory later
                self.close()
