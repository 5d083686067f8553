"""A stand-in for the nvJPEG library, under its own function names. Not a test itself.

Each function is called through ctypes with the types of the real one, so that a wrong argument
fails as it would there. Pixels come from the CPU decoder and are written through the pointers that
the caller gave; the accesses go to a `FakeGpu`, which sees races. Handles of the wrong kind, calls
out of order, leaks and double frees are violations.
"""

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

from gradiva.ops.decoders.formats.decode import decode_into
from gradiva.ops.decoders.formats.decode_jpeg import decode_jpeg
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.nvjpeg.declarations import (
    PROTOTYPES,
    DeviceAllocator,
    Output,
    PinnedAllocator,
    Status,
    argument_types,
)

from .nvjpeg_clock import Exclusive, FakeGpu

OK = int(Status.SUCCESS)


class FakeNvjpeg:
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

    def _nvjpegCreateExV2(
        self, backend: int, device: int, pinned: int, flags: int, out: int
    ) -> int:
        if backend == 3 and not self.engines:
            return int(Status.ARCH_MISMATCH)
        status = self._note("nvjpegCreateExV2")
        self._new("handle", out, alone=False, backend=backend, flags=flags)
        return status

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

    def _nvjpegBufferPinnedCreateV2(self, handle: int, table: int, out: int) -> int:
        self._get(handle, "handle")
        status = self._note("nvjpegBufferPinnedCreateV2")
        self._new("pinned", out, table=table, block=None)
        return status

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

    def _nvjpegBufferDeviceCreateV2(self, handle: int, table: int, out: int) -> None:
        self._get(handle, "handle")
        self._new("device", out, table=table, block=None)

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

    # One image.

    def _parse(self, name: str, data: int, length: int, jpeg: int) -> int:
        number, serial = self._file(data, length)
        status = self._note(name, number)
        stream = self._get(jpeg, "jpeg")
        self.gpu.on_host(name, jpeg)
        stream.update(file=number, serial=serial, address=data, length=length)
        return status

    def _nvjpegJpegStreamParse(
        self, handle: int, data: int, length: int, metadata: int, save: int, jpeg: int
    ) -> int:
        return self._parse("nvjpegJpegStreamParse", data, length, jpeg)

    def _nvjpegJpegStreamParseHeader(self, handle: int, data: int, length: int, jpeg: int) -> int:
        return self._parse("nvjpegJpegStreamParseHeader", data, length, jpeg)

    def _nvjpegDecoderJpegSupported(
        self, decoder: int, jpeg: int, parameters: int, out: int
    ) -> None:
        assert self._get(parameters, "parameters")["output"] is not None
        file = self._get(jpeg, "jpeg")["file"]
        refused = self._note("nvjpegDecoderJpegSupported", file)
        ctypes.c_int.from_address(out).value = refused

    def _nvjpegDecodeBatchedSupportedEx(
        self, handle: int, jpeg: int, parameters: int, out: int
    ) -> None:
        file = self._get(jpeg, "jpeg")["file"]
        refused = self._note("nvjpegDecodeBatchedSupportedEx", file)
        ctypes.c_int.from_address(out).value = refused

    def _nvjpegStateAttachPinnedBuffer(self, state: int, pinned: int) -> None:
        self._get(pinned, "pinned")
        self._get(state, "state")["attached"]["pinned"] = pinned

    def _nvjpegStateAttachDeviceBuffer(self, state: int, device: int) -> None:
        self._get(device, "device")
        # The library may move the buffer from here on, so the device must be done with it.
        self.gpu.on_host("nvjpegStateAttachDeviceBuffer", device)
        self._get(state, "state")["attached"]["device"] = device

    def _nvjpegDecodeJpegHost(
        self, handle: int, decoder: int, state: int, parameters: int, jpeg: int
    ) -> int:
        facts, stream = self._get(state, "state"), self._get(jpeg, "jpeg")
        assert facts["decoder"] == decoder
        pinned = facts["attached"]["pinned"]
        self.gpu.on_host("nvjpegDecodeJpegHost", state, pinned, jpeg)
        settings = dict(self._get(parameters, "parameters"))
        facts.update(stage="host", jpeg=jpeg, settings=settings, input=dict(stream))
        status = self._note("nvjpegDecodeJpegHost", stream["file"])
        return status or self._take(pinned, 500, 0)

    def _nvjpegDecodeJpegTransferToDevice(
        self, handle: int, decoder: int, state: int, jpeg: int, stream: int
    ) -> int:
        facts = self._get(state, "state")
        assert facts["stage"] == "host", facts["stage"]
        assert facts["jpeg"] == jpeg
        facts["stage"] = "transfer"
        file = facts["input"]["file"]
        buffers = facts["attached"]["pinned"], facts["attached"]["device"]
        bytes_of_file = "file", facts["input"]["serial"]
        self.gpu.on_device(stream, "transfer", state, *buffers, jpeg, reads=bytes_of_file)
        status = self._note("nvjpegDecodeJpegTransferToDevice", file)
        return status or self._take(buffers[1], 900, stream)

    def _nvjpegDecodeJpegDevice(
        self, handle: int, decoder: int, state: int, destination: int, stream: int
    ) -> int:
        facts = self._get(state, "state")
        assert facts["stage"] == "transfer", facts["stage"]
        facts["stage"] = "new"
        file = facts["input"]["file"]
        status = self._note("nvjpegDecodeJpegDevice", file)
        row = np.ctypeslib.as_array((ctypes.c_uint64 * 8).from_address(destination))
        self.gpu.on_device(
            stream, "decode", state, facts["attached"]["device"], ("pixels", int(row[0]))
        )
        if not status:
            self._write(facts["input"], facts["settings"], row)
        return status

    # A batch.

    def _nvjpegDecodeBatchedPreAllocate(
        self, handle: int, state: int, size: int, width: int, height: int, css: int, output: int
    ) -> int:
        self._get(state, "state")["allocated"] = (size, width, height)
        return self._note("nvjpegDecodeBatchedPreAllocate")

    def _nvjpegDecodeBatchedInitialize(
        self, handle: int, state: int, size: int, threads: int, output: int
    ) -> int:
        self.gpu.on_host("nvjpegDecodeBatchedInitialize", state)
        self._get(state, "state").update(stage="batch", size=size, output=output)
        return self._note("nvjpegDecodeBatchedInitialize")

    def _nvjpegDecodeBatchedEx(
        self, handle: int, state: int, data: int, lengths: int, destinations: int,
        parameters: int, stream: int,
    ) -> int:  # fmt: skip
        facts = self._get(state, "state")
        assert facts["stage"] == "batch", facts["stage"]
        facts["stage"] = "new"
        size = facts["size"]
        sources, sizes, each = (
            np.ctypeslib.as_array((ctypes.c_uint64 * size).from_address(address)).tolist()
            for address in (data, lengths, parameters)
        )
        rows = np.ctypeslib.as_array((ctypes.c_uint64 * (8 * size)).from_address(destinations))
        status = OK
        for i, row in enumerate(rows.reshape(size, 8)):
            number, serial = self._file(sources[i], sizes[i])
            status = status or self._note("nvjpegDecodeBatchedEx", number)
            settings = self._get(each[i], "parameters")
            assert settings["output"] == facts["output"]
            self.gpu.on_device(
                stream, "batch", state, ("pixels", int(row[0])), reads=("file", serial)
            )
            if not status:
                self._write({"address": sources[i], "length": sizes[i]}, settings, row)
        return status

    def _write(
        self, source: dict[str, Any], settings: dict[str, Any], row: np.ndarray[Any, Any]
    ) -> None:
        """Decode as the library would, and write through its pointers and pitches."""
        data = np.frombuffer(ctypes.string_at(source["address"], source["length"]), np.uint8)
        planes = as_asked(data, settings["output"], settings["roi"])
        first = int(row[0])
        end = first + self.memory[first]
        for plane, address, pitch in zip(planes, row[:4].tolist(), row[4:].tolist(), strict=False):
            last = address + (len(plane) - 1) * pitch + plane.shape[1]
            if not first <= address < last <= end or pitch < plane.shape[1]:
                raise AssertionError(f"pixels from {address} to {last} leave {first} to {end}")
            for y, line in enumerate(plane):
                ctypes.memmove(address + y * pitch, line.tobytes(), line.size)


def as_asked(
    data: np.ndarray[Any, Any], output: int, roi: tuple[int, int, int, int] = (0, 0, -1, -1)
) -> list[np.ndarray[Any, Any]]:
    """(height, bytes of a row) planes of unrotated pixels."""
    info = probe(data)
    if output == Output.UNCHANGED:
        colour, channels = ("CMYK", 4) if info.channels == 4 else ("RGB", 3)
        whole = decode_jpeg(data, info, colour, None, False)
        return [np.ascontiguousarray(whole[..., c]) for c in range(channels)]
    kind = {Output.RGBI: "RGB", Output.BGRI: "BGR", Output.Y: "GRAY"}[Output(output)]
    pixels = np.empty((info.height, info.width, 1 if kind == "GRAY" else 3), np.uint8)
    decode_into(data, info, pixels, output_type=kind, adjust_orientation=False)
    x, y, w, h = roi
    part = pixels if w < 0 else pixels[y : y + h, x : x + w]
    return [np.ascontiguousarray(part).reshape(part.shape[0], -1)]
