"""The little of CUDA that the decoders need, and the handles that they own.

`Runtime` is a protocol: eager's CUDA layer fulfils it on a machine with a GPU, a recorded fake
that checks order and lifetimes fulfils it in the tests.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

from .library import Library, NvjpegError

__all__ = ["Owned", "Runtime"]


class Runtime(Protocol):
    """Streams and events by number (cudaStream_t, cudaEvent_t), of the current device."""

    def activate(self) -> None:
        """Make the device current in the calling thread."""

    def create_stream(self) -> int:
        """A stream that does not wait for the null stream."""

    def destroy_stream(self, stream: int) -> None: ...

    def create_event(self) -> int:
        """An event without timing; one that was never recorded counts as past."""

    def destroy_event(self, event: int) -> None: ...

    def record(self, event: int, stream: int) -> None:
        """The event is past when all that was given to the stream so far is done."""

    def wait(self, event: int) -> None:
        """Hold the calling thread until the event is past, without the GIL."""

    def stream_wait(self, stream: int, event: int) -> None:
        """Hold what is given to the stream from now on until the event, as now recorded, is past.
        The calling thread goes on."""


class Owned:
    """Handles of one owner, destroyed in the reverse order of their creation."""

    def __init__(self, library: Library, runtime: Runtime) -> None:
        self.library = library
        self.runtime = runtime
        self._exits = contextlib.ExitStack()

    def handle(self, kind: str, *arguments: Any) -> int:
        """A new handle of a kind such as `nvjpegJpegState`, by its `Create` and for its
        `Destroy`."""
        create, destroy = _NAMES.get(kind, (f"{kind}Create", f"{kind}Destroy"))
        handle = self.library.create(create, *arguments)
        self._exits.callback(self._destroy, destroy, handle)
        return handle

    def event(self) -> int:
        """A new event."""
        event = self.runtime.create_event()
        self._exits.callback(self.runtime.destroy_event, event)
        return event

    def stream(self) -> int:
        """A new stream."""
        stream = self.runtime.create_stream()
        self._exits.callback(self.runtime.destroy_stream, stream)
        return stream

    def close(self) -> None:
        """Destroy all. The device must be done with them."""
        self._exits.close()

    def _destroy(self, name: str, handle: int) -> None:
        with contextlib.suppress(NvjpegError):  # nothing could be done about it
            self.library(name, handle)


_NAMES = {
    "nvjpeg": ("nvjpegCreateExV2", "nvjpegDestroy"),
    "nvjpegBufferPinned": ("nvjpegBufferPinnedCreateV2", "nvjpegBufferPinnedDestroy"),
    "nvjpegBufferDevice": ("nvjpegBufferDeviceCreateV2", "nvjpegBufferDeviceDestroy"),
    "nvjpegDecoderState": ("nvjpegDecoderStateCreate", "nvjpegJpegStateDestroy"),
}
