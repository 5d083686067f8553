"""Streams of one GPU: what is given to one is done in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from gradiva.eager.support.errors import OperatorRuntimeError

from .protocol import Runtime

__all__ = ["LEGACY", "DeviceStream", "Held", "Ready", "StreamOwner", "last_point"]

T = TypeVar("T")

LEGACY: Final = 1
"""The handle of the default stream that all threads share. CUDA takes 0 for it as well, which our
tables keep for what belongs to no stream."""

_LAST_NAMED: Final = 2
"""Handles up to this one name a default stream of the device that is current."""


class StreamOwner(Protocol):
    """A GPU, as its streams and the arrays on it see it (`Gpu` in eager/cuda/context.py)."""

    runtime: Runtime

    events: deque[int]
    """Events that nothing waits for, which are used again."""

    streams_left: deque[int]
    """Streams whose objects are gone."""

    given_back: deque[tuple[Any, Any]]
    """Memory of other libraries that nothing refers to, and the streams that used it."""

    default_stream: DeviceStream
    """The stream of contexts that have chosen no other."""

    def set_stream(self, stream: DeviceStream | None) -> None:
        """Let `stream` be the current one in this context from now on; None: the default one."""

    def copied(self, array: Any) -> Any:
        """A copy of a DeviceArray in this GPU's memory."""

    def fetched(self, array: Any) -> np.ndarray[Any, Any]:
        """A copy of a DeviceArray in host memory. Waits for it, without the GIL."""


class Ready:
    """A point of a stream: all that it was given until then. The stream's device may be the current
    one afterwards."""

    __slots__ = ("event", "gpu")

    def __init__(self, stream: DeviceStream) -> None:
        self.gpu = gpu = stream.gpu
        if stream.handle <= _LAST_NAMED:
            gpu.runtime.activate()
        try:
            self.event = gpu.events.popleft()
        except IndexError:
            gpu.runtime.activate()
            self.event = gpu.runtime.create_event()
        gpu.runtime.record(self.event, stream.handle)

    @property
    def past(self) -> bool:
        """Whether the GPU has come there. Does not wait."""
        return self.gpu.runtime.is_past(self.event)

    def wait(self) -> None:
        """Hold the calling thread until the GPU has come there."""
        self.gpu.runtime.wait(self.event)

    def __del__(self) -> None:
        if hasattr(self, "event"):
            self.gpu.events.append(self.event)


def last_point(stream: DeviceStream) -> Ready:
    """The point of a stream that is used no more for some memory. Where another library has
    destroyed its stream meanwhile, one of the default stream."""
    try:
        return Ready(stream)
    except OperatorRuntimeError:
        if not stream.external:
            raise
    return Ready(DeviceStream(stream.gpu, LEGACY))


class Held(Generic[T]):
    """Things that wait until points of streams are past. Not for several threads at once."""

    def __init__(self) -> None:
        self._entries: list[tuple[list[Ready], T]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return (thing for _, thing in self._entries)

    def add(self, points: list[Ready], thing: T) -> None:
        """Hold `thing` until all of these are past."""
        self._entries.append((points, thing))

    def past(self) -> list[T]:
        """What needs to be held no longer, in order; it leaves. Waits for nothing."""
        found: list[T] = []
        entries, self._entries = self._entries, []
        for points, thing in entries:
            while points and points[-1].past:
                points.pop()
            if points:
                self._entries.append((points, thing))
            else:
                found.append(thing)
        return found

    def wait(self) -> None:
        """Hold the calling thread until all points are past."""
        for points, _ in self._entries:
            for point in points:
                point.wait()


class DeviceStream:
    """A stream. handle: its cudaStream_t, ours (then it lives as long as this object) or
    `external`."""

    __slots__ = ("__weakref__", "external", "gpu", "handle")

    def __init__(self, gpu: StreamOwner, handle: int | None = None, priority: int = 0) -> None:
        self.gpu = gpu
        self.external = handle is not None
        self.handle = gpu.runtime.create_stream(priority) if handle is None else handle or LEGACY

    def follow(self, other: DeviceStream, ready: Ready | None = None) -> None:
        """What this stream is given from now on comes after a point of `other`, by default after
        all that it was given so far. Its own device is current afterwards."""
        if not self.is_same(other):
            # The wait is for the event as it was recorded: it may be recorded again at once.
            point = Ready(other) if ready is None else ready
            self.gpu.runtime.activate()
            self.gpu.runtime.stream_wait(self.handle, point.event)

    @property
    def key(self) -> tuple[int, int]:
        """Tells it from all other streams, also of other GPUs."""
        return self.gpu.runtime.number, self.handle

    def is_same(self, other: DeviceStream) -> bool:
        """Whether both are one stream: default streams have the same handles on each GPU."""
        return self.handle == other.handle and self.gpu is other.gpu

    def synchronize(self) -> None:
        """Hold the calling thread until the stream has done all it was given."""
        self.gpu.runtime.activate()
        self.gpu.runtime.synchronize(self.handle)

    def __del__(self) -> None:
        if not self.external and hasattr(self, "handle"):
            self.gpu.streams_left.append(self.handle)

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of gpu:{self.gpu.runtime.number}>"
