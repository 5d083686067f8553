"""JPEG headers: the frame header, and what must be known before it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradiva.eager.jit.jit import jit

from .headers_tiff import exif_orientation
from .image_info import UINT8, UINT16, ImageInfo

_CODINGS = {
    0xC0: "baseline",
    0xC1: "extended",
    0xC2: "progressive",
    0xC3: "lossless",
    0xC9: "arithmetic",
    0xCA: "arithmetic progressive",
    0xCB: "arithmetic lossless",
}
_HIERARCHICAL = frozenset((0xC5, 0xC6, 0xC7, 0xCD, 0xCE, 0xCF))
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD8)))
_COLORS = {1: "gray", 3: "ycbcr", 4: "cmyk inverted"}
_NO_ADOBE, _YCCK = -1, 2  # values of the color transform in Adobe's segment
_EXIF = b"Exif\0\0"
_SHORT = "JPEG ends before its frame header"


def read_jpeg(view: memoryview) -> ImageInfo:
    """Walk the segments up to the frame header."""
    try:
        return _walk(view)
    except IndexError:
        raise ValueError(_SHORT) from None


def _walk(view: memoryview) -> ImageInfo:
    position = 2
    orientation, transform = 1, _NO_ADOBE
    while True:
        if view[position] != 0xFF:
            raise ValueError(
                f"JPEG header is damaged: byte {position} is 0x{view[position]:02x} where a "
                "marker should begin"
            )
        marker = view[position + 1]
        while marker == 0xFF:  # fill bytes may precede any marker
            position += 1
            marker = view[position + 1]
        if marker in _WITHOUT_LENGTH:
            position += 2
            continue
        if marker == 0xD9 or marker == 0xDA:
            raise ValueError("JPEG has no frame header before its image data")
        length = view[position + 2] << 8 | view[position + 3]
        if length < 2:
            raise ValueError(f"JPEG header is damaged: segment at byte {position} has no length")
        start = position + 4
        if marker in _CODINGS:
            return _frame(view, start, length, _CODINGS[marker], orientation, transform)
        if marker in _HIERARCHICAL:
            raise ValueError("hierarchical JPEG is not supported")
        if marker == 0xE1 and bytes(view[start : start + 6]) == _EXIF and orientation == 1:
            orientation = exif_orientation(view[start + 6 : position + 2 + length])
        elif marker == 0xEE and length >= 14 and bytes(view[start : start + 5]) == b"Adobe":
            transform = view[start + 11]
        position += 2 + length


def _frame(
    view: memoryview, start: int, length: int, coding: str, orientation: int, transform: int
) -> ImageInfo:
    bits = view[start]
    height = view[start + 1] << 8 | view[start + 2]
    width = view[start + 3] << 8 | view[start + 4]
    channels = view[start + 5]
    if channels not in _COLORS or length != 8 + 3 * channels:
        raise ValueError(f"JPEG frame header is damaged: {channels} components in {length} bytes")
    view[start + length - 3]  # the component table must be there too
    return jpeg_info(height, width, channels, bits, orientation, coding, transform)


@functools.lru_cache(maxsize=4096)
def jpeg_info(
    height: int,
    width: int,
    channels: int,
    bits: int = 8,
    orientation: int = 1,
    coding: str = "baseline",
    transform: int = _NO_ADOBE,
) -> ImageInfo:
    """What a frame header and the segments before it say. Files of one kind share it."""
    color = _COLORS[channels]
    if channels == 4 and transform in (_NO_ADOBE, _YCCK):
        color = "cmyk" if transform == _NO_ADOBE else "ycck"
    dtype = UINT8 if bits <= 8 else UINT16
    return ImageInfo("jpeg", height, width, channels, bits, dtype, orientation, color, coding)


@jit
def read_plain(data: Any, offsets: Any, sizes: Any, most: int, found: Any) -> None:
    """Height, width and channels of baseline JPEGs of 8 bits, 1 or 3 channels, at most so many
    pixels and without EXIF; of all else, and of what is damaged, 0: that is for `read_jpeg`."""
    for sample in range(len(offsets)):
        for column in range(found.shape[1]):  # not an assignment to a slice: 2 s to compile
            found[sample, column] = 0
        view = data[offsets[sample] : offsets[sample] + sizes[sample]]
        position, size = 2, len(view)
        if size < 4 or view[0] != 0xFF or view[1] != 0xD8:
            continue
        while position + 10 < size and view[position] == 0xFF:
            marker, start = view[position + 1], position + 4
            length = np.int64(view[position + 2]) << 8 | view[position + 3]
            if marker == 0xC0 and length >= 11 and start + length - 3 < size and view[start] == 8:
                height = np.int64(view[start + 1]) << 8 | view[start + 2]
                width = np.int64(view[start + 3]) << 8 | view[start + 4]
                channels = np.int64(view[start + 5])
                known = (channels == 1 or channels == 3) and length == 8 + 3 * channels
                if known and 0 < height * width <= most:
                    found[sample] = height, width, channels
                break
            if length < 2 or not (marker == 0xDB or marker == 0xC4 or 0xE0 <= marker <= 0xFE):
                break
            if marker == 0xE1 and view[start] == 0x45:  # "E" of EXIF
                break
            position += 2 + length
