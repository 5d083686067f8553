"""PNG headers."""

from __future__ import annotations

import struct

from gradiva.ops.decoders.image_info import ImageInfo, integer_dtype
from gradiva.ops.decoders.tiff_tags import exif_orientation

_COLORS = {
    0: (1, "gray"),
    2: (3, "rgb"),
    3: (3, "palette"),
    4: (2, "gray+alpha"),
    6: (4, "rgb+alpha"),
}
_CHUNK = struct.Struct(">I4s")
_HEADER = struct.Struct(">IIBBBBB")


def read_png(view: memoryview) -> ImageInfo:
    """The image header, and the orientation if a chunk gives one, before or behind the pixels."""
    if len(view) < 33:
        raise ValueError("PNG ends before its image header")
    if bytes(view[12:16]) != b"IHDR":
        raise ValueError("PNG does not begin with an image header")
    width, height, bits, kind, _, _, interlace = _HEADER.unpack_from(view, 16)
    if kind not in _COLORS or bits not in (1, 2, 4, 8, 16):
        raise ValueError(f"PNG header is damaged: color type {kind} with {bits} bits")
    channels, color = _COLORS[kind]
    stored = height, width, channels, bits, integer_dtype(bits), _orientation(view)
    return ImageInfo("png", *stored, color, "interlaced" if interlace else "")


def _orientation(view: memoryview) -> int:
    position = 33
    while position + 8 <= len(view):
        length, name = _CHUNK.unpack_from(view, position)
        if name == b"eXIf":
            orientation = exif_orientation(view[position + 8 : position + 8 + length])
            if orientation != 1:
                return orientation
        if name == b"IEND":
            return 1
        position += 12 + length
    return 1
