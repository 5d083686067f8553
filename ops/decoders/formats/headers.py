"""Headers of formats that other libraries decode: JPEG 2000 (the boxes of a JP2 file, or a bare
codestream), and WebP."""

from __future__ import annotations

import struct

from gradiva.ops.decoders.image_info import UINT8, ImageInfo, integer_dtype
from gradiva.ops.decoders.tiff_tags import exif_orientation

_CODESTREAM = b"\xff\x4f\xff\x51"
_BOX = struct.Struct(">I4s")
_SHORT = "JPEG 2000 ends before its image header"
_COLORS = {1: "gray", 2: "gray+alpha", 3: "rgb", 4: "rgb+alpha"}


def read_jp2(view: memoryview) -> ImageInfo:
    try:
        if bytes(view[:4]) == _CODESTREAM:
            return _jp2_codestream(view)
        start, end = _jp2_box(view, 0, len(view), b"jp2h")
        return _jp2_header(view, start, end)
    except struct.error:
        raise ValueError(_SHORT) from None


def _jp2_codestream(view: memoryview) -> ImageInfo:
    right, bottom, left, top = struct.unpack_from(">IIII", view, 8)
    channels, depth = struct.unpack_from(">HB", view, 40)
    return _jp2(bottom - top, right - left, channels, depth)


def _jp2_header(view: memoryview, start: int, end: int) -> ImageInfo:
    header, _ = _jp2_box(view, start, end, b"ihdr")
    height, width, channels, depth = struct.unpack_from(">IIHB", view, header)
    if channels == 1:
        try:
            palette, _ = _jp2_box(view, start, end, b"pclr")
            channels = struct.unpack_from(">HB", view, palette)[1]
        except ValueError:
            pass  # most have no palette
    return _jp2(height, width, channels, depth)


def _jp2_box(view: memoryview, start: int, end: int, wanted: bytes) -> tuple[int, int]:
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


def _jp2(height: int, width: int, channels: int, depth: int) -> ImageInfo:
    bits = (depth & 0x7F) + 1
    if channels not in _COLORS:
        raise ValueError(f"JPEG 2000 with {channels} components is not supported: 1 to 4 are")
    if bits > 16 or depth & 0x80:
        raise ValueError("JPEG 2000 with signed, mixed or over 16-bit samples is not supported")
    stored = height, width, channels, bits, integer_dtype(bits)
    maximum = (1 << bits) - 1 if 8 < bits < 16 else 0
    return ImageInfo("jpeg2000", *stored, color=_COLORS[channels], maximum=maximum)


def read_webp(view: memoryview) -> ImageInfo:
    kind = bytes(view[12:16])
    try:
        if kind == b"VP8 ":
            width, height = struct.unpack_from("<HH", view, 26)
            return _webp(width & 0x3FFF, height & 0x3FFF, alpha=False)
        if kind == b"VP8L":
            (packed,) = struct.unpack_from("<I", view, 21)
            return _webp(
                (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1, alpha=bool(packed >> 28 & 1)
            )
        if kind == b"VP8X":
            flags, low_w, high_w, low_h, high_h = struct.unpack_from("<B3xHBHB", view, 20)
            return _webp(
                (high_w << 16 | low_w) + 1,
                (high_h << 16 | low_h) + 1,
                alpha=bool(flags & 0x10),
                orientation=_webp_orientation(view) if flags & 0x08 else 1,
                coding="animated" if flags & 0x02 else "",
            )
    except struct.error:
        raise ValueError("WebP ends inside its header") from None
    raise ValueError(f"WebP begins with an unknown chunk {kind!r}")


def _webp(
    width: int, height: int, *, alpha: bool, orientation: int = 1, coding: str = ""
) -> ImageInfo:
    channels, color = (4, "rgb+alpha") if alpha else (3, "rgb")
    return ImageInfo("webp", height, width, channels, 8, UINT8, orientation, color, coding)


def _webp_orientation(view: memoryview) -> int:
    position = 12
    while position + 8 <= len(view):
        name, length = struct.unpack_from("<4sI", view, position)
        if name == b"EXIF":
            block = view[position + 8 : position + 8 + length]
            return exif_orientation(block[6:] if bytes(block[:6]) == b"Exif\0\0" else block)
        position += 8 + length + (length & 1)
    return 1
