"""The hardware path: whole batches for the JPEG engine."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.protocol import Runtime

from .declarations import Backend, Output, Status, Subsampling
from .job import Job
from .library import Library, NvjpegError
from .runtime import Owned

_COMMON = 4096
"""Images of longer sides are asked for one by one: the engine has a largest size."""
_SMALL = 64
"""Below so many rows or columns each extent may matter."""
_NO_ENGINE = (Status.ARCH_MISMATCH, Status.IMPLEMENTATION_NOT_SUPPORTED)


class HardwareDecoder:
    """The engine's state, for one thread at a time. Use `HardwareDecoder.open`."""

    def __init__(self, owned: Owned, handle: int, engines: int) -> None:
        self._library = owned.library
        self._runtime = owned.runtime
        self._owned = owned
        self._handle = handle
        self.engines = engines
        self._held: Any = None
        self._verdicts: dict[Any, bool] = {}
        self.number, self.used = 0, False
        """The batch that was begun last; whether the device was given work of it."""
        self.stream = owned.stream()
        self.event = owned.event()
        self._state = owned.handle("nvjpegJpegState", handle)
        self._header = owned.handle("nvjpegJpegStream", handle)
        self._parameters = owned.handle("nvjpegDecodeParams", handle)

    @staticmethod
    def open(
        library: Library,
        runtime: Runtime,
        *,
        pinned_table: int | None = None,
        device_table: int | None = None,
        batch_size: int = 0,
        width: int = 0,
        height: int = 0,
    ) -> HardwareDecoder | None:
        """The engine, or None if this GPU or driver has none.

        batch_size, width, height: what to take memory for at once, if all are given. Raises
        NvjpegError for other failures.
        """
        owned = Owned(library, runtime)
        try:
            try:
                handle = owned.handle("nvjpeg", Backend.HARDWARE, device_table, pinned_table, 0)
            except NvjpegError as error:
                if error.status in _NO_ENGINE:
                    return None
                raise
            engines, cores = ctypes.c_uint(), ctypes.c_uint()
            library(
                "nvjpegGetHardwareDecoderInfo", handle, ctypes.byref(engines), ctypes.byref(cores)
            )
            if not engines.value:
                owned.close()
                return None
            decoder = HardwareDecoder(owned, handle, engines.value)
            if batch_size > 0 and width > 0 and height > 0:
                most = batch_size, width, height, Subsampling.CSS_444, Output.RGBI
                library("nvjpegDecodeBatchedPreAllocate", handle, decoder._state, *most)
        except BaseException:
            owned.close()
            raise
        return decoder

    def begin(self, ready: int, number: int) -> None:
        """The jobs that follow are of batch `number`, whose destinations the device may touch after
        the event `ready`."""
        if number != self.number:
            self._runtime.stream_wait(self.stream, ready)
            self.number, self.used = number, False

    def decode(self, jobs: Sequence[Job]) -> list[tuple[Job, NvjpegError | None]]:
        """Give the jobs, all of one output format, to the engine; returns before it is done.

        Returns those that it will not decode, with the error if there was one: they have to go
        another way. Raises NvjpegError for what is not about one image.
        """
        refused: list[tuple[Job, NvjpegError | None]] = []
        accepted = []
        for job in jobs:
            try:
                taken = self._supports(job)
            except NvjpegError as error:
                self._only_about_images(error)
                refused.append((job, op.without_frames(error)))
                continue
            if taken:
                accepted.append(job)
            else:
                refused.append((job, None))
        if not accepted:
            return refused
        try:
            self._submit(accepted)
        except NvjpegError as error:
            self._only_about_images(error)
            # What was under way may still write where the next attempt will, on another stream.
            self.finish()
            if len(accepted) == 1:
                return [*refused, (accepted[0], op.without_frames(error))]
            # The library does not say which image it was. Each by itself, so that the others keep
            # the engine, and with it their bits.
            for job in accepted:
                refused += self.decode([job])
        return refused

    def _supports(self, job: Job) -> bool:
        """Whether the library says that the engine decodes it, which is asked once for images that
        are alike: to ask costs as much as to plan the image."""
        info = job.frame.info
        if max(info.height, info.width) > _COMMON:
            return self._asked(job)
        small = min(info.height, _SMALL), min(info.width, _SMALL)
        key = job.output, job.frame.factors, job.frame.restart_interval > 0, small
        found = self._verdicts.get(key)
        if found is None:
            found = self._verdicts[key] = self._asked(job)
        return found

    def _asked(self, job: Job) -> bool:
        call, data = self._library, job.data
        call("nvjpegDecodeParamsSetOutputFormat", self._parameters, job.output)
        call("nvjpegJpegStreamParseHeader", self._handle, data.ctypes.data, data.size, self._header)
        return not call.number(
            "nvjpegDecodeBatchedSupportedEx", self._handle, self._header, self._parameters
        )

    @staticmethod
    def _only_about_images(error: NvjpegError) -> None:
        if not error.about_one_image:
            raise error

    def _submit(self, jobs: Sequence[Job]) -> None:
        call, handle = self._library, self._handle
        self.finish()  # the state holds one batch
        count = len(jobs)
        places = [job.data.__array_interface__["data"][0] for job in jobs]  # `ctypes` is slower
        sources = np.array(places, np.uint64)
        lengths = np.array([job.data.size for job in jobs], np.uint64)
        destinations = np.concatenate([job.destination for job in jobs])
        call("nvjpegDecodeBatchedInitialize", handle, self._state, count, 1, jobs[0].output)
        self._held = (list(jobs), sources, lengths, destinations)
        self.used = True
        try:
            # Not `nvjpegDecodeBatchedEx`: given the same parameters for images of several sizes, it
            # refuses them (12.4 and 13.3), or writes a part of one.
            tables = (one.ctypes.data for one in (sources, lengths, destinations))
            call("nvjpegDecodeBatched", handle, self._state, *tables, self.stream)
        finally:
            # After a failure, too: a part of the batch may be under way.
            self._runtime.record(self.event, self.stream)

    def finish(self) -> None:
        """Wait until the engine is done with the last batch, and release its bytes."""
        if self._held is not None:
            self._runtime.wait(self.event)
            self._held = None

    def close(self) -> None:
        """Wait for the engine, then free everything."""
        with contextlib.suppress(Exception):  # a broken context has stopped by itself
            self.finish()
        self._owned.close()
