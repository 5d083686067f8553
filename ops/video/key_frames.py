"""Packets from which decoding can begin: what the data say, where containers say too much.

Containers mark recovery points of H.264 as key frames, too. Frames behind one may refer to what is
before it, so decoding begins at pictures of which the standard says that nothing behind them does.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["begins_anew", "is_shown"]

_IDR = 5
"""Of H.264, the type of a NAL unit with a slice of an IDR picture."""
_IRAP = range(16, 22)
"""Of HEVC, those of pictures at which decoding may begin."""


def begins_anew(codec: str, packet: bytes, extradata: bytes | None) -> bool:
    """Whether a packet that is marked as a key frame stands for itself."""
    if codec == "h264":
        return any(unit & 31 == _IDR for unit in _units(packet, extradata, 4))
    if codec == "hevc":
        return any(unit >> 1 & 63 in _IRAP for unit in _units(packet, extradata, 21))
    return True


def is_shown(codec: str, packet: bytes) -> bool:
    """Whether a frame comes out of a packet: VP8 has packets that others refer to only."""
    return codec != "vp8" or not packet or bool(packet[0] & 16)


def _units(packet: bytes, extradata: bytes | None, length_at: int) -> Iterator[int]:
    """The first byte of each NAL unit."""
    if extradata and extradata[0] == 1 and len(extradata) > length_at:
        size = (extradata[length_at] & 3) + 1
        at = 0
        while at + size < len(packet):
            yield packet[at + size]
            at += size + int.from_bytes(packet[at : at + size], "big")
        return
    at = packet.find(b"\0\0\1")
    while 0 <= at < len(packet) - 3:
        yield packet[at + 3]
        at = packet.find(b"\0\0\1", at + 3)
