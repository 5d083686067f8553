"""JPEG headers: the frame header, and what must be known before it."""

from __future__ import annotations

import functools
import re

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.types.arrays import I64Table, I64Vector, U8Vector
from gradiva.ops.decoders.tiff.tags import exif_orientation

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
_MARKER = re.compile(rb"\xff[^\x00\x01\xff\xd0-\xd7]")
"""With a length behind it, or the end of the image."""
_SHORT = "JPEG ends before its frame header"
_MOST_SCANS = 256
"""An encoder makes a dozen. Each passes over the whole image, however short it is in the file."""
_PIXELS_PER_BYTE = 1024
"""At most: a block of 8 x 8 coefficients has a code of at least one bit, and subsampling by 4 x 4
leaves a block for 114 pixels (three components of which one has 4 x 1 blocks, one 1 x 4)."""


def read_jpeg(view: memoryview) -> ImageInfo:
    """Walk the segments up to the first scan: EXIF and Adobe's segment may stand anywhere before
    it."""
    try:
        return _walk(view)
    except IndexError:
        raise ValueError(_SHORT) from None


def _walk(view: memoryview) -> ImageInfo:
    position = 2
    orientation, transform = 1, _NO_ADOBE
    frame: tuple[int, int, str] | None = None
    while True:
        # What is damaged behind the frame header is judged when the image is decoded.
        if frame is not None and position + 4 > len(view):
            break
        if view[position] != 0xFF:
            if frame is not None:
                break
            raise ValueError(
                f"JPEG header is damaged: byte {position} is 0x{view[position]:02x} where a "
                "marker should begin"
            )
        marker = view[position + 1]
        if marker == 0xFF:  # fill bytes may precede any marker
            position += 1
            continue
        if marker in _WITHOUT_LENGTH:
            position += 2
            continue
        if marker == 0xD9 or marker == 0xDA:
            if frame is not None:
                break
            raise ValueError("JPEG has no frame header before its image data")
        length = view[position + 2] << 8 | view[position + 3]
        if length < 2:
            if frame is not None:
                break
            raise ValueError(f"JPEG header is damaged: segment at byte {position} has no length")
        start = position + 4
        if marker in _CODINGS and frame is None:
            frame = start, length, _CODINGS[marker]
            _check_frame(view, start, length)
        elif marker in _HIERARCHICAL and frame is None:
            raise ValueError("hierarchical JPEG is not supported")
        elif marker == 0xE1 and bytes(view[start : start + 6]) == _EXIF and orientation == 1:
            orientation = exif_orientation(view[start + 6 : position + 2 + length])
        elif marker == 0xEE and length >= 14 and bytes(view[start : start + 5]) == b"Adobe":
            transform = view[start + 11] if start + 11 < len(view) else transform
        position += 2 + length
    return _info(view, frame[0], frame[2], orientation, transform)


def check_image_data(view: memoryview, info: ImageInfo) -> None:
    """Raise ValueError for a file that cannot hold the pixels that its header promises, or that has
    so many scans that it would be decoded for hours."""
    arithmetic = "arithmetic" in info.coding  # less than a bit for a block
    if not arithmetic and info.height * info.width > _PIXELS_PER_BYTE * len(view):
        raise ValueError(
            f"JPEG header promises {info.height} x {info.width} pixels, more than its {len(view)} "
            "bytes can hold: the file is cut or damaged"
        )
    if "progressive" in info.coding or not _is_one_scan(view, info.channels):
        scans = view.tobytes().count(b"\xff\xda")  # no fewer than there are
        scans = _scans(view) if scans > _MOST_SCANS else scans
        if scans > _MOST_SCANS:
            raise ValueError(f"JPEG has {scans} scans, more than the limit of {_MOST_SCANS}")


def _scans(view: memoryview) -> int:
    """Scans of the image, which are not counted far beyond the limit. What lies behind its end,
    such as the video of a phone, is no part of it."""
    position, scans = 2, 0
    while scans < 16 * _MOST_SCANS:
        # As libjpeg goes on: what is no marker is passed over.
        found = _MARKER.search(view, position)
        if found is None or found[0][-1] == 0xD9:
            break
        position = found.end()
        scans += found[0][-1] == 0xDA
        if position + 2 <= len(view):
            position += view[position] << 8 | view[position + 1]
    return scans


def _is_one_scan(view: memoryview, channels: int) -> bool:
    """Whether the first scan holds all components: then no other is decoded."""
    position, size = 2, len(view)
    while position + 4 < size and view[position] == 0xFF:
        marker = view[position + 1]
        if marker == 0xDA:
            return view[position + 4] == channels
        if marker == 0xFF:
            position += 1
        elif marker in _WITHOUT_LENGTH:
            position += 2
        else:
            position += 2 + (view[position + 2] << 8 | view[position + 3])
    return False


def _check_frame(view: memoryview, start: int, length: int) -> None:
    channels = view[start + 5]
    if channels not in _COLORS or length != 8 + 3 * channels:
        raise ValueError(f"JPEG frame header is damaged: {channels} components in {length} bytes")
    view[start + length - 3]  # the component table must be there too


def _info(view: memoryview, start: int, coding: str, orientation: int, transform: int) -> ImageInfo:
    bits = view[start]
    height = view[start + 1] << 8 | view[start + 2]
    width = view[start + 3] << 8 | view[start + 4]
    return jpeg_info(height, width, view[start + 5], bits, orientation, coding, transform)


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
def read_plain(
    data: U8Vector, offsets: I64Vector, sizes: I64Vector, most: int, found: I64Table
) -> None:
    """Height, width and channels of baseline JPEGs of 8 bits, 1 or 3 channels in one scan, at most
    so many pixels, no more than the file can hold, and without EXIF; of all else, and of what is
    damaged, 0: that is for `read_jpeg` and `check_image_data`."""
    for sample in range(len(offsets)):
        # Element by element: Numba takes 2 s to compile an assignment to a slice.
        for column in range(found.shape[1]):
            found[sample, column] = 0
        height = width = channels = np.int64(0)
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
                if not known or not 0 < height * width <= min(most, size * _PIXELS_PER_BYTE):
                    break
            elif marker == 0xDA:
                if channels > 0 and view[start] == channels:
                    found[sample, 0], found[sample, 1] = height, width
                    found[sample, 2] = channels
                break
            elif length < 2 or not (
                marker == 0xDB or marker == 0xC4 or marker == 0xDD or 0xE0 <= marker <= 0xFE
            ):
                break
            if marker == 0xE1 and view[start] == 0x45:  # "E" of EXIF
                break
            position += 2 + length
