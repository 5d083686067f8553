"""PNG: headers, and pixels.

A file is checked before it is decoded, so that damage has a reason and libpng prints nothing.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.image_info import ImageInfo, integer_dtype
from gradiva.ops.decoders.tiff_tags import exif_orientation

from .decode_opencv import decode_opencv

_COLORS = {
    0: (1, "gray"),
    2: (3, "rgb"),
    3: (3, "palette"),
    4: (2, "gray+alpha"),
    6: (4, "rgb+alpha"),
}
_HEADER = struct.Struct(">IIBBBBB")
_CHUNK = struct.Struct(">I4s")
_CRC = struct.Struct(">I")
_ORDER = {b"IHDR": 0, b"PLTE": 1, b"IDAT": 2, b"IEND": 3}
_PALETTE, _PIXELS, _END = 1, 2, 3
_ANCILLARY = 0x20  # this bit of its name says that a decoder may skip a chunk


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


def decode_png(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C); ``color``: RGB, BGR, GRAY or ALL (2 channels for gray with alpha)."""
    image = decode_opencv(_pixel_chunks(data, info), info, _wanted(info, color))
    if color == "ALL" and info.channels == 2:
        return image[..., ::3]  # OpenCV widens gray to three equal channels
    return image


def _wanted(info: ImageInfo, color: str) -> str:
    """A transparent color or palette entry is not a channel: ask for the opaque picture."""
    if color != "ALL" or info.channels in (2, 4):
        return color
    return "GRAY" if info.channels == 1 else "RGB"


def _pixel_chunks(data: Array, info: ImageInfo) -> Array:
    """``data`` itself, or a copy without the chunks that hold no pixels.

    libpng prints warnings about color profiles and other notes, and none of them changes a pixel
    of what is asked for; nor does a transparent color, or a palette suggested for true color.
    """
    view = data.data
    position, rank, stripped = 8, -1, False
    kept = [view[:8]]
    while rank < _END:
        length, name = _next_chunk(view, position)
        end = position + 12 + length
        order = _ORDER.get(name)
        if order is None or (order == _PALETTE and info.color != "palette"):
            if not name[0] & _ANCILLARY and order is None:
                raise _damaged(name, position, "is of an unknown kind")
            stripped = True
        else:
            _check_order(order, rank, info, name, position)
            if zlib.crc32(view[position + 4 : end - 4]) != _CRC.unpack_from(view, end - 4)[0]:
                raise _damaged(name, position, "fails its checksum")
            if order == _PIXELS > rank and length >= 2:
                _check_stream(view[position + 8], view[position + 9])
            kept.append(view[position:end])
            rank = order
        position = end
    return np.frombuffer(b"".join(kept), np.uint8) if stripped else data


def _check_order(order: int, rank: int, info: ImageInfo, name: bytes, position: int) -> None:
    if order < rank or (order == rank and order != _PIXELS):
        raise _damaged(name, position, "is out of place")
    if order == _PIXELS and rank < _PALETTE and info.color == "palette":
        raise ValueError("PNG data is damaged: it has no palette")
    if order == _END and rank < _PIXELS:
        raise ValueError("PNG data is damaged: it has no pixels")


def _check_stream(method: int, flags: int) -> None:
    """A stream that does not begin like one has lost its first chunk: libpng would print."""
    if method & 15 != 8 or method >> 4 > 7 or (method << 8 | flags) % 31:
        raise ValueError("PNG data is damaged: its pixels do not begin a zlib stream")


def _next_chunk(view: memoryview, position: int) -> tuple[int, bytes]:
    if position + 12 > len(view):
        raise ValueError("PNG data ends early: the file is cut")
    length, name = _CHUNK.unpack_from(view, position)
    if position + 12 + length > len(view):
        raise ValueError(
            f"PNG data ends early: chunk {name.decode('ascii', 'replace')} at byte {position} has "
            f"{length} bytes, the file {len(view)}"
        )
    return length, name


def _damaged(name: bytes, position: int, what: str) -> ValueError:
    title = name.decode("ascii", "replace")
    return ValueError(f"PNG data is damaged: chunk {title} at byte {position} {what}")
