"""Both paths together: the batch is split, decoded, and handed to the stream that asked for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from gradiva.eager import extension as op
from gradiva.eager.cuda.protocol import Runtime
from gradiva.eager.runtime.worker_pool import Task

from .allocators import Allocator
from .declarations import FLAG_SMOOTH, FLAG_STRICT, Backend
from .hardware import HardwareDecoder
from .hybrid import HybridWorker
from .job import Job
from .library import Library, NvjpegError
from .route import Path
from .runtime import Owned

Run = Callable[[Task, Sequence[tuple[int, int]]], None]
"""`WorkerPool.run`: a function over ranges, in several threads."""


class _Tasks:
    """The tasks of one batch. Where `run` is interrupted, some may be under way, others to come."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way = 0
        self._off = False

    def do(self, work: Callable[[], None]) -> None:
        """Run one of them, if they were not called off."""
        with self._changed:
            if self._off:
                return
            self._under_way += 1
        try:
            work()
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def call_off(self) -> None:
        """None begins from now on; wait for those that have."""
        with self._changed:
            self._off = True
            self._changed.wait_for(lambda: not self._under_way)


class JpegDecoder:
    """All that one device needs to decode JPEG. One batch at a time; close it at the end.

    hardware: whether to look for the engine; `engines` says how many were found.
    preallocate: (batch size, width, height) that the engine takes memory for at once.
    device_padding, pinned_padding: bytes; blocks are rounded up to multiples of these.
    pinned, device: where its memory comes from; None leaves it to the library, which halts the
    whole device whenever it takes or frees some.
    fancy_upsampling: smooth chroma on the hybrid paths.

    Raises NvjpegError if the library cannot be used: no GPU, no driver, no memory.
    """

    def __init__(
        self,
        library: Library,
        runtime: Runtime,
        *,
        hardware: bool = True,
        preallocate: tuple[int, int, int] = (0, 0, 0),
        device_padding: int = 16 << 20,
        pinned_padding: int = 8 << 20,
        pinned: Allocator | None = None,
        device: Allocator | None = None,
        fancy_upsampling: bool = False,
    ) -> None:
        self._library = library
        self._runtime = runtime
        self._owned = owned = Owned(library, runtime)
        self._allocators = pinned, device  # kept: the library knows their addresses
        tables = [None if one is None else one.address for one in self._allocators]
        self._tables = tables[0], tables[1]
        self._workers: list[HybridWorker] = []
        self._idle: list[HybridWorker] = []
        self._lock = threading.Lock()
        self._making = threading.Lock()
        self._busy = threading.Lock()
        self._hardware: HardwareDecoder | None = None
        self._number = 0
        self._closed = False
        pinned_table, device_table = self._tables
        flags = FLAG_STRICT | (FLAG_SMOOTH if fancy_upsampling else 0)
        try:
            self._ready = owned.event()
            self._handle = owned.handle(
                "nvjpeg", Backend.DEFAULT, device_table, pinned_table, flags
            )
            library("nvjpegSetDeviceMemoryPadding", device_padding, self._handle)
            library("nvjpegSetPinnedMemoryPadding", pinned_padding, self._handle)
            if hardware:
                size, width, height = preallocate
                self._hardware = HardwareDecoder.open(
                    library,
                    runtime,
                    pinned_table=pinned_table,
                    device_table=device_table,
                    batch_size=size,
                    width=width,
                    height=height,
                )
        except BaseException as error:
            owned.close()
            self._explain(error)
            raise

    @property
    def engines(self) -> int:
        """How many JPEG engines there are that it may use."""
        return 0 if self._hardware is None else self._hardware.engines

    def decode(
        self, batches: Sequence[Sequence[Job]], hybrid: Sequence[Job], stream: int, run: Run
    ) -> list[tuple[Job, NvjpegError]]:
        """Decode the jobs; what `stream` is given afterwards finds their pixels.

        batches: for the engine, each of one output format. hybrid: for the threads of `run`, in
        this order. stream: destinations are free for writing when it has come to this point.

        Returns the jobs that the library refused, in order of their index, each with the error;
        the CPU must decode them. Raises NvjpegError for other failures, and the decoder's own for a
        closed one, when nothing is under way any more: destinations may be freed.
        """
        with self._busy:
            self._check_open()
            runtime, number = self._runtime, self._number + 1
            self._number = number
            runtime.activate()
            runtime.record(self._ready, stream)
            failed: list[tuple[Job, NvjpegError]] = []
            # The engine's first batch comes before the threads' work, so that both run at once.
            # Further ones (other formats) have to wait for it: they come after.
            rounds = list(batches) or [()]
            tasks = _Tasks()
            try:
                for first, batch in enumerate(rounds):
                    rest = self._by_engine(batch, number) + (list(hybrid) if not first else [])
                    if rest:
                        run(
                            self._by_threads(rest, number, failed, tasks),
                            [(i, i + 1) for i in range(len(rest))],
                        )
            except BaseException as error:
                tasks.call_off()
                self._finish_parts()
                self._explain(error)
                raise
            for part in (self._hardware, *self._workers):
                if part is not None and part.number == number and part.used:
                    runtime.stream_wait(stream, part.event)
            return sorted(failed, key=lambda pair: pair[0].index)

    def _explain(self, error: BaseException) -> None:
        """Name what our own allocator said as the cause: the library passes on a number only."""
        for allocator in self._allocators:
            if allocator is not None and allocator.problem is not None:
                error.__cause__, allocator.problem = allocator.problem, None

    def _by_engine(self, batch: Sequence[Job], number: int) -> list[Job]:
        """Returns the jobs that remain, for the hybrid path."""
        refused = list(batch)
        if self._hardware is not None and batch:
            self._hardware.begin(self._ready, number)
            refused = [job for job, _ in self._hardware.decode(batch)]
        for job in refused:
            job.path = Path.HYBRID
        return refused

    def _by_threads(
        self, jobs: list[Job], number: int, failed: list[tuple[Job, NvjpegError]], tasks: _Tasks
    ) -> Callable[[int, int], None]:
        def decode(first: int, last: int) -> None:
            self._runtime.activate()  # a thread of the pool may come from another device
            with self._worker() as worker:
                worker.begin(self._ready, number)
                for job in jobs[first:last]:
                    error = worker.decode(job)
                    if error is not None:
                        failed.append((job, error))

        return lambda first, last: tasks.do(lambda: decode(first, last))

    @contextlib.contextmanager
    def _worker(self) -> Iterator[HybridWorker]:
        """A worker of one's own, in a block. There come to be as many as threads."""
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            with self._making:  # the shared handle is used to decode only, by several at once
                worker = HybridWorker(self._library, self._runtime, self._handle, *self._tables)
            with self._lock:
                self._workers.append(worker)
        try:
            yield worker
        finally:
            with self._lock:
                self._idle.append(worker)

    def finish(self) -> None:
        """Wait until nothing is under way, and release all files."""
        with self._busy:
            self._check_open()
            self._runtime.activate()
            self._finish_parts()

    def _finish_parts(self) -> None:
        for part in (self._hardware, *self._workers):
            if part is not None:
                with contextlib.suppress(Exception):  # a broken context has stopped by itself
                    part.finish()

    def _check_open(self) -> None:
        if self._closed:
            raise op.OperatorRuntimeError("this JPEG decoder is closed")

    def close(self) -> None:
        """Wait for the device and free everything; may be called again."""
        with self._busy:
            if self._closed:
                return
            self._closed = True
            self._runtime.activate()
            for worker in self._workers:
                worker.close()
            self._workers.clear()
            self._idle.clear()
            if self._hardware is not None:
                self._hardware.close()
            self._owned.close()
