"""What turns the packets of a video into frames: FFmpeg's decoders, and the protocol for others."""

from __future__ import annotations

from typing import Any, Protocol

from .video_file import Opened, av


class PacketError(ValueError):
    """A packet that cannot be decoded."""


class PacketDecoder(Protocol):
    """A decoder of packets of one open video. Frames come in the order in which they are shown, and
    have `pts`, `height`, `width` and `is_corrupt`.

    leaves_out: whether it can leave out frames. Methods that decode raise PacketError.
    """

    leaves_out: bool

    def decode(self, packet: Any) -> list[Any]:
        """The frames that come out when a packet goes in; of an empty one, the rest."""

    def drain(self) -> list[Any]:
        """The frames that are in the decoder. It takes no packet then but after `restart`."""

    def restart(self) -> None:
        """Forget all packets: the next one is a key frame."""

    def leave_out(self, unneeded: bool) -> None:
        """Whether frames that no other one refers to are left out from now on."""

    def close(self) -> None:
        """Nothing will be decoded any more."""


class AvPackets:
    """FFmpeg's decoder."""

    leaves_out = True

    def __init__(self, opened: Opened) -> None:
        self._context = opened.stream.codec_context

    def decode(self, packet: Any) -> list[Any]:
        return self._all(packet)

    def drain(self) -> list[Any]:
        return self._all(None)

    def restart(self) -> None:
        self._context.flush_buffers()

    def leave_out(self, unneeded: bool) -> None:
        self._context.skip_frame = "NONREF" if unneeded else "DEFAULT"

    def close(self) -> None:
        """FFmpeg's decoder is closed with its video."""

    def _all(self, packet: Any) -> list[Any]:
        try:
            frames: list[Any] = self._context.decode(packet)
        except av.FFmpegError as error:
            raise PacketError(error.strerror or str(error)) from None
        return frames
