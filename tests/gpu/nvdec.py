"""A stand-in for PyNvVideoCodec on the simulated GPU: FFmpeg decodes, and frames come when the
stream comes to them, in memory that the next packet's frames are written into. Not a test itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradiva.ops.video.nvdec import clips
from gradiva.ops.video.video_file import av

from .simulated import SimulatedRuntime, simulated

_DECODERS = {"H264": "h264", "HEVC": "hevc", "VP8": "vp8", "VP9": "vp9", "AV1": "libdav1d"}


class SimulatedNvdec:
    """Fulfills `NvVideoCodec`. refused: codecs that this GPU does not decode; broken: numbers of
    packets, counted over all decoders, that `Decode` raises for; moved: is added to the times of
    frames; pairs: whether rows have an even number of columns."""

    def __init__(self, gpu: SimulatedRuntime) -> None:
        self.gpu = gpu
        self.cudaVideoCodec = SimpleNamespace(**{name: name for name in _DECODERS})
        self.refused: set[str] = set()
        self.broken: set[int] = set()
        self.moved = 0
        self.pairs = True
        self.created: list[str] = []
        self.packets = self.frames = 0

    def PacketData(self) -> Any:  # noqa: N802  its name
        return SimpleNamespace(bsl_data=0, bsl=0, pts=0)

    def CreateDecoder(self, **given: Any) -> Any:  # noqa: N802  its name
        self.created.append(given["codec"])
        return _Decoder(self, **given)


class _Decoder:
    """Fulfills `NvDecoder`."""

    def __init__(
        self,
        module: SimulatedNvdec,
        gpuid: int,
        codec: str,
        cudacontext: int,
        cudastream: int,
        usedevicememory: bool,
    ) -> None:
        assert (gpuid, cudacontext, usedevicememory) == (module.gpu.number, 0, True)
        assert cudastream in module.gpu.streams
        self._module, self._gpu, self._stream = module, module.gpu, cudastream
        self._codec = codec
        self._context = av.CodecContext.create(_DECODERS[codec], "r")
        self._context.thread_count = 1
        self._surfaces: list[tuple[int, int]] = []

    def Decode(self, packet: Any) -> Sequence[Any]:  # noqa: N802  its name
        self._gpu.check_current("Decode")
        if self._codec in self._module.refused:  # which the library finds out here
            raise RuntimeError("HandleVideoSequence: Error code : 801: Codec not supported")
        if not packet.bsl:
            found = self._context.decode(None)
            self._context.flush_buffers()
        else:
            self._module.packets += 1
            if self._module.packets in self._module.broken:
                raise RuntimeError("cuvidParseVideoData failed")
            given = av.Packet(ctypes.string_at(packet.bsl_data, packet.bsl))
            given.pts = packet.pts
            found = self._context.decode(given)
        self._module.frames += len(found)
        return [self._handed_out(number, frame) for number, frame in enumerate(found)]

    def _handed_out(self, number: int, frame: Any) -> Any:
        planes = _planes(frame, self._module.pairs)
        size = sum(plane.nbytes for plane in planes)
        with self._gpu.lock:
            if number == len(self._surfaces):
                self._surfaces.append((self._gpu.allocate(size), size))
            address, room = self._surfaces[number]
            assert room == size
            self._gpu._touch(self._stream, "Decode", [], [address])
            data = np.concatenate([plane.reshape(-1).view(np.uint8) for plane in planes])

            def work() -> None:
                ctypes.memmove(address, data.ctypes.data, size)

            self._gpu.give(self._stream, work)
        places = address, address + planes[0].nbytes
        views = [
            _View(place, plane, self._stream) for place, plane in zip(places, planes, strict=True)
        ]
        return SimpleNamespace(timestamp=frame.pts + self._module.moved, cuda=lambda: views)

    def __del__(self) -> None:
        for address, _ in self._surfaces:
            self._gpu.free(address)


class _View:
    """A plane in device memory."""

    def __init__(self, address: int, plane: Any, stream: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": plane.shape,
            "typestr": f"|u{plane.itemsize}",
            "data": (address, False),
            "stream": stream,
            "version": 3,
        }


def _planes(frame: Any, pairs: bool) -> tuple[Any, Any]:
    """Luma (H, W, 1) and chroma (H / 2, W / 2, 2) as NVDEC has them: columns in `pairs`, samples of
    more than 8 bits at the upper end of their words."""
    wide = frame.format.name.endswith("10le")
    kind = np.dtype("<u2" if wide else "u1")
    rows = [
        np.frombuffer(plane, kind).reshape(plane.height, -1)[:, : plane.width]
        for plane in frame.planes
    ]
    more = frame.width % 2 if pairs else 0
    luma = np.pad(rows[0], ((0, 0), (0, more)), mode="edge")
    chroma = np.stack(rows[1:], axis=2)
    drop = 6 if wide else 0
    return (luma << drop)[:, :, None].copy(), (chroma << drop).copy()


@contextmanager
def nvdec(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[SimulatedNvdec]:
    """A simulated GPU with the stand-in for PyNvVideoCodec."""
    with simulated(**options) as gpu:
        fake = SimulatedNvdec(gpu)
        monkeypatch.setattr(clips, "load", lambda: fake)
        yield fake
