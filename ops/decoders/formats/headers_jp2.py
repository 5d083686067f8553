"""JPEG 2000 headers: the boxes of a JP2 file, or a bare codestream."""

from __future__ import annotations

import struct

from gradiva.ops.decoders.image_info import ImageInfo, integer_dtype

CODESTREAM = b"\xff\x4f\xff\x51"
_BOX = struct.Struct(">I4s")
_SHORT = "JPEG 2000 ends before its image header"
_COLORS = {1: "gray", 2: "gray+alpha", 3: "rgb", 4: "rgb+alpha"}


def read_jp2(view: memoryview) -> ImageInfo:
    try:
        if bytes(view[:4]) == CODESTREAM:
            return _codestream(view)
        start, end = _find(view, 0, len(view), b"jp2h")
        return _header_box(view, start, end)
    except struct.error:
        raise ValueError(_SHORT) from None


def _codestream(view: memoryview) -> ImageInfo:
    right, bottom, left, top = struct.unpack_from(">IIII", view, 8)
    channels, depth = struct.unpack_from(">HB", view, 40)
    return _info(bottom - top, right - left, channels, depth)


def _header_box(view: memoryview, start: int, end: int) -> ImageInfo:
    header, _ = _find(view, start, end, b"ihdr")
    height, width, channels, depth = struct.unpack_from(">IIHB", view, header)
    if channels == 1:
        try:
            palette, _ = _find(view, start, end, b"pclr")
            channels = struct.unpack_from(">HB", view, palette)[1]
        except ValueError:
            pass  # most have no palette
    return _info(height, width, channels, depth)


def _find(view: memoryview, start: int, end: int, wanted: bytes) -> tuple[int, int]:
    """Where the contents of a box begin and end."""
    while start < end:
        length, name = _BOX.unpack_from(view, start)
        header = 8
        if length == 1:
            (length,) = struct.unpack_from(">Q", view, start + 8)
            header = 16
        elif length == 0:  # the last box may reach to the end of the file
            length = end - start
        if length < header:
            raise ValueError(f"JPEG 2000 box at byte {start} is damaged")
        if name == wanted:
            return start + header, min(start + length, end)
        start += length
    raise ValueError(_SHORT)


def _info(height: int, width: int, channels: int, depth: int) -> ImageInfo:
    bits = (depth & 0x7F) + 1
    if channels not in _COLORS:
        raise ValueError(f"JPEG 2000 with {channels} components is not supported: 1 to 4 are")
    if bits > 16 or depth & 0x80:
        raise ValueError("JPEG 2000 with signed, mixed or over 16-bit samples is not supported")
    stored = height, width, channels, bits, integer_dtype(bits)
    maximum = (1 << bits) - 1 if 8 < bits < 16 else 0
    return ImageInfo("jpeg2000", *stored, color=_COLORS[channels], maximum=maximum)
