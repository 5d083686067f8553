"""Headers of BMP, PNM and WebP."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from gradiva.ops.decoders.image_info import UINT8, ImageInfo, integer_dtype
from gradiva.ops.decoders.tiff_tags import exif_orientation

_GAP = rb"(?:\s|#[^\r\n]*[\r\n])+"
_PNM_SIZE = re.compile(rb"P[1-6]" + _GAP + rb"(\d{1,9})" + _GAP + rb"(\d{1,9})(?=[\s#])")
_PNM_MAXIMUM = re.compile(_GAP + rb"(\d{1,9})(?=[\s#])")
_PNM_LAST = re.compile(rb"#[^\r\n]*[\r\n]|\s")
"""What ends the last number of a header: one character, or a comment that touches the number."""
_BY_MASKS = (3, 6)
_WITH_ALPHA = 6
_USUAL_MASKS = {16: ((0x7C00, 0x3E0, 0x1F), (0xF800, 0x7E0, 0x1F)), 32: ((0xFF0000, 0xFF00, 0xFF),)}
UINT8_TOP, UINT16_TOP = 255, 65535
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


def bmp_masks(view: memoryview) -> tuple[int, int, int, int] | None:
    """Where red, green, blue and alpha are in the numbers of 16 or 32 bits that pixels are; None
    for the usual places, which OpenCV knows. Raises ValueError."""
    (size,) = struct.unpack_from("<I", view, 14)
    if size < 40:
        return None
    bits, compression = struct.unpack_from("<HI", view, 28)
    if bits not in (16, 32) or compression not in _BY_MASKS:
        return None
    try:
        red, green, blue, alpha = struct.unpack_from("<IIII", view, 14 + 40)
    except struct.error:
        raise ValueError("BMP ends inside its header") from None
    if size < 56 and compression != _WITH_ALPHA:  # three masks behind a short header
        alpha = 0
    every = (1 << bits) - 1
    if bits == 32 and not alpha:
        alpha = every & ~(red | green | blue)
    masks = red, green, blue, alpha
    usual = masks[:3] in _USUAL_MASKS[bits] and compression != _WITH_ALPHA
    if usual and (bits == 32 or (size == 40 and not alpha)):
        return None  # of 16 bits, OpenCV reads masks behind a short header alone
    for mask in masks:
        lowest = mask & -mask
        if mask > every or (mask and (mask // lowest + 1) & (mask // lowest)):
            raise ValueError("BMP header is damaged: the bits of a color do not lie side by side")
    if not (red and green and blue) or (red & green) | (red & blue) | (green & blue):
        raise ValueError("BMP header is damaged: its colors share bits")
    return masks


def _bmp_color(view: memoryview, bits: int, size: int, colors: int) -> tuple[int, str]:
    if bits > 8:
        masks = bmp_masks(view)
        alpha = (bits == 32 and size >= 40) or (masks is not None and masks[3] > 0)
        return (4, "rgb+alpha") if alpha else (3, "rgb")
    step = 3 if size == 12 else 4
    count = min(colors or 1 << bits, 256)
    palette = bytes(view[14 + size : 14 + size + step * count])
    gray = palette[0::step] == palette[1::step] == palette[2::step]
    return (1, "gray") if gray else (3, "palette")


class PnmHeader(NamedTuple):
    """kind: 1 to 6; end: where the pixels begin; comments: whether there are any."""

    kind: int
    width: int
    height: int
    maximum: int
    end: int
    comments: bool

    @property
    def is_small(self) -> bool:
        """Whether its bytes are no shares of 255."""
        return self.kind in (5, 6) and self.maximum < UINT8_TOP


def pnm_header(view: memoryview) -> PnmHeader:
    """Raises ValueError."""
    head = bytes(view[:_PNM_HEADER])
    size = _PNM_SIZE.match(head)
    if size is None:
        raise ValueError("PNM header is damaged or cut: no width and height found")
    kind, maximum, end = head[1] - ord("0"), 1, size.end()
    if kind not in (1, 4):
        found = _PNM_MAXIMUM.match(head, end)
        maximum, end = (int(found[1]), found.end()) if found else (0, end)
        if not 1 <= maximum <= UINT16_TOP:
            raise ValueError("PNM header is damaged or cut: no maximum from 1 to 65535 found")
    last = _PNM_LAST.match(head, end)
    end = last.end() if last else len(head)
    return PnmHeader(kind, int(size[1]), int(size[2]), maximum, end, b"#" in head[:end])


def read_pnm(view: memoryview) -> ImageInfo:
    header = pnm_header(view)
    maximum = UINT16_TOP if header.is_small else header.maximum  # see `decode_pnm`
    channels = 3 if header.kind in (3, 6) else 1
    bits = maximum.bit_length()
    color, coding = "rgb" if channels == 3 else "gray", "ascii" if header.kind in (1, 2, 3) else ""
    stored = header.height, header.width, channels, bits, integer_dtype(bits), 1, color, coding
    return ImageInfo("pnm", *stored, maximum if UINT8_TOP < maximum < UINT16_TOP else 0)


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
