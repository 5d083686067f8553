"""The hybrid path: one worker per thread, two pages each, so that the host works on one image while
the device finishes the one before."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from gradiva.eager import extension as op
from gradiva.eager.cuda.protocol import Runtime

from .declarations import Backend
from .job import Job
from .library import Library, NvjpegError
from .route import Path
from .runtime import Owned

_BACKENDS = (Backend.HYBRID, Backend.GPU_HYBRID)


@dataclass(slots=True)
class _Page:
    """What the host stage of one image writes, and the device reads until its event."""

    decoders: dict[Backend, tuple[int, int]]
    """(decoder, state) of each backend."""
    pinned: int
    stream: int
    """A parsed JPEG, not a CUDA stream."""


class HybridWorker:
    """Decodes one image after the other; of one thread at a time.

    handle: the library's handle, shared by all workers. pinned_table, device_table: addresses of
    allocators, or None for the library's own.
    """

    def __init__(
        self,
        library: Library,
        runtime: Runtime,
        handle: int,
        pinned_table: int | None = None,
        device_table: int | None = None,
    ) -> None:
        self._library = library
        self._runtime = runtime
        self._handle = handle
        self._owned = owned = Owned(library, runtime)
        self._held: Job | None = None
        self._turn = 0
        self.number, self.used = 0, False
        """The batch that was begun last; whether the device was given work of it."""
        try:
            self.stream = owned.stream()
            self.event = owned.event()
            self._device = owned.handle("nvjpegBufferDevice", handle, device_table)
            self._parameters = owned.handle("nvjpegDecodeParams", handle)
            self._pages = tuple(self._page(pinned_table) for _ in range(2))
        except BaseException:
            owned.close()
            raise

    def _page(self, pinned_table: int | None) -> _Page:
        owned, handle = self._owned, self._handle
        decoders = {}
        for backend in _BACKENDS:
            decoder = owned.handle("nvjpegDecoder", handle, backend)
            decoders[backend] = decoder, owned.handle("nvjpegDecoderState", handle, decoder)
        pinned = owned.handle("nvjpegBufferPinned", handle, pinned_table)
        return _Page(decoders, pinned, owned.handle("nvjpegJpegStream", handle))

    def begin(self, ready: int, number: int) -> None:
        """The jobs that follow are of batch `number`, whose destinations the device may touch after
        the event `ready`."""
        if number != self.number:
            self._runtime.stream_wait(self.stream, ready)
            self.number, self.used = number, False

    def decode(self, job: Job) -> NvjpegError | None:
        """Decode into the job's destination, on this worker's stream; returns when the host's part
        is done.

        Returns why the image was refused, or None. Raises NvjpegError for what is not about one
        image.
        """
        try:
            self._decode(job)
        except NvjpegError as error:
            if not error.about_one_image:
                raise
            return op.without_frames(error)
        return None

    def _decode(self, job: Job) -> None:
        call, handle, parameters = self._library, self._handle, self._parameters
        # The page's last image is two back. Its event is past: the image in between waited for it.
        page = self._pages[self._turn]
        data = job.data
        call("nvjpegJpegStreamParse", handle, data.ctypes.data, data.size, 0, 0, page.stream)
        call("nvjpegDecodeParamsSetOutputFormat", parameters, job.output)
        top, left, height, width = job.region
        call("nvjpegDecodeParamsSetROI", parameters, left, top, width, height)
        decoder, state = self._choose(job, page)
        call("nvjpegStateAttachPinnedBuffer", state, page.pinned)
        call("nvjpegDecodeJpegHost", handle, decoder, state, parameters, page.stream)
        # The device buffer is the other page's until its image is done; and it may have to grow,
        # which moves it.
        self.finish()
        call("nvjpegStateAttachDeviceBuffer", state, self._device)
        self._held = job
        self.used = True
        try:
            image = handle, decoder, state
            call("nvjpegDecodeJpegTransferToDevice", *image, page.stream, self.stream)
            call("nvjpegDecodeJpegDevice", *image, job.destination.ctypes.data, self.stream)
        finally:
            # After a failure, too: a part of the work may be under way.
            self._runtime.record(self.event, self.stream)
            self._turn ^= 1

    def _choose(self, job: Job, page: _Page) -> tuple[int, int]:
        if job.path == Path.GPU_HYBRID:
            large = page.decoders[Backend.GPU_HYBRID]
            refused = self._library.number(
                "nvjpegDecoderJpegSupported", large[0], page.stream, self._parameters
            )
            if refused == 0:
                return large
        return page.decoders[Backend.HYBRID]

    def finish(self) -> None:
        """Wait until the device is done with the last image, and release its bytes."""
        if self._held is not None:
            self._runtime.wait(self.event)
            self._held = None

    def close(self) -> None:
        """Wait for the device, then free everything."""
        with contextlib.suppress(Exception):  # a broken context has stopped by itself
            self.finish()
        self._owned.close()
