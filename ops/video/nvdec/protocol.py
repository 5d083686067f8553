"""The little of PyNvVideoCodec that is needed, as protocols.

Names and meanings are those of "PyNvVideoCodec API Programming Guide" and "PyNvVideoCodec API
Reference" (docs.nvidia.com/video-technologies/pynvvideocodec): the sections on creating a decoder,
on `PacketData`, on color formats and on error handling. In the tests a stand-in fulfills them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class NvPacket(Protocol):
    """`PacketData`. bsl_data, bsl: address and size of the data, none to get all frames out; pts:
    when its frame is shown."""

    bsl_data: int
    bsl: int
    pts: int


class NvFrame(Protocol):
    """`DecodedFrame`: a frame in device memory, which is used again by the next call of `Decode`.

    timestamp: the `pts` of its packet.
    """

    timestamp: int

    def cuda(self) -> Sequence[Any]:
        """The planes, with `__cuda_array_interface__`: luma (H, W, 1); chroma, both in one. Rows
        follow each other without gaps."""


class NvDecoder(Protocol):
    """What `CreateDecoder` makes."""

    def Decode(self, packet: NvPacket) -> Sequence[NvFrame]:  # noqa: N802  its name
        """The frames that come out, in the order in which they are shown."""


class NvVideoCodec(Protocol):
    """The module. cudaVideoCodec: an enumeration of codecs."""

    cudaVideoCodec: Any  # noqa: N815  its name

    def PacketData(self) -> NvPacket:  # noqa: N802  its name
        """A packet without data."""

    def CreateDecoder(  # noqa: N802  its name
        self, *, gpuid: int, codec: Any, cudacontext: int, cudastream: int, usedevicememory: bool
    ) -> NvDecoder:
        """A decoder, whose work is queued on a stream. cudacontext: 0 for the one of CuPy."""
