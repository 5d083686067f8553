"""A JPEG decoder on the stand-in for nvJPEG and a GPU. Not a test itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradiva.eager.runtime.worker_pool import WorkerPool
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu.allocators import Allocator
from gradiva.ops.decoders.jpeg.gpu.decoder import JpegDecoder
from gradiva.ops.decoders.jpeg.gpu.job import Job
from gradiva.ops.decoders.jpeg.gpu.library import Library, NvjpegError
from gradiva.ops.decoders.jpeg.gpu.plan import plan
from gradiva.ops.decoders.jpeg.gpu.route import Options
from tests.ops.decoders.nvjpeg_clock import FakeGpu
from tests.ops.decoders.nvjpeg_fake import FakeNvjpeg, as_asked
from tests.oracle import flavors

FLAVORS = {name: make() for name, make in flavors.jpegs().items()}
FILES = list(FLAVORS.values())
PLAIN = [flavors.pil(flavors.ASTRONAUT[i:, i:], "JPEG") for i in range(12)]
TRANSFER, DEVICE = "nvjpegDecodeJpegTransferToDevice", "nvjpegDecodeJpegDevice"
HYBRID_CALLS = ("nvjpegJpegStreamParse", "nvjpegDecodeJpegHost", TRANSFER, DEVICE)


class Bench:
    """A fake GPU and library, and a decoder on them."""

    def __init__(
        self, threads: int = 3, engines: int = 7, slow: bool = False, **options: Any
    ) -> None:
        self.gpu = FakeGpu()
        runtime: Any = self.gpu  # as much of one as is needed here
        self.fake = FakeNvjpeg(self.gpu, engines, slow)
        self.gpu.activate()
        self.decoder = JpegDecoder(Library(self.fake), runtime, **options)
        self.stream = self.gpu.create_stream()
        self.pool = WorkerPool(threads)

    def jobs(
        self,
        files: list[bytes],
        options: Options | None = None,
        window: tuple[int, int, int, int] | None = None,
    ) -> tuple[list[list[Job]], list[Job], list[np.ndarray[Any, Any]]]:
        """Routed jobs with memory of their own: (for the engine, hybrid, memory)."""
        arrays = [np.frombuffer(bytearray(data), np.uint8) for data in files]
        windows = None if window is None else [window] * len(files)
        made = plan(arrays, list(map(probe, arrays)), options or Options(), windows, False)
        for i, array in enumerate(arrays):
            self.fake.watch(i, array)
        jobs = [*made.hybrid, *(job for batch in made.engine for job in batch)]
        for job in jobs:
            job.keep = np.full(job.shape, 99, np.uint8)
            job.write_to(job.keep.ctypes.data)
            self.fake.own(job.keep)
            # The block was used before, on the stream that has it now.
            self.gpu.on_device(self.stream, "earlier use", ("pixels", job.keep.ctypes.data))
        return made.engine, made.hybrid, [job.keep for job in jobs]

    def decode(self, engine: Any, hybrid: Any) -> list[tuple[Job, NvjpegError]]:
        refused = self.decoder.decode(engine, hybrid, self.stream, self.pool.run)
        for job in [*hybrid, *(job for batch in engine for job in batch)]:
            pixels = "pixels", int(job.destination[0])
            self.gpu.on_device(self.stream, "later use", pixels)
        return refused

    def calls(self, *names: str) -> list[tuple[str, int | None]]:
        return [call for call in self.fake.calls if call[0] in names]

    def close(self) -> None:
        self.decoder.close()
        self.pool.close()
        assert self.fake.live == {}
        assert self.gpu.events == {}
        assert list(self.gpu.streams) == [self.stream]


@contextmanager
def bench(**options: Any) -> Iterator[Bench]:
    made = Bench(**options)
    yield made
    made.close()
    assert made.gpu.violations == []


def right(job: Job) -> bool:
    """Whether its memory holds what the CPU makes of the file."""
    planes = np.stack(as_asked(job.data, job.output, _roi(job)))
    return np.array_equal(job.keep.ravel(), planes.ravel())


def _roi(job: Job) -> tuple[int, int, int, int]:
    top, left, height, width = job.region
    return left, top, width, height


def counted(limit: int, *, pinned: bool) -> Allocator:
    """An allocator of ordinary memory with room for so many blocks."""
    made: list[Any] = []

    def allocate(size: int, stream: int) -> tuple[int, Any]:
        if len(made) == limit:
            raise MemoryError(f"no room for {size} bytes")
        made.append(np.empty(size, np.uint8))
        return made[-1].ctypes.data, made[-1]

    return Allocator(allocate, pinned=pinned)
