"""Streams of one GPU: what is given to one is done in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .gpu import Gpu

__all__ = ["DeviceStream", "Ready", "are_past"]


class Ready:
    """A point of a stream: all that it was given until then."""

    __slots__ = ("event", "gpu")

    def __init__(self, stream: DeviceStream) -> None:
        self.gpu = gpu = stream.gpu
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


def are_past(points: list[Ready]) -> bool:
    """Whether all points are past; those that are leave the list."""
    while points and points[-1].past:
        points.pop()
    return not points


class DeviceStream:
    """A stream. handle: its cudaStream_t, ours (then it lives as long as this object) or lent."""

    __slots__ = ("__weakref__", "_lent", "gpu", "handle")

    def __init__(self, gpu: Gpu, handle: int | None = None, priority: int = 0) -> None:
        self.gpu = gpu
        self._lent = handle is not None
        self.handle = gpu.runtime.create_stream(priority) if handle is None else handle

    def follow(self, other: DeviceStream, ready: Ready | None = None) -> None:
        """What this stream is given from now on comes after a point of `other`, by default after
        all that it was given so far. Its own device is current afterwards."""
        if other is not self and other.handle != self.handle:
            # The wait is for the event as it was recorded: it may be recorded anew at once.
            point = Ready(other) if ready is None else ready
            self.gpu.runtime.activate()
            self.gpu.runtime.stream_wait(self.handle, point.event)

    def synchronize(self) -> None:
        """Hold the calling thread until the stream has done all it was given."""
        self.gpu.runtime.activate()
        self.gpu.runtime.synchronize(self.handle)

    def __del__(self) -> None:
        if not self._lent and hasattr(self, "handle"):
            self.gpu.streams_left.append(self.handle)

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of gpu:{self.gpu.runtime.number}>"
