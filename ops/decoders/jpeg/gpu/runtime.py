"""The handles that the decoders own: of the library, and streams and events of CUDA."""

from __future__ import annotations

import contextlib
from typing import Any

from gradiva.eager.cuda.protocol import Runtime

from .library import Library, NvjpegError


class Owned:
    """Handles of one owner, destroyed in the reverse order of their creation."""

    def __init__(self, library: Library, runtime: Runtime) -> None:
        self.library = library
        self.runtime = runtime
        self._exits = contextlib.ExitStack()

    def handle(self, kind: str, *arguments: Any) -> int:
        """A new handle of a kind such as `nvjpegJpegState`, by its `Create` and for its `Destroy`.

        None among the arguments: no allocators, which the second version of a function refuses.
        """
        create, destroy = _NAMES.get(kind, (f"{kind}Create", f"{kind}Destroy"))
        if None in arguments:
            create = create.removesuffix("V2")
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
