"""What the first bytes of a file say: whether it is of a kind that holds videos, and, of Matroska,
whether it has as many bytes as it should. FFmpeg says neither."""

from __future__ import annotations

from typing import Final

HEAD = 4096
"""Bytes from the beginning of a file in which its length stands."""
_EBML, _SEGMENT, _VOID = b"\x1aE\xdf\xa3", b"\x18S\x80g", b"\xec"


_MARKS: Final = (
    (4, b"ftyp"),
    (4, b"moov"),
    (4, b"mdat"),
    (0, _EBML),
    (0, b"RIFF"),
    (0, b"OggS"),
    (0, b"FLV\1"),
    (0, b"DKIF"),
    (0, b"0&\xb2u\x8ef\xcf\x11"),  # ASF
    (0, b"\0\0\1\xba"),  # MPEG, with audio or without
    (0, b"\0\0\1\xb3"),
)
_PACKET: Final = 188
"""Bytes of a packet of a transport stream."""


def begins_like_video(head: bytes) -> bool:
    """Whether a file that begins so is of a kind that holds videos."""
    packets = head[: 3 * _PACKET : _PACKET]
    if packets == b"GGG":
        return True
    return any(head.startswith(mark, at) for at, mark in _MARKS)


def is_cut(head: bytes, size: int) -> bool:
    """Whether a file of `size` bytes, which begins so, ends before it should."""
    if not head.startswith(_EBML):
        return False
    at = 0
    while at < len(head):
        name = next((one for one in (_EBML, _SEGMENT, _VOID) if head.startswith(one, at)), None)
        if name is None:
            return False
        at += len(name)
        width = 9 - head[at].bit_length() if at < len(head) else 9
        if width > 8 or at + width > len(head):
            return False
        number = int.from_bytes(head[at : at + width], "big")
        unknown = number == (1 << 7 * width + 1) - 1
        length = number - (1 << 7 * width)
        at += width
        if name == _SEGMENT:
            return not unknown and at + length > size
        at += length
    return False
