"""The half of the stand-in for nvJPEG that makes and destroys its handles. Not a test itself."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.ops.decoders.jpeg.gpu.declarations import (
    PROTOTYPES,
    DeviceAllocator,
    PinnedAllocator,
    Status,
    argument_types,
)
from tests.ops.decoders.nvjpeg_clock import Exclusive, FakeGpu

OK = int(Status.SUCCESS)


class FakeHandles:
    """`fail[(function, file)] = status` makes the function refuse this file; file None is any.

    engines: of the hardware decoder; 0 is a GPU without.
    """

    def __init__(self, gpu: FakeGpu, engines: int = 7, slow: bool = False) -> None:
        self.gpu = gpu
        self.engines = engines
        self.slow = slow
        self.fail: dict[tuple[str, int | None], int] = {}
        self.files: dict[int, tuple[int, int, int]] = {}
        """By address: (number in its batch, length, serial number)."""
        self.serial = itertools.count()
        self.memory: dict[int, int] = {}
        """Blocks for pixels: address and size. Nothing is written outside of them."""
        self.live: dict[int, dict[str, Any]] = {}
        self.calls: list[tuple[str, int | None]] = []
        """(function, file) in order."""
        self.exclusive = Exclusive(gpu)
        self.threads: set[int] = set()
        self._keep = []
        for name in PROTOTYPES:
            prototype = ctypes.CFUNCTYPE(ctypes.c_int, *argument_types(name))
            function = prototype(self._guarded(name, getattr(self, "_" + name)))
            self._keep.append(function)
            setattr(self, name, function)

    def watch(self, number: int, data: np.ndarray[Any, Any]) -> None:
        """Know a file by the address of its bytes, and notice if they go while in use."""
        serial = next(self.serial)
        self.files[data.ctypes.data] = (number, data.size, serial)
        weakref.finalize(data, self._gone, serial, data.ctypes.data).atexit = False

    def own(self, block: np.ndarray[Any, Any]) -> None:
        """Know a block for pixels, as long as it lives."""
        self.memory[block.ctypes.data] = block.nbytes
        weakref.finalize(block, self.memory.pop, block.ctypes.data, None).atexit = False

    def _gone(self, serial: int, address: int) -> None:
        if self.gpu.pending(("file", serial)):
            self.gpu.wrong(f"file {serial} was let go while the device may be at it")
        self.files.pop(address, None)

    def _guarded(self, name: str, body: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            try:
                self.threads.add(threading.get_ident())
                if name != "nvjpegGetProperty":
                    self.gpu.check_active(name)
                handles = [h for h in arguments if h in self.live and self.live[h]["alone"]]
                with self.exclusive.use(name, *handles):
                    if self.slow:
                        time.sleep(0.0005)
                    if (name, None) in self.fail:
                        self.calls.append((name, None))
                        return self.fail[name, None]
                    return body(*arguments) or OK
            except Exception:  # noqa: BLE001  nothing may pass through C
                self.gpu.wrong(f"{name}: {traceback.format_exc()}")
                return int(Status.INTERNAL_ERROR)

        return call

    def _note(self, name: str, file: int | None = None) -> int:
        self.calls.append((name, file))
        return self.fail.get((name, file), OK)

    def _file(self, address: int, length: int) -> tuple[int, int]:
        number, size, serial = self.files[address]
        if size != length:
            self.gpu.wrong(f"file {number} has {size} bytes, not {length}")
        return number, serial

    def _new(self, kind: str, out: int, alone: bool = True, **facts: Any) -> None:
        handle = next(self.gpu.numbers)
        self.live[handle] = {"kind": kind, "alone": alone, **facts}
        ctypes.c_void_p.from_address(out).value = handle

    def _get(self, handle: int, kind: str) -> dict[str, Any]:
        found = self.live.get(handle)
        if found is None or found["kind"] != kind:
            raise AssertionError(f"{handle} is no live {kind}: {found}")
        return found

    def _free(self, handle: int, kind: str) -> None:
        facts = self._get(handle, kind)
        self.gpu.on_host(f"freeing a {kind}", handle)
        if facts.get("block") is not None and facts["block"]():
            self.gpu.wrong(f"the allocator did not know the block of a {kind}")
        del self.live[handle]

    # The library and its handles.

    def _nvjpegGetProperty(self, kind: int, out: int) -> None:
        ctypes.c_int.from_address(out).value = (12, 4, 0)[kind]

    def _nvjpegCreateEx(
        self, backend: int, device: int, pinned: int, flags: int, out: int, name: str = "CreateEx"
    ) -> int:
        if backend == 3 and not self.engines:
            return int(Status.ARCH_MISMATCH)
        status = self._note(f"nvjpeg{name}")
        self._new("handle", out, alone=False, backend=backend, flags=flags)
        return status

    def _nvjpegCreateExV2(
        self, backend: int, device: int, pinned: int, flags: int, out: int
    ) -> int:
        if not device or not pinned:  # as version 13.3.2 does
            return int(Status.INVALID_PARAMETER)
        return self._nvjpegCreateEx(backend, device, pinned, flags, out, "CreateExV2")

    def _nvjpegDestroy(self, handle: int) -> None:
        self._free(handle, "handle")
        if not any(item["kind"] == "handle" for item in self.live.values()) and self.live:
            self.gpu.wrong(f"left when the last handle went: {self.live}")

    def _nvjpegSetDeviceMemoryPadding(self, padding: int, handle: int) -> None:
        self._get(handle, "handle")["device padding"] = padding

    def _nvjpegSetPinnedMemoryPadding(self, padding: int, handle: int) -> None:
        self._get(handle, "handle")["pinned padding"] = padding

    def _nvjpegGetHardwareDecoderInfo(self, handle: int, engines: int, cores: int) -> None:
        assert self._get(handle, "handle")["backend"] == 3
        ctypes.c_uint.from_address(engines).value = self.engines
        ctypes.c_uint.from_address(cores).value = 1

    def _nvjpegJpegStateCreate(self, handle: int, out: int) -> None:
        self._get(handle, "handle")
        self._new("state", out, stage="new", attached={})

    def _nvjpegDecoderStateCreate(self, handle: int, decoder: int, out: int) -> None:
        self._get(decoder, "decoder")
        self._new("state", out, stage="new", decoder=decoder, attached={})

    def _nvjpegJpegStateDestroy(self, state: int) -> None:
        self._free(state, "state")

    def _nvjpegDecoderCreate(self, handle: int, backend: int, out: int) -> None:
        self._get(handle, "handle")
        self._new("decoder", out, backend=backend)

    def _nvjpegDecoderDestroy(self, decoder: int) -> None:
        self._free(decoder, "decoder")

    def _nvjpegBufferPinnedCreate(self, handle: int, table: int, out: int) -> int:
        self._get(handle, "handle")
        status = self._note("nvjpegBufferPinnedCreate")
        self._new("pinned", out, table=table, block=None)
        return status

    _nvjpegBufferPinnedCreateV2 = _nvjpegBufferPinnedCreate  # noqa: N815

    def _take(self, buffer: int, size: int, stream: int) -> int:
        """Give a buffer memory through its allocator, when it is first used."""
        facts = self.live[buffer]
        if facts["table"] is None or facts["block"] is not None:
            return OK
        kind = PinnedAllocator if facts["kind"] == "pinned" else DeviceAllocator
        allocator = kind.from_address(facts["table"])
        malloc, free = (getattr(allocator, name) for name, _ in kind._fields_[:2])
        out = ctypes.c_void_p()
        if malloc(None, ctypes.byref(out), size, stream):
            return int(Status.ALLOCATOR_FAILURE)
        facts["block"] = lambda: free(None, out, size, stream)
        return OK

    def _nvjpegBufferPinnedDestroy(self, buffer: int) -> None:
        self._free(buffer, "pinned")

    def _nvjpegBufferDeviceCreate(self, handle: int, table: int, out: int) -> None:
        self._get(handle, "handle")
        self._new("device", out, table=table, block=None)

    _nvjpegBufferDeviceCreateV2 = _nvjpegBufferDeviceCreate  # noqa: N815

    def _nvjpegBufferDeviceDestroy(self, buffer: int) -> None:
        self._free(buffer, "device")

    def _nvjpegJpegStreamCreate(self, handle: int, out: int) -> None:
        self._get(handle, "handle")
        self._new("jpeg", out)

    def _nvjpegJpegStreamDestroy(self, jpeg: int) -> None:
        self._free(jpeg, "jpeg")

    def _nvjpegDecodeParamsCreate(self, handle: int, out: int) -> None:
        self._get(handle, "handle")
        self._new("parameters", out, output=None, roi=(0, 0, -1, -1))

    def _nvjpegDecodeParamsDestroy(self, parameters: int) -> None:
        self._free(parameters, "parameters")

    def _nvjpegDecodeParamsSetOutputFormat(self, parameters: int, output: int) -> None:
        self._get(parameters, "parameters")["output"] = output

    def _nvjpegDecodeParamsSetROI(self, parameters: int, x: int, y: int, w: int, h: int) -> None:
        self._get(parameters, "parameters")["roi"] = (x, y, w, h)
