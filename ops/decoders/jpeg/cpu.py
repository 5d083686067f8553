"""JPEG, straight into the caller's memory wherever the pixels can go there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.convert import cmyk_to_rgb, weighted_gray
from gradiva.ops.decoders.image_info import ImageInfo

from .codec import decode_by_pillow, decode_whole, has_simplejpeg, simplejpeg
from .eighth import decode_eighth

_CUT = "Premature end of JPEG file"
_NO_CONVERSION = "Unsupported color conversion"
_NO_HEADER = "Could not determine subsampling"


def decode_jpeg(
    data: Array, info: ImageInfo, color: str, out: Array | None, fast_idct: bool
) -> Array:
    """Pixels in stored orientation, in ``out`` if given (uint8, C-contiguous, of that shape).

    ``color`` is RGB, BGR, GRAY or CMYK (the file's own four channels, 0 is no ink).
    """
    if info.bits != 8 or info.coding == "arithmetic lossless":
        raise ValueError(f"{info.coding} JPEG with {info.bits}-bit samples is not supported")
    if info.channels == 4:
        return _from_cmyk(data, info, color, fast_idct)
    if info.coding == "lossless":
        image = _from_lossless(data, info, color)
        if out is None:
            return image
        np.copyto(out, image)
        return out
    return _decode(data, info, color, out, fast_idct)


def straight_decoder() -> Callable[[Array, ImageInfo, str, Array, bool], Any]:
    """`decode_jpeg` for many files of 8 bits, with the codec asked at once."""
    if not has_simplejpeg():
        return decode_jpeg
    codec = simplejpeg.decode_jpeg

    def decode(data: Array, info: ImageInfo, color: str, out: Array, fast_idct: bool) -> None:
        try:
            if info.scale == 1:
                codec(data, color, fast_idct, buffer=out)
                return
        except ValueError:
            pass  # `decode_jpeg` knows what can be done about it
        decode_jpeg(data, info, color, out, fast_idct)

    return decode


def _from_cmyk(data: Array, info: ImageInfo, color: str, fast_idct: bool) -> Array:
    stored = _decode(data, info, "CMYK", None, fast_idct)
    inverted = info.color != "cmyk"  # nearly every file: Adobe stores 255 for no ink
    if inverted == (color == "CMYK"):
        stored = ~stored
    if color == "CMYK":
        return stored
    rgb = cmyk_to_rgb(stored)
    if color == "GRAY":
        return weighted_gray(rgb, truncate=True)
    return rgb[..., ::-1] if color == "BGR" else rgb


def _from_lossless(data: Array, info: ImageInfo, color: str) -> Array:
    """Of lossless files libjpeg-turbo turns no color into another: it is asked for what is stored,
    which is gray, RGB or YCbCr."""
    if info.channels == 1:
        gray = _decode(data, info, "GRAY", None, False)
        return gray if color == "GRAY" else np.repeat(gray, 3, axis=2)
    try:
        image = _decode(data, info, "RGB", None, False)
    except ValueError as error:
        if has_simplejpeg() and _NO_CONVERSION not in str(error):
            raise
        image = np.empty((info.height, info.width, 3), np.uint8)
        decode_by_pillow(data, "YCbCr", image)
    if color == "GRAY":
        return weighted_gray(image)
    return image[..., ::-1] if color == "BGR" else image


def _decode(data: Array, info: ImageInfo, color: str, out: Array | None, fast_idct: bool) -> Array:
    if out is None:
        channels = {"GRAY": 1, "CMYK": 4}.get(color, 3)
        out = np.empty((info.height, info.width, channels), np.uint8)
    if info.scale == 8 and info.is_sequential_jpeg and decode_eighth(data, color, out):
        return out
    try:
        decode_whole(data, color, out, fast_idct, info.scale)
    except ValueError as error:
        if not has_simplejpeg():
            raise
        _decode_tolerantly(data, info, color, out, fast_idct, str(error))
    return out


def _decode_tolerantly(
    data: Array, info: ImageInfo, color: str, out: Array, fast_idct: bool, complaint: str
) -> None:
    """Take what the strict pass refused, if it is one of the flaws that DALI accepts.

    Real data sets hold many files with stray bytes between segments or damaged blocks, which decode
    to a usable image; a file that ends early does not, and is refused.
    """
    if _CUT in complaint:
        raise ValueError("JPEG data ends early: the file is cut")
    if _NO_HEADER in complaint:
        decode_by_pillow(data, color, out, info.scale)
        return
    # Whatever stays undecoded must not show another sample's pixels. Behind a warning, simplejpeg
    # does not tell of an error, after which nothing is decoded: nothing but what was there before.
    for before in (0, 255):
        out.fill(before)
        try:
            decode_whole(data, color, out, fast_idct, info.scale, strict=False)
        except ValueError as error:
            complaint = str(error)
            break
        if (out != before).any():
            return
    raise ValueError(f"JPEG data is damaged: {complaint.split(': ', 1)[-1]}")
