"""What a file's header says about its image, and the limits put on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

UINT8: np.dtype[Any] = np.dtype(np.uint8)
UINT16: np.dtype[Any] = np.dtype(np.uint16)
FLOAT32: np.dtype[Any] = np.dtype(np.float32)

Window = tuple[int, int, int, int]
"""(top, left, height, width) in pixels."""
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


def at_scale(info: ImageInfo, least: tuple[int, int]) -> ImageInfo:
    """The image at the smallest of the scales 1/2, 1/4, 1/8 at which it has at least so many rows
    and columns as stored; ``info`` itself if it has fewer, or is no plain JPEG."""
    plain = info.format == "jpeg" and info.bits == 8 and "lossless" not in info.coding
    for scale in (8, 4, 2):
        # Below 8 rows or columns, two scales may give the same extents.
        height, width = -(-info.height // scale), -(-info.width // scale)
        if plain and min(info.height, info.width) >= 8 and height >= least[0] and width >= least[1]:
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
