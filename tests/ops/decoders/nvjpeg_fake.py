"""A stand-in for the nvJPEG library, under its own function names. Not a test itself.

Each function is called through ctypes with the types of the real one, so that a wrong argument
fails as it would there. Pixels come from the CPU decoder and are written through the pointers that
the caller gave; the accesses go to a `FakeGpu`, which sees races. Handles of the wrong kind, calls
out of order, leaks and double frees are violations.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from gradiva.ops.decoders.formats.decode import decode_into
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.decoders.jpeg.cpu import decode_jpeg
from gradiva.ops.decoders.jpeg.gpu.declarations import Output
from tests.ops.decoders.nvjpeg_handles import OK, FakeHandles

simplejpeg: Any = pytest.importorskip("simplejpeg")


class FakeNvjpeg(FakeHandles):
    """Handles, and what is done with them."""

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
        self._decode(
            stream,
            (state, facts["attached"]["device"]),
            None,
            facts["input"],
            facts["settings"],
            row,
            status,
        )
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

    def _nvjpegDecodeBatched(
        self, handle: int, state: int, data: int, lengths: int, destinations: int, stream: int
    ) -> int:
        facts = self._get(state, "state")
        assert facts["stage"] == "batch", facts["stage"]
        facts["stage"] = "new"
        size = facts["size"]
        sources, sizes = (
            np.ctypeslib.as_array((ctypes.c_uint64 * size).from_address(address)).tolist()
            for address in (data, lengths)
        )
        settings = {"output": facts["output"], "roi": (0, 0, -1, -1)}
        rows = np.ctypeslib.as_array((ctypes.c_uint64 * (8 * size)).from_address(destinations))
        status = OK
        for i, row in enumerate(rows.reshape(size, 8)):
            number, serial = self._file(sources[i], sizes[i])
            status = status or self._note("nvjpegDecodeBatched", number)
            source = {"address": sources[i], "length": sizes[i]}
            self._decode(stream, (state,), ("file", serial), source, settings, row, status)
        return status

    def _decode(
        self,
        stream: int,
        things: tuple[Any, ...],
        reads: Any,
        source: dict[str, Any],
        settings: dict[str, Any],
        row: np.ndarray[Any, Any],
        status: int,
    ) -> None:
        """The device's part: it writes, unless it has refused, when the stream comes to it."""
        settings, row = dict(settings), row.copy()
        pixels = self._pixels(source, settings, row)
        self.gpu.on_device(stream, "decode", *things, pixels, reads=reads)
        if not status:
            self.gpu.give(stream, lambda: self._write(source, settings, row))

    def _pixels(
        self, source: dict[str, Any], settings: dict[str, Any], row: np.ndarray[Any, Any]
    ) -> Any:
        """What the races are looked for in: a block of pixels of its own."""
        return "pixels", int(row[0])

    def _end(self, first: int) -> int:
        """Where the memory ends that begins at an address, or holds it."""
        return first + self.memory[first]

    def _write(
        self, source: dict[str, Any], settings: dict[str, Any], row: np.ndarray[Any, Any]
    ) -> None:
        """Decode as the library would, and write through its pointers and pitches."""
        data = np.frombuffer(ctypes.string_at(source["address"], source["length"]), np.uint8)
        planes = as_asked(data, settings["output"], settings["roi"])
        first = int(row[0])
        end = self._end(first)
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
        whole = (
            stored_inks(data, info)
            if info.channels == 4
            else decode_jpeg(data, info, "RGB", None, False)
        )
        return [np.ascontiguousarray(whole[..., c]) for c in range(info.channels)]
    kind = {Output.RGBI: "RGB", Output.BGRI: "BGR", Output.Y: "GRAY"}[Output(output)]
    pixels = np.empty((info.height, info.width, 1 if kind == "GRAY" else 3), np.uint8)
    decode_into(data, info, pixels, output_type=kind, adjust_orientation=False)
    x, y, w, h = roi
    part = pixels if w < 0 else pixels[y : y + h, x : x + w]
    return [np.ascontiguousarray(part).reshape(part.shape[0], -1)]


def stored_inks(data: np.ndarray[Any, Any], info: ImageInfo) -> np.ndarray[Any, Any]:
    """The four channels as they are in the file: without the conversion from YCCK, since a copy of
    it says that there is none to do."""
    content = bytearray(data.tobytes())
    adobe = content.find(b"Adobe")
    if adobe >= 0:
        content[adobe + 11] = 0
    out = np.empty((info.height, info.width, 4), np.uint8)
    simplejpeg.decode_jpeg(bytes(content), "CMYK", buffer=out)
    return out
