"""One GPU: its streams, its memory, copies from and to it, and launching kernels on it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

import numpy as np

from gradiva.eager.runtime.worker_pool import default_pool

from .device_array import DeviceArray, Foreign
from .device_memory import Block, DevicePool, PinnedBlock, PinnedPool, Users
from .launch import KernelSource, Launch, OutputArg, Scratch
from .protocol import Runtime
from .streams import DeviceStream, Held, last_point

__all__ = ["Gpu", "restore_streams", "streams_in_force"]

T = TypeVar("T")

_ALIGNED: Final = 256
_PIECE: Final = 4 << 20
"""Bytes that a thread copies to pinned memory at once."""

_current: ContextVar[dict[int, DeviceStream] | None] = ContextVar("gradiva_streams", default=None)
"""The current stream of each GPU in this context, by the identity of its `Gpu`."""


def streams_in_force() -> dict[int, DeviceStream] | None:
    """What `restore_streams` takes."""
    return _current.get()


def restore_streams(streams: dict[int, DeviceStream] | None) -> None:
    """Let the current streams of this context be what they were."""
    _current.set(streams)


class Gpu:
    """A GPU through its runtime. Safe from any thread; each has the same default stream."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        runtime.activate()
        self.events: deque[int] = deque()
        """Events that nothing waits for."""
        self.streams_left: deque[int] = deque()
        """Streams whose objects are gone."""
        self.memory = DevicePool(runtime, self.streams_left)
        self.pinned = PinnedPool(runtime)
        self.stream_owners: dict[int, Any] = {}
        """By handle: objects of other libraries whose streams were made current. Memory is kept for
        these streams, so they may not be destroyed."""
        self._kernels: dict[KernelSource, Any] = {}
        self._lock = threading.RLock()
        self.given_back: deque[tuple[Any, Users]] = deque()
        """Memory of other libraries that nothing refers to, and the streams that used it."""
        self._kept = Held[Any]()
        self._tools: dict[Any, Any] = {}
        self._making = threading.Lock()
        self.default_stream = DeviceStream(self)

    @property
    def stream(self) -> DeviceStream:
        """The current stream of the calling context."""
        chosen = (_current.get() or {}).get(id(self))
        return self.default_stream if chosen is None else chosen

    @contextmanager
    def on(self, stream: DeviceStream) -> Iterator[None]:
        """Let `stream` be the current one in this block, in this context."""
        token = _current.set({**(_current.get() or {}), id(self): stream})
        try:
            yield
        finally:
            _current.reset(token)

    def set_stream(self, stream: DeviceStream | None) -> None:
        """Let `stream` be the current one in this context from now on; None: the default one."""
        chosen = dict(_current.get() or {})
        if stream is None:
            chosen.pop(id(self), None)
        else:
            chosen[id(self)] = stream
        _current.set(chosen)

    def empty(self, size: int, dtype: np.dtype[Any]) -> DeviceArray:
        """A 1-D array for the current stream to write, not initialized. Raises MemoryError."""
        self.runtime.activate()
        self.drop_foreign()
        block = self.memory.allocate(size * dtype.itemsize, self.stream)
        return DeviceArray(block, (size,), dtype)

    def sent(self, array: np.ndarray[Any, Any]) -> DeviceArray:
        """A copy of an array in host memory, which may change as soon as this returns."""
        made = self.empty(array.size, array.dtype)
        self.write(array, made)
        return made.reshape(array.shape)

    def write(self, array: np.ndarray[Any, Any], made: DeviceArray) -> None:
        """Copy an array in host memory, which may change as soon as this returns, to one of as many
        bytes that is of the current stream."""
        if array.nbytes:
            staging = self.pinned.allocate(array.nbytes)
            given = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if array.nbytes < _PIECE:
                staging.array[...] = given
                self.write_pinned(staging, made.address, self.stream)
            else:
                self._write_pieces(given, staging, made.address)

    def _write_pieces(
        self, given: np.ndarray[Any, Any], staging: PinnedBlock, address: int
    ) -> None:
        """By the threads of the context: one alone copies a sixth of what the bus takes."""
        stream, runtime = self.stream, self.runtime

        def write(begin: int, end: int) -> None:
            runtime.activate()  # a thread of the pool may come from another device
            staging.array[begin:end] = given[begin:end]
            runtime.copy(address + begin, staging.address + begin, end - begin, stream.handle)

        cuts = range(0, given.size, _PIECE)
        try:
            default_pool().run(write, [(cut, min(cut + _PIECE, given.size)) for cut in cuts])
        finally:
            staging.held_by(stream)

    def write_pinned(self, staging: PinnedBlock, address: int, stream: DeviceStream) -> None:
        """Have `stream` copy pinned memory, which is kept until that is done, to an address."""
        self.runtime.copy(address, staging.address, staging.nbytes, stream.handle)
        staging.held_by(stream)

    def fetched(self, array: DeviceArray) -> np.ndarray[Any, Any]:
        """A copy in host memory. Waits for it, without the GIL."""
        self.runtime.activate()
        stream = self.stream
        array.block.use(stream)
        staging = self.pinned.allocate(array.nbytes)
        if array.nbytes:
            self.runtime.copy(staging.address, array.address, array.nbytes, stream.handle)
            staging.held_by(stream)  # also where the wait is interrupted
            staging.points[-1].wait()
        return staging.array.view(array.dtype).reshape(array.shape)

    def copied(self, array: DeviceArray) -> DeviceArray:
        """A copy in this GPU's memory, of an array on this or another GPU."""
        made = self.empty(array.size, array.dtype)
        stream = self.stream
        array.block.use(stream)
        if array.nbytes:
            self.runtime.copy(made.address, array.address, array.nbytes, stream.handle)
        return made.reshape(array.shape)

    def place(
        self, arrays: Sequence[DeviceArray], offsets: Sequence[int], made: DeviceArray
    ) -> None:
        """Copy arrays into `made`, which is of the current stream, at offsets in elements."""
        stream = self.stream
        for array, offset in zip(arrays, offsets, strict=True):
            array.block.use(stream)
            if array.nbytes:
                target = made.address + offset * made.itemsize
                self.runtime.copy(target, array.address, array.nbytes, stream.handle)

    def taken(self, data: Any) -> DeviceArray:
        """An array on another library's memory, which stays there. Raises OperatorTypeError."""
        self.runtime.activate()
        stream = self.stream
        address, shape, dtype, owner = self.runtime.external(data, stream.handle)
        return DeviceArray(Foreign(address, owner, stream), shape, dtype)

    def drop_foreign(self) -> None:
        """Free memory of other libraries that no stream uses any more. Waits for nothing."""
        if not self.given_back and not self._kept:
            return
        with self._lock:
            while self.given_back:
                owner, users = self.given_back.popleft()
                self._kept.add([last_point(stream) for stream in users.values()], owner)
                self.runtime.activate()  # a user may be another GPU's stream
            self._kept.past()

    def release(self) -> None:
        """Free all memory that is not in use. Waits for the streams that it was used on."""
        self.runtime.activate()
        self.memory.release()
        self.pinned.release()

    def tool(self, make: Callable[[Gpu], T]) -> T:
        """What operators keep for this GPU, such as a library's handles: made on first use, by
        `make`, and closed with the GPU."""
        with self._making:
            if make not in self._tools:
                self._tools[make] = make(self)
            tool: T = self._tools[make]
            return tool

    def close(self) -> None:
        """Close what operators keep, at exit."""
        with self._making:
            tools, self._tools = self._tools, {}
        for tool in tools.values():
            tool.close()

    def run(self, launches: Sequence[Launch]) -> None:
        """Queue launches in order on the current stream. Returns before the GPU is done.

        Their arrays are `DeviceArray`s, or NumPy's for tables, all of which travel in one copy.
        """
        launches = [launch for launch in launches if launch.blocks]
        if not launches:
            return
        self.runtime.activate()
        stream = self.stream
        # The block is kept in this name until all is queued: then its memory may be used again.
        places, block = self._tables(launches, stream)
        scratch: dict[int, Block] = {}
        for launch in launches:
            words: list[np.generic] = []
            for given in launch.arguments:
                one = given.data if isinstance(given, OutputArg) else given
                if isinstance(one, np.generic):
                    words.append(one)
                elif isinstance(one, DeviceArray):
                    one.block.use(stream)
                    words.append(np.uint64(one.address))
                elif isinstance(one, Scratch):
                    if id(one) not in scratch:
                        scratch[id(one)] = self.memory.allocate(one.nbytes, stream)
                    words.append(np.uint64(scratch[id(one)].address))
                else:
                    words.append(np.uint64(places[id(one)]))
            kernel = self._kernel(launch.unit)
            self.runtime.launch(kernel, launch.blocks, words, stream.handle)
        del block

    def _tables(
        self, launches: Sequence[Launch], stream: DeviceStream
    ) -> tuple[dict[int, int], Block | None]:
        """Addresses of the tables, by identity, and the memory that they are in."""
        tables: dict[int, np.ndarray[Any, Any]] = {}
        for launch in launches:
            tables.update({id(a): a for a in launch.arguments if isinstance(a, np.ndarray)})
        starts: dict[int, int] = {}
        size = 0
        for name, table in tables.items():
            starts[name] = size
            size += -(-table.nbytes // _ALIGNED) * _ALIGNED
        if not tables:
            return {}, None
        staging = self.pinned.allocate(max(size, _ALIGNED))
        memory = staging.array
        for name, table in tables.items():
            start = starts[name]
            if table.nbytes:
                flat = np.ascontiguousarray(table).reshape(-1).view(np.uint8)
                memory[start : start + table.nbytes] = flat
        block = self.memory.allocate(max(size, _ALIGNED), stream)
        self.runtime.copy(block.address, staging.address, max(size, _ALIGNED), stream.handle)
        staging.held_by(stream)
        return {name: block.address + start for name, start in starts.items()}, block

    def _kernel(self, unit: KernelSource) -> Any:
        """The kernel, loaded once; looking it up for each launch would take longer than that."""
        found = self._kernels.get(unit)
        if found is None:
            with self._lock:
                found = self._kernels.get(unit)
                if found is None:
                    found = self._kernels[unit] = self.runtime.load(unit)
        return found
