"""What nvJPEG's interface looks like: numbers, structures, functions. Facts of the public header,
checked against it and against the library by tests/ops/decoders/test_nvjpeg_abi.py."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any

__all__ = [
    "FLAG_SMOOTH", "FLAG_STRICT", "PROTOTYPES", "Backend", "DeviceAllocator", "Output",
    "PinnedAllocator", "Status", "Subsampling", "argument_types",
]  # fmt: skip


class Status(IntEnum):
    """What every function returns."""

    SUCCESS = 0
    NOT_INITIALIZED = 1
    INVALID_PARAMETER = 2
    BAD_JPEG = 3
    JPEG_NOT_SUPPORTED = 4
    ALLOCATOR_FAILURE = 5
    EXECUTION_FAILED = 6
    ARCH_MISMATCH = 7
    INTERNAL_ERROR = 8
    IMPLEMENTATION_NOT_SUPPORTED = 9
    INCOMPLETE_BITSTREAM = 10


class Subsampling(IntEnum):
    """Chroma subsampling; the library's CSS numbers."""

    UNKNOWN = -1
    CSS_444 = 0
    CSS_422 = 1
    CSS_420 = 2
    CSS_440 = 3
    CSS_411 = 4
    CSS_410 = 5
    GRAY = 6
    CSS_410V = 7


class Output(IntEnum):
    """Formats of decoded pixels, those that are used here: I is interleaved, HWC."""

    UNCHANGED = 0
    Y = 2
    RGBI = 5
    BGRI = 6


class Backend(IntEnum):
    """Who decodes. HYBRID undoes the Huffman code on the host, GPU_HYBRID on the device."""

    DEFAULT = 0
    HYBRID = 1
    GPU_HYBRID = 2
    HARDWARE = 3


FLAG_STRICT = 1 << 2
"""Refuse damaged streams, which the library would else decode as far as they go."""

FLAG_SMOOTH = 1 << 5
"""Interpolate chroma; else each value is repeated."""

_P, _I, _U, _Z = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
AllocateFunction = ctypes.CFUNCTYPE(_I, _P, ctypes.POINTER(_P), _Z, _P)
"""int (void* context, void** pointer, size_t size, cudaStream_t stream); 0 is success."""
FreeFunction = ctypes.CFUNCTYPE(_I, _P, _P, _Z, _P)


class DeviceAllocator(ctypes.Structure):
    """nvjpegDevAllocatorV2_t."""

    _fields_ = (
        ("dev_malloc", AllocateFunction),
        ("dev_free", FreeFunction),
        ("dev_ctx", ctypes.c_void_p),
    )


class PinnedAllocator(ctypes.Structure):
    """nvjpegPinnedAllocatorV2_t."""

    _fields_ = (
        ("pinned_malloc", AllocateFunction),
        ("pinned_free", FreeFunction),
        ("pinned_ctx", ctypes.c_void_p),
    )


_CODES: dict[str, Any] = {"P": _P, "I": _I, "U": _U, "Z": _Z}

PROTOTYPES = {
    "nvjpegGetProperty": "IP",
    "nvjpegCreateEx": "IPPUP",
    "nvjpegCreateExV2": "IPPUP",
    "nvjpegDestroy": "P",
    "nvjpegSetDeviceMemoryPadding": "ZP",
    "nvjpegSetPinnedMemoryPadding": "ZP",
    "nvjpegGetHardwareDecoderInfo": "PPP",
    "nvjpegJpegStateCreate": "PP",
    "nvjpegJpegStateDestroy": "P",
    "nvjpegDecodeBatchedPreAllocate": "PPIIIII",
    "nvjpegDecodeBatchedInitialize": "PPIII",
    "nvjpegDecodeBatchedSupportedEx": "PPPP",
    "nvjpegDecodeBatched": "PPPPPP",
    "nvjpegBufferPinnedCreate": "PPP",
    "nvjpegBufferPinnedCreateV2": "PPP",
    "nvjpegBufferPinnedDestroy": "P",
    "nvjpegBufferDeviceCreate": "PPP",
    "nvjpegBufferDeviceCreateV2": "PPP",
    "nvjpegBufferDeviceDestroy": "P",
    "nvjpegStateAttachPinnedBuffer": "PP",
    "nvjpegStateAttachDeviceBuffer": "PP",
    "nvjpegJpegStreamCreate": "PP",
    "nvjpegJpegStreamDestroy": "P",
    "nvjpegJpegStreamParse": "PPZIIP",
    "nvjpegJpegStreamParseHeader": "PPZP",
    "nvjpegDecodeParamsCreate": "PP",
    "nvjpegDecodeParamsDestroy": "P",
    "nvjpegDecodeParamsSetOutputFormat": "PI",
    "nvjpegDecodeParamsSetROI": "PIIII",
    "nvjpegDecoderCreate": "PIP",
    "nvjpegDecoderDestroy": "P",
    "nvjpegDecoderJpegSupported": "PPPP",
    "nvjpegDecoderStateCreate": "PPP",
    "nvjpegDecodeJpegHost": "PPPPP",
    "nvjpegDecodeJpegTransferToDevice": "PPPPP",
    "nvjpegDecodeJpegDevice": "PPPPP",
}
"""The functions that are used, with their arguments: P pointer or handle, I int or enum, U unsigned
int, Z size_t. All return a Status."""


def argument_types(function: str) -> tuple[Any, ...]:
    """The ctypes types of a function's arguments."""
    return tuple(_CODES[code] for code in PROTOTYPES[function])
