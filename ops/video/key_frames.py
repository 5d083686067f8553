"""What the data of a packet say of its frame: whether decoding can begin at it, whether a frame
comes out at all, and whether fields may come alone.

Containers mark recovery points of H.264 as key frames, too. Frames behind one may refer to what is
before it, so decoding begins at pictures of which the standard says that nothing behind them does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_IDR: Final = 5
"""Of H.264, the type of a NAL unit with a slice of an IDR picture."""
_SLICES: Final = {"h264": range(1, 6), "hevc": range(32)}
"""Types of the units that hold parts of pictures."""
_PARAMETERS: Final = 7
"""Of H.264, the type of a sequence parameter set."""
_LONGEST: Final = 4096
"""Bytes of a sequence parameter set that are read: the standard allows no longer ones."""
_CHROMA_PROFILES: Final = (100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135)
"""Profiles of H.264 whose parameter sets tell of the chroma."""
_IRAP: Final = range(16, 22)
"""Of HEVC, the types of pictures at which decoding may begin."""
_BLA: Final = range(16, 19)
"""Those behind which pictures are left out that refer to what is before."""
_SMALL: Final = 64
"""Bytes of a packet of H.264 and HEVC below which there may be no slice in it."""


def begins_anew(codec: str, packet: bytes, extradata: bytes | None) -> bool:
    """Whether a packet that is marked as a key frame stands for itself."""
    if codec == "h264":
        return any(unit & 31 == _IDR for unit in _first_bytes(packet, extradata, 4))
    if codec == "hevc":
        return any(unit >> 1 & 63 in _IRAP for unit in _first_bytes(packet, extradata, 21))
    if codec == "mpeg4":
        at = packet.find(b"\0\0\1\xb6")  # a picture, and then its type, 0 for one without others
        return 0 <= at < len(packet) - 4 and packet[at + 4] >> 6 == 0
    return True


def breaks_off(codec: str, packet: bytes, extradata: bytes | None) -> bool:
    """Whether what stands behind this key frame may be left out, also in the middle of a file."""
    units = _first_bytes(packet, extradata, 21) if codec == "hevc" else iter(())
    return any(unit >> 1 & 63 in _BLA for unit in units)


def may_show_nothing(
    codec: str, packet: memoryview, extradata: bytes | None, blocks: int
) -> bool | None:
    """Whether a packet is of the kind that no frame comes out of, as placeholders of frames that
    were left out; None where it is certain that none comes. blocks: of 16 by 16 pixels in a frame.
    """
    if codec == "vp8":
        return False if packet[0] & 16 else None
    if codec == "vp9":
        return _is_hidden(packet)
    if codec == "mpeg4":
        return len(packet) < max(16, blocks // 8)  # a block that is not coded has one bit
    if codec in _SLICES and len(packet) < _SMALL:
        length_at, shift = (4, 0) if codec == "h264" else (21, 1)
        units = _first_bytes(bytes(packet), extradata, length_at)
        mask = 31 if codec == "h264" else 63
        return not any(unit >> shift & mask in _SLICES[codec] for unit in units)
    return False


def _is_hidden(packet: memoryview) -> bool:
    """Whether a packet of VP9 is one frame that others refer to only."""
    first = packet[0]
    if packet[-1] >> 5 == 6:  # several frames: the last one is shown
        return False
    bit = 3 - (first >> 4 & 3 == 3)
    return not first >> bit & 1 and not first >> bit - 2 & 1


def has_fields(packet: bytes, extradata: bytes | None) -> bool:
    """Whether the fields of a picture of H.264 may be coded apart, as the parameters say that are
    in the file's head or in this packet; also where they are in neither."""
    in_head = extradata is not None and len(extradata) > 8 and extradata[0] == 1
    if in_head and extradata is not None and extradata[5] & 31:
        size = int.from_bytes(extradata[6:8], "big")
        return _may_have_fields(extradata[8 : 8 + min(size, _LONGEST)])
    for data in (extradata or b"", packet):
        for at in _starts(data):
            if data[at] & 31 == _PARAMETERS:
                return _may_have_fields(data[at : at + _LONGEST])
    return True


def _may_have_fields(unit: bytes) -> bool:
    """What a sequence parameter set says (ITU-T H.264, 7.3.2.1.1)."""
    bits = _Bits(unit.replace(b"\0\0\3", b"\0\0"))
    try:
        bits.skip(8)
        profile = bits.number(8)
        bits.skip(16)
        bits.golomb()
        if profile in _CHROMA_PROFILES:
            if bits.golomb() == 3:
                bits.skip(1)
            bits.golomb()
            bits.golomb()
            bits.skip(1)
            if bits.number(1):
                return True  # scaling lists, which are not read
        bits.golomb()
        order = bits.golomb()
        if order == 0:
            bits.golomb()
        elif order == 1:
            bits.skip(1)
            bits.golomb()
            bits.golomb()
            for _ in range(bits.golomb()):
                bits.golomb()
        bits.golomb()
        bits.skip(1)
        bits.golomb()
        bits.golomb()
        return not bits.number(1)
    except IndexError:
        return True


class _Bits:
    """Numbers in a string of bits. Raises IndexError at its end."""

    def __init__(self, data: bytes) -> None:
        self._value, self._left = int.from_bytes(data, "big"), 8 * len(data)

    def number(self, count: int) -> int:
        self._left -= count
        if self._left < 0:
            raise IndexError
        return self._value >> self._left & (1 << count) - 1

    def skip(self, count: int) -> None:
        self.number(count)

    def golomb(self) -> int:
        zeros = 0
        while not self.number(1):
            zeros += 1
        return (1 << zeros | self.number(zeros)) - 1


def _first_bytes(packet: bytes, extradata: bytes | None, length_at: int) -> Iterator[int]:
    """The first byte of each NAL unit."""
    if extradata and extradata[0] == 1 and len(extradata) > length_at:
        size = (extradata[length_at] & 3) + 1
        at = 0
        while at + size < len(packet):
            yield packet[at + size]
            at += size + int.from_bytes(packet[at : at + size], "big")
        return
    for at in _starts(packet):
        yield packet[at]


def _starts(data: Any) -> Iterator[int]:
    """Where NAL units begin that have start codes before them."""
    at = data.find(b"\0\0\1")
    while 0 <= at < len(data) - 3:
        yield at + 3
        at = data.find(b"\0\0\1", at + 3)
