"""The rate of nvJPEG's own batched call on the engine, with nothing of ours around it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradiva.eager.cuda.context import Gpu
from gradiva.eager.support.errors import OperatorRuntimeError
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu.declarations import Backend, Output
from gradiva.ops.decoders.jpeg.gpu.library import Library, NvjpegError
from gradiva.ops.decoders.jpeg.gpu.runtime import Owned

__all__ = ["batched_rate"]

Array = np.ndarray[Any, Any]


def batched_rate(
    library: Library, gpu: Gpu, files: Sequence[Array], seconds_of: Callable[[Any], float]
) -> dict[str, float]:
    """Images per second, and how many of the files the engine takes.

    The files are sorted as the library wants them, the destinations taken beforehand; what is
    timed is the two calls and the wait for the pixels. Raises OperatorRuntimeError without an
    engine.
    """
    gpu.runtime.activate()
    owned = Owned(library, gpu.runtime)
    try:
        try:
            handle = owned.handle("nvjpeg", Backend.HARDWARE, None, None, 0)
        except NvjpegError as error:
            raise OperatorRuntimeError(f"this GPU has no JPEG engine ({error})") from error
        engines, cores = ctypes.c_uint(), ctypes.c_uint()
        library("nvjpegGetHardwareDecoderInfo", handle, ctypes.byref(engines), ctypes.byref(cores))
        state, header = (owned.handle(kind, handle) for kind in _KINDS)
        parameters = owned.handle("nvjpegDecodeParams", handle)
        library("nvjpegDecodeParamsSetOutputFormat", parameters, Output.RGBI)

        def taken(data: Array) -> bool:
            library("nvjpegJpegStreamParseHeader", handle, data.ctypes.data, data.size, header)
            refused = library.number("nvjpegDecodeBatchedSupportedEx", handle, header, parameters)
            return not refused

        chosen = [data for data in files if taken(data)]
        if not chosen:
            raise OperatorRuntimeError("the JPEG engine takes none of these files")
        infos = [probe(data) for data in chosen]
        order = sorted(range(len(chosen)), key=lambda i: -infos[i].height * infos[i].width)
        chosen, infos = [chosen[i] for i in order], [infos[i] for i in order]
        sizes = [info.height * info.width * 3 for info in infos]
        memory = gpu.empty(sum(sizes), np.dtype(np.uint8))
        destinations = np.zeros((len(chosen), 8), np.uint64)
        destinations[:, 0] = memory.address + np.cumsum([0, *sizes[:-1]])
        destinations[:, 4] = [info.width * 3 for info in infos]
        sources = np.array([data.ctypes.data for data in chosen], np.uint64)
        lengths = np.array([data.size for data in chosen], np.uint64)
        stream = gpu.stream

        def work() -> None:
            # The state holds one batch.
            stream.synchronize()
            library("nvjpegDecodeBatchedInitialize", handle, state, len(chosen), 1, Output.RGBI)
            library(
                "nvjpegDecodeBatched",
                handle,
                state,
                sources.ctypes.data,
                lengths.ctypes.data,
                destinations.ctypes.data,
                stream.handle,
            )

        seconds = seconds_of(work)
    finally:
        gpu.stream.synchronize()
        owned.close()
    return {
        "images_per_second": len(chosen) / seconds,
        "images": len(chosen),
        "engines": engines.value,
    }


_KINDS = ("nvjpegJpegState", "nvjpegJpegStream")
