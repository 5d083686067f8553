"""Headers of BMP, PNM and WebP."""

from __future__ import annotations

import re
import struct

from gradiva.ops.decoders.tiff.tags import exif_orientation

from .image_info import UINT8, ImageInfo, integer_dtype

_GAP = rb"(?:\s|#[^\r\n]*[\r\n])+"
_PNM_SIZE = re.compile(rb"P[1-6]" + _GAP + rb"(\d{1,9})" + _GAP + rb"(\d{1,9})(?=[\s#])")
_PNM_MAXIMUM = re.compile(_GAP + rb"(\d{1,9})\s")
_PNM_HEADER = 4096
"""No header is looked for beyond this many bytes, comments included."""


def read_bmp(view: memoryview) -> ImageInfo:
    try:
        (size,) = struct.unpack_from("<I", view, 14)
        if size == 12:
            width, height, _, bits = struct.unpack_from("<HHHH", view, 18)
            compression, colors = 0, 0
        elif size >= 40:
            width, height, _, bits, compression = struct.unpack_from("<iiHHI", view, 18)
            (colors,) = struct.unpack_from("<I", view, 46)
        else:
            raise ValueError(f"BMP header is damaged: it claims {size} bytes")
    except struct.error:
        raise ValueError("BMP ends inside its header") from None
    if bits not in (1, 4, 8, 16, 24, 32):
        raise ValueError(f"BMP with {bits} bits in a pixel is not supported")
    channels, color = _bmp_color(view, bits, size, colors)
    coding = "compressed" if compression in (1, 2) else ""
    return ImageInfo("bmp", abs(height), width, channels, color=color, coding=coding)


def _bmp_color(view: memoryview, bits: int, size: int, colors: int) -> tuple[int, str]:
    if bits > 8:
        return (4, "rgb+alpha") if bits == 32 else (3, "rgb")
    step = 3 if size == 12 else 4
    count = min(colors or 1 << bits, 256)
    palette = bytes(view[14 + size : 14 + size + step * count])
    gray = palette[0::step] == palette[1::step] == palette[2::step]
    return (1, "gray") if gray else (3, "palette")


def read_pnm(view: memoryview) -> ImageInfo:
    head = bytes(view[:_PNM_HEADER])
    size = _PNM_SIZE.match(head)
    if size is None:
        raise ValueError("PNM header is damaged or cut: no width and height found")
    kind = head[1:2]
    maximum = 1
    if kind not in b"14":
        found = _PNM_MAXIMUM.match(head, size.end())
        maximum = int(found[1]) if found else 0
        if not 1 <= maximum <= 65535:
            raise ValueError("PNM header is damaged or cut: no maximum from 1 to 65535 found")
    channels = 3 if kind in b"36" else 1
    bits = maximum.bit_length()
    color, coding = "rgb" if channels == 3 else "gray", "ascii" if kind in b"123" else ""
    stored = int(size[2]), int(size[1]), channels, bits, integer_dtype(bits), 1, color, coding
    return ImageInfo("pnm", *stored, maximum if 255 < maximum < 65535 else 0)


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
