"""Memory of a GPU, and pinned memory of the host: kept, used again, held until it is safe.

An array that is dropped may still be in use by work that was queued. So its memory goes back to
the stream that it was made for, which does things in order; where other streams have used it, it is
held until an event in each of them is past.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from gradiva.eager.runtime.memory_settings import MemorySettings
from gradiva.eager.runtime.memory_settings import settings as memory_settings
from gradiva.eager.support.errors import OperatorRuntimeError

from .protocol import Runtime
from .streams import DeviceStream, Held, Ready, last_point

Users: TypeAlias = dict[tuple[int, int], DeviceStream]
"""Streams that read some memory, by their keys."""

_LEAST: Final = 512
_PINNED_LEAST: Final = 4096


def _size_class(nbytes: int, least: int) -> int:
    """Round up to one of eight steps per power of two, so that ragged batches meet again."""
    step = max(least, 1 << max(0, nbytes.bit_length() - 4))
    return max(-(-nbytes // step), 1) * step


def _twice(allocate: Callable[[int], int], release: Callable[[], None], size: int) -> int:
    """Fresh memory; where there is none left, once more after `release`. Raises MemoryError."""
    try:
        return allocate(size)
    except MemoryError:
        release()
    return allocate(size)


class Block:
    """Device memory that goes back to its pool when nothing refers to it.

    stream: the one that writes it. `users`: other streams that read it. `ready`: the point of its
    stream at which it is written, where one was marked; else others wait for all of the stream.
    """

    __slots__ = ("__weakref__", "address", "pool", "ready", "size", "stream", "users")

    def __init__(self, pool: DevicePool, address: int, size: int, stream: DeviceStream) -> None:
        self.pool = pool
        self.address = address
        self.size = size
        self.stream = stream
        self.users: Users = {}
        self.ready: Ready | None = None

    def use(self, stream: DeviceStream) -> None:
        """`stream` reads this memory with what it is given from now on."""
        if not stream.is_same(self.stream):
            stream.follow(self.stream, self.ready)
            self.users[stream.key] = stream

    def __del__(self) -> None:
        # At any moment and in any thread, so nothing is done but to note it down.
        self.pool.returned.append((self.address, self.size, self.stream, self.users))


class DevicePool:
    """Blocks of one GPU's memory, by stream and size. Safe from any thread.

    A waiting block of the same stream serves a request if it is large enough, and the request is
    not less than the shrink threshold times the block. Fresh blocks are larger than asked for by
    the growth factor. Where there is no memory left, all that waits is given back first.
    """

    def __init__(
        self, runtime: Runtime, streams_left: deque[int], settings: MemorySettings | None = None
    ) -> None:
        self._runtime = runtime
        self._streams_left = streams_left
        self._settings = memory_settings if settings is None else settings
        self._free: dict[int, dict[int, list[int]]] = {}
        """Addresses by the handle of their stream and by size; under 0 those that any may take."""
        self._held = Held[tuple[int, int, DeviceStream]]()
        self._lock = threading.RLock()
        self.returned: deque[tuple[int, int, DeviceStream, Users]] = deque()
        self.in_use = 0
        self.peak = 0

    def allocate(self, nbytes: int, stream: DeviceStream) -> Block:
        """Memory for `stream` to write, not initialized. Raises MemoryError."""
        settings = self._settings
        if not settings.ready:
            settings.read()
        least = _size_class(nbytes, _LEAST)
        size = _size_class(int(nbytes * settings.device_growth), _LEAST)
        with self._lock:
            self._collect()
            address, size = self._waiting(least, size, stream) or (0, size)
            if not address:
                address = self._fresh(size)
            self.in_use += size
            self.peak = max(self.peak, self.in_use)
        return Block(self, address, size, stream)

    def _waiting(self, least: int, size: int, stream: DeviceStream) -> tuple[int, int] | None:
        threshold = self._settings.shrink_threshold
        most = size / threshold if threshold else float("inf")
        for free in (self._free.get(stream.handle, {}), self._free.get(0, {})):
            fits = [other for other, found in free.items() if found and least <= other <= most]
            if fits:
                return free[min(fits)].pop(), min(fits)
        return None

    def _fresh(self, size: int) -> int:
        try:
            return _twice(self._runtime.allocate, self.release, size)
        except MemoryError:
            free, total = self._runtime.memory()
            raise MemoryError(
                f"the GPU has no {size:,} bytes left: {free:,} of {total:,} are free, gradiva "
                f"uses {self.in_use:,}"
            ) from None

    def _collect(self) -> None:
        """Take in what was dropped, and what no stream uses any more."""
        if self.returned or self._streams_left:
            self._runtime.activate()
        while self.returned:
            address, size, stream, users = self.returned.popleft()
            self.in_use -= size
            points = [last_point(user) for user in users.values()]
            self._held.add(points, (address, size, stream))
            if users:
                self._runtime.activate()  # the user may be another GPU's stream
        for address, size, stream in self._held.past():
            self._keep(address, size, stream)
        while self._streams_left:
            handle = self._streams_left.popleft()
            self._runtime.synchronize(handle)
            self._runtime.destroy_stream(handle)
            for size, addresses in self._free.pop(handle, {}).items():
                self._free.setdefault(0, {}).setdefault(size, []).extend(addresses)

    def tidy(self) -> None:
        """Take in what was dropped now, not when memory is wanted next."""
        with self._lock:
            self._collect()
            while self.returned or self._streams_left:
                self._collect()

    def _keep(self, address: int, size: int, stream: DeviceStream) -> None:
        self._free.setdefault(stream.handle, {}).setdefault(size, []).append(address)

    def reserve(self, nbytes: int, count: int, stream: DeviceStream) -> None:
        """Have `count` blocks waiting that serve requests of `nbytes` for `stream`."""
        held = [self.allocate(nbytes, stream) for _ in range(count)]
        held.clear()

    def release(self) -> None:
        """Give all waiting memory back to CUDA, once the streams that it waits for are done."""
        with self._lock:
            self._collect()
            self._held.wait()
            self._collect()
            for handle, sizes in self._free.items():
                if handle:
                    self._runtime.synchronize(handle)
                for addresses in sizes.values():
                    for address in addresses:
                        self._runtime.free(address)
            self._free.clear()

    @property
    def kept(self) -> int:
        """Bytes that wait for reuse."""
        with self._lock:
            self._collect()
            found = (size * len(a) for each in self._free.values() for size, a in each.items())
            return sum(found) + sum(size for _, size, _ in self._held)


class PinnedBlock:
    """Pinned host memory as bytes; goes back to its pool when nothing refers to it.

    `__array_interface__` lets NumPy have arrays on it, which keep it alive.
    """

    __slots__ = ("__weakref__", "address", "nbytes", "points", "pool", "size")

    def __init__(self, pool: PinnedPool, address: int, size: int, nbytes: int) -> None:
        self.pool = pool
        self.address = address
        self.size = size
        self.nbytes = nbytes
        self.points: list[Ready] = []

    @property
    def __array_interface__(self) -> dict[str, Any]:
        place = (self.address, False)
        return {"data": place, "shape": (self.nbytes,), "typestr": "|u1", "version": 3}

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """Its bytes."""
        return np.asarray(self)

    def held_by(self, stream: DeviceStream) -> None:
        """`stream` has been given its last work on this memory."""
        self.points.append(Ready(stream))

    def __del__(self) -> None:
        self.pool.returned.append((self.points, self.address, self.size))


class PinnedPool:
    """Pinned host memory, by size. Safe from any thread.

    Asking CUDA for it takes long and halts the device, so what was taken is kept.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._free: dict[int, list[int]] = {}
        self._held = Held[tuple[int, int]]()
        self._lock = threading.RLock()
        self.returned: deque[tuple[list[Ready], int, int]] = deque()

    def allocate(self, nbytes: int) -> PinnedBlock:
        """Pinned memory, not initialized, that no stream uses any more. Raises
        OperatorRuntimeError if there is none left."""
        size = _size_class(nbytes, _PINNED_LEAST)
        with self._lock:
            self._collect()
            waiting = self._free.get(size)
            address = waiting.pop() if waiting else self._fresh(size)
        return PinnedBlock(self, address, size, nbytes)

    def _fresh(self, size: int) -> int:
        try:
            return _twice(self._runtime.allocate_pinned, self.release, size)
        except MemoryError:
            raise OperatorRuntimeError(f"there are no {size:,} bytes of pinned memory") from None

    def _collect(self) -> None:
        while self.returned:
            points, address, size = self.returned.popleft()
            self._held.add(points, (address, size))
        for address, size in self._held.past():
            self._free.setdefault(size, []).append(address)

    def release(self) -> None:
        """Give waiting memory back to the system, once the streams that use it are done."""
        with self._lock:
            self._collect()
            self._held.wait()
            self._collect()
            for addresses in self._free.values():
                for address in addresses:
                    self._runtime.free_pinned(address)
            self._free.clear()

    @property
    def kept(self) -> int:
        """Bytes that wait for reuse."""
        with self._lock:
            self._collect()
            return sum(size * len(found) for size, found in self._free.items())
