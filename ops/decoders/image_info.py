"""What a file's header says about its image, the limits put on it, and windows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

UINT8: np.dtype[Any] = np.dtype(np.uint8)
UINT16: np.dtype[Any] = np.dtype(np.uint16)
FLOAT32: np.dtype[Any] = np.dtype(np.float32)

Window = tuple[int, int, int, int]
"""(top, left, height, width) in pixels."""
# Which axes of the stored image run backwards in the upright one, by EXIF orientation.
_ROWS_BACKWARDS = (3, 4, 6, 7)
_COLUMNS_BACKWARDS = (2, 3, 7, 8)
SEQUENTIAL = ("baseline", "extended")
"""Codings of JPEG in which a scan has all bits of its coefficients, by Huffman's codes."""
MAX_PIXELS = 2**28
"""Largest image that is decoded where `max_pixels` says nothing else: 16384 x 16384."""


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """The header of an encoded image.

    ``height`` and ``width`` are as stored, before the orientation is applied; ``channels`` counts
    what ``ANY_DATA`` delivers (3 for a palette). ``color`` is one of gray, gray+alpha, rgb,
    rgb+alpha, palette, ycbcr, cmyk, cmyk inverted (255 is no ink), ycck (also inverted), channels
    (more than four).
    ``coding`` names how the image is stored where that matters (baseline, progressive, lossless,
    arithmetic; interlaced; ascii; animated; compressed).
    """

    format: str
    height: int
    width: int
    channels: int
    bits: int = 8
    dtype: np.dtype[Any] = UINT8
    orientation: int = 1
    color: str = "rgb"
    coding: str = ""
    maximum: int = 0
    """The sample value that means white, where it is not the largest of ``dtype``; else 0."""
    scale: int = 1
    """``height`` and ``width`` are those of the file divided by this, rounded up: its JPEG is
    decoded at 1/scale."""

    @property
    def is_lossy_jpeg(self) -> bool:
        """Whether it is a JPEG of 8 bits with coefficients: it can be decoded at any scale, and
        straight into memory."""
        return self.format == "jpeg" and self.bits == 8 and "lossless" not in self.coding

    @property
    def is_sequential_jpeg(self) -> bool:
        """Whether it is a JPEG of 8 bits, 1 or 3 channels and a sequential coding, in one scan or
        in several."""
        usual = self.coding in SEQUENTIAL and self.channels != 4
        return usual and self.format == "jpeg" and self.bits == 8


def at_scale(info: ImageInfo, least: tuple[int, int]) -> ImageInfo:
    """The image at the smallest of the scales 1/2, 1/4, 1/8 at which it has at least so many rows
    and columns as stored; ``info`` itself if it has fewer, or is no plain JPEG."""
    for scale in (8, 4, 2):
        # Below 8 rows or columns, two scales may give the same extents.
        height, width = -(-info.height // scale), -(-info.width // scale)
        fits = min(info.height, info.width) >= 8 and height >= least[0] and width >= least[1]
        if fits and info.is_lossy_jpeg:
            return replace(info, height=height, width=width, scale=scale)
    return info


def integer_dtype(bits: int) -> np.dtype[Any]:
    """The smallest of the two sample types that holds ``bits``."""
    return UINT8 if bits <= 8 else UINT16


def check_size(info: ImageInfo, max_pixels: int) -> ImageInfo:
    """``info`` itself, if its image exists and is within the limit."""
    if info.height < 1 or info.width < 1:
        raise ValueError(f"{info.format} header gives an empty image: {info.height} x {info.width}")
    if info.height * info.width * max(1, info.channels // 4) > max_pixels:
        raise ValueError(
            f"{info.format} image of {info.height} x {info.width} pixels with {info.channels} "
            f"channels is larger than the limit of {max_pixels} pixels"
        )
    return info


def encoded_bytes(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``data`` with its bytes in one piece, or a ``ValueError`` that says what is wrong with it."""
    if data.dtype != np.uint8 or data.ndim != 1:
        raise ValueError(
            "an encoded image is a one-dimensional array of uint8; got "
            f"{data.ndim} dimensions of {data.dtype}"
        )
    if not data.size:
        raise ValueError("empty file")
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


def stored_window(window: Window, height: int, width: int, orientation: int) -> Window:
    """Where a window of the upright image lies in the stored image of that height and width."""
    y, x, h, w = window
    if orientation >= 5:
        y, x, h, w = x, y, w, h
    rows_backwards, columns_backwards = backwards(orientation)
    if rows_backwards:
        y = height - y - h
    if columns_backwards:
        x = width - x - w
    return y, x, h, w


def backwards(orientation: int) -> tuple[bool, bool]:
    """Whether the rows and the columns of the stored image run backwards in the upright one."""
    return orientation in _ROWS_BACKWARDS, orientation in _COLUMNS_BACKWARDS
