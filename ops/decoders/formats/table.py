"""The table of image formats: how each is known by its first bytes, read and decoded.

Everything that deals with files of several formats reads this table; a new format is one line here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.image_info import ImageInfo, Window
from gradiva.ops.decoders.jpeg.cpu import decode_jpeg
from gradiva.ops.decoders.jpeg.headers import read_jpeg
from gradiva.ops.decoders.jpeg.window import jpeg_window

from .bmp_pnm import decode_bmp, decode_pnm, read_bmp, read_pnm
from .decode_opencv import decode_by_opencv
from .headers import read_jp2, read_webp
from .pillow_formats import decode_with_pillow, is_avif, read_with_pillow
from .png import decode_png, read_png
from .tiff import decode_tiff, read_tiff

_Decode = Callable[[Array, ImageInfo, str, bool], Array]


def _plain(decode: Callable[[Array, ImageInfo, str], Array]) -> _Decode:
    """A codec whose inverse transform cannot be chosen."""
    return lambda data, info, color, _: decode(data, info, color)


class Format(NamedTuple):
    """name: for people; that of `ImageInfo.format` is in small letters, without spaces. magic:
    whether a file begins like one. read_header: raises ValueError. decode: (data, info, color,
    fast_idct) to pixels (H, W, C) in stored orientation. decode_window: the same for a window of
    the stored image; None: everything is decoded, and the window is cut out."""

    name: str
    magic: Callable[[memoryview], object]
    read_header: Callable[[memoryview], ImageInfo]
    decode: _Decode
    decode_window: Callable[[Array, ImageInfo, str, bool, Window], Array] | None = None


def _begins(pattern: bytes) -> Callable[[memoryview], object]:
    return re.compile(pattern, re.DOTALL).match


def _decode_jpeg(data: Array, info: ImageInfo, color: str, fast_idct: bool) -> Array:
    return decode_jpeg(data, info, color, None, fast_idct)


_OPENCV: Final = _plain(decode_by_opencv)
_PILLOW: Final = _plain(decode_with_pillow)
FORMATS: Final = (
    Format("JPEG", _begins(rb"\xff\xd8"), read_jpeg, _decode_jpeg, jpeg_window),
    Format("PNG", _begins(rb"\x89PNG\r\n\x1a\n"), read_png, _plain(decode_png)),
    Format("BMP", _begins(rb"BM"), read_bmp, _plain(decode_bmp)),
    Format("TIFF", _begins(rb"II[*+]\0|MM\0[*+]"), read_tiff, _plain(decode_tiff)),
    Format("PNM", _begins(rb"P[1-6][ \t\r\n#]"), read_pnm, _plain(decode_pnm)),
    Format("WebP", _begins(rb"RIFF....WEBP"), read_webp, _OPENCV),
    Format("JPEG 2000", _begins(rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51"), read_jp2, _OPENCV),
    Format("GIF", _begins(rb"GIF8[79]a"), partial(read_with_pillow, name="GIF"), _PILLOW),
    Format("AVIF", is_avif, partial(read_with_pillow, name="AVIF"), _PILLOW),
)
_BY_NAME: Final = {each.name.lower().replace(" ", ""): each for each in FORMATS}


def known_format(view: memoryview) -> Format | None:
    """That of a file by its first bytes."""
    for each in FORMATS:
        if each.magic(view):
            return each
    return None


def format_of(info: ImageInfo) -> Format:
    """That of a file whose header was read."""
    return _BY_NAME[info.format]
