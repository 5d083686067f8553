"""JPEG headers: the frame header, and what must be known before it."""

from __future__ import annotations

import functools
import struct

from gradiva.ops.decoders.image_info import UINT8, UINT16, ImageInfo
from gradiva.ops.decoders.tiff_tags import exif_orientation

from .segments import ADOBE, APP1, END, FRAMES, SCAN, START, count_scans, segments

_HIERARCHICAL = frozenset((0xC5, 0xC6, 0xC7, 0xCD, 0xCE, 0xCF))
_LAST = frozenset((START, END, SCAN))
"""Behind these there is nothing more to know."""
_WRONG = _HIERARCHICAL | _LAST
"""Before the frame header."""
_FRAME = struct.Struct(">BHHB")
_COLORS = {1: "gray", 3: "ycbcr", 4: "cmyk inverted"}
_NO_ADOBE, _YCCK = -1, 2  # values of the color transform in Adobe's segment
_EXIF = b"Exif\0\0"
_SHORT = "JPEG ends before its frame header"
_MOST_SCANS = 256
"""An encoder makes a dozen. Each passes over the whole image, however short it is in the file."""
_FEW_BYTES = 1 << 12
"""Fewer are searched sooner than segments are walked over."""
PIXELS_PER_BYTE = 1024
"""At most: a block of 8 x 8 coefficients has a code of at least one bit, and subsampling by 4 x 4
leaves a block for 114 pixels (three components of which one has 4 x 1 blocks, one 1 x 4)."""


def read_jpeg(view: memoryview) -> ImageInfo:
    """Walk the segments up to the first scan: EXIF and Adobe's segment may stand anywhere before
    it. Raises ValueError."""
    orientation, transform = 1, _NO_ADOBE
    frame: tuple[int, int, int, int] | None = None
    coding, problem = "", _SHORT
    if bytes(view[2:3]) != b"\xff":
        raise ValueError(_SHORT)
    for marker, begin, start, end, stray in segments(view):
        # What is damaged behind the frame header is judged when the image is decoded.
        if frame is not None:
            if marker in _LAST:
                break
        elif marker in FRAMES and stray < 0:
            frame, coding = _read_frame(view, start, end), FRAMES[marker]
        elif stray >= 0 or marker in _WRONG:
            raise ValueError(_what_is_wrong(view, marker, begin, stray))
        elif end < start:  # libjpeg passes over it
            problem = f"JPEG header is damaged: segment at byte {begin} has no length"
        if marker == APP1 and orientation == 1 and bytes(view[start : start + 6]) == _EXIF:
            orientation = exif_orientation(view[start + 6 : end])
        elif marker == ADOBE and end - start >= 12 and bytes(view[start : start + 5]) == b"Adobe":
            transform = view[start + 11] if start + 11 < len(view) else transform
    if frame is None:
        raise ValueError(problem)
    return jpeg_info(*frame, orientation, coding, transform)


def _what_is_wrong(view: memoryview, marker: int, begin: int, stray: int) -> str:
    """About a marker that must not be before the frame header."""
    if stray >= 0:
        found = f"byte {stray} is 0x{view[stray]:02x} where a marker should begin"
        return f"JPEG header is damaged: {found}"
    if marker == START:
        return f"JPEG header is damaged: another image begins at byte {begin}"
    if marker in _HIERARCHICAL:
        return "hierarchical JPEG is not supported"
    return "JPEG has no frame header before its image data"


def check_image_data(view: memoryview, info: ImageInfo) -> None:
    """Raise ValueError for a file that cannot hold the pixels that its header promises, or that has
    so many scans that it would be decoded for hours."""
    arithmetic = "arithmetic" in info.coding  # less than a bit for a block
    if not arithmetic and info.height * info.width > PIXELS_PER_BYTE * len(view):
        raise ValueError(
            f"JPEG header promises {info.height} x {info.width} pixels, more than its {len(view)} "
            "bytes can hold: the file is cut or damaged"
        )
    few = len(view) < _FEW_BYTES
    if few or "progressive" in info.coding or not _is_one_scan(view, info.channels):
        scans = view.tobytes().count(b"\xff\xda")  # no fewer than there are
        scans = count_scans(view) if scans > _MOST_SCANS else scans
        if scans > _MOST_SCANS:
            raise ValueError(f"JPEG has {scans} scans, more than the limit of {_MOST_SCANS}")


def _is_one_scan(view: memoryview, channels: int) -> bool:
    """Whether the first scan holds all components: then no other is decoded."""
    for marker, _, start, _, _ in segments(view):
        if marker == SCAN:
            return start < len(view) and view[start] == channels
    return False


def _read_frame(view: memoryview, start: int, end: int) -> tuple[int, int, int, int]:
    """Height, width, channels and bits. Raises ValueError."""
    if start + _FRAME.size > len(view):
        raise ValueError(_SHORT)
    bits, height, width, channels = _FRAME.unpack_from(view, start)
    length = end - start + 2
    if channels not in _COLORS or length != 8 + 3 * channels:
        raise ValueError(f"JPEG frame header is damaged: {channels} components in {length} bytes")
    if end > len(view):  # the component table must be there too
        raise ValueError(_SHORT)
    return height, width, channels, bits


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
