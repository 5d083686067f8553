"""NVDEC as a decoder of packets: what goes in, and the frames that come out."""

from __future__ import annotations

import ctypes
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager.cuda.context import Gpu
from gradiva.eager.cuda.device_array import DeviceArray, Foreign
from gradiva.eager.cuda.streams import DeviceStream
from gradiva.eager.runtime.finalizer_thread import FinalizerThread, finalizer_thread
from gradiva.ops.video.packet_decoder import PacketError
from gradiva.ops.video.video_file import Opened, av

from .convert import Planes
from .protocol import NvDecoder, NvFrame, NvVideoCodec
from .route import Stored

_ANNEX_B: Final = {"h264": "h264_mp4toannexb", "hevc": "hevc_mp4toannexb"}
"""Filters that put start codes and parameter sets where the parser of NVDEC looks for them."""
_PADDED: Final = {8: 8, 10: 16, 12: 16}
"""Bits of the word that a sample stands in, at its upper end."""


class NvFramePlanes(NamedTuple):
    """A frame as `FrameDecoder` knows it. It is good until the decoder is given the next packet."""

    pts: int
    height: int
    width: int
    planes: Planes
    is_corrupt: bool = False


class NvdecError(ValueError):
    """NVDEC cannot be used for a video."""


class NvPackets:
    """Fulfills `PacketDecoder`, for one video. stream: the one that its work is queued on; shape:
    height and width of the frames."""

    leaves_out = False
    _decoder: NvDecoder | None = None

    def __init__(
        self,
        module: NvVideoCodec,
        gpu: Gpu,
        stream: DeviceStream,
        stored: Stored,
        shape: tuple[int, int],
    ) -> None:
        self._module, self._gpu, self._stream = module, gpu, stream
        self._stored, self._shape = stored, shape
        self._opened: Opened | None = None
        self._filter: Any = None
        self._held: Any = None
        """The data of the last packet: nobody says when the library has read them."""
        finalizer_thread.ready()

    def of(self, opened: Opened) -> NvPackets:
        """This one, for the video as it was opened last: making a decoder takes long."""
        self._opened = opened
        self.restart()
        return self

    def decode(self, packet: Any) -> list[Any]:
        if not packet.size:
            return self.drain()
        time = packet.pts or 0
        try:
            packets = [packet] if self._filter is None else self._filter.filter(packet)
        except av.FFmpegError as error:
            raise PacketError(error.strerror or str(error)) from None
        # At once: what comes out of one call is lost with the next one.
        data = b"".join(map(bytes, packets))
        return self._given(data, time) if data else []

    def drain(self) -> list[Any]:
        return [] if self._decoder is None else self._given(b"", 0)

    def restart(self) -> None:
        self.drain()
        assert self._opened is not None
        name = _ANNEX_B.get(self._opened.codec)
        if name is not None:
            self._filter = av.bitstream.BitStreamFilterContext(name, self._opened.stream)

    def leave_out(self, unneeded: bool) -> None:
        """It decodes all of them."""

    def close(self) -> None:
        # The memory of its frames goes with it.
        if self._decoder is not None:
            self._stream.synchronize()
        self._decoder = None

    def __del__(self, finalizer_thread: FinalizerThread = finalizer_thread) -> None:
        if self._decoder is not None:
            finalizer_thread.post(_wait_for, self._stream, self._decoder)

    def _made(self) -> NvDecoder:
        """Raises NvdecError."""
        try:
            return self._module.CreateDecoder(
                gpuid=self._gpu.runtime.number,
                codec=getattr(self._module.cudaVideoCodec, self._stored.codec),
                cudacontext=0,
                cudastream=self._stream.handle,
                usedevicememory=True,
            )
        except Exception as error:  # its classes differ between versions
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> NvdecError:
        return NvdecError(f"NVDEC does not decode {self._stored.codec}: {error}")

    def _given(self, data: bytes, time: int) -> list[Any]:
        """The frames that come out when data go in. Raises PacketError, NvdecError."""
        self._gpu.runtime.activate()
        if self._decoder is None:
            self._decoder = self._made()
        packet = self._module.PacketData()
        held = None
        if data:
            held = ctypes.create_string_buffer(data, len(data))
            packet.bsl_data, packet.bsl, packet.pts = ctypes.addressof(held), len(data), time
        try:
            frames = self._decoder.Decode(packet)
        except Exception as error:  # its classes differ between versions
            if "not supported" in str(error):  # which is found out when the first data come
                raise self._refusal(error) from error
            raise PacketError(f"NVDEC: {error}") from error
        self._held = held
        return [self._frame(frame) for frame in frames]

    def _frame(self, frame: NvFrame) -> NvFramePlanes:
        """Raises PacketError for a frame of another kind than was expected."""
        views = [view.__cuda_array_interface__ for view in frame.cuda()]
        bits = _PADDED[self._stored.depth]
        item = bits // 8
        if len(views) != 2 or any(int(view["typestr"][-1]) != item for view in views):
            raise PacketError(f"frames in NV12 or P016 were expected of {bits} bits")
        height, pitch = (int(extent) for extent in views[0]["shape"][:2])
        width = self._shape[1]
        # Columns come in pairs, since those of chroma do: else the last pair would be cut.
        if pitch % 2:
            raise PacketError(f"frames of {width} columns have rows of {pitch} samples")
        if pitch != width + width % 2:
            width = pitch
        counts = height * pitch, (height + 1) // 2 * pitch
        luma, chroma = (
            DeviceArray(
                Foreign(int(view["data"][0]), frame, self._stream), (count,), np.dtype(f"u{item}")
            )
            for view, count in zip(views, counts, strict=True)
        )
        depth = self._stored.depth
        planes = Planes(luma, chroma, pitch, pitch, height, width, depth, bits - depth)
        return NvFramePlanes(int(frame.timestamp), height, width, planes)


def _wait_for(stream: DeviceStream, decoder: NvDecoder) -> None:
    """Keep a decoder, and the memory of its frames, until what reads them is done."""
    stream.synchronize()
    del decoder
