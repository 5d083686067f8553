"""PNG, BMP, PNM, WebP and JPEG 2000 through OpenCV, which releases the GIL.

DALI uses the same codecs with the same switches for all of these, so its gray and its
colors come out bit for bit. Without OpenCV, Pillow decodes what it gives the same bits of.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gradiva.eager.support.opencv import cv2, has_opencv
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.image_info import ImageInfo

from .pillow_formats import decode_with_pillow, is_exact_with_pillow


@lru_cache(maxsize=1)
def _flags() -> dict[str, int]:
    _silence()
    as_stored = cv2.IMREAD_IGNORE_ORIENTATION | cv2.IMREAD_ANYDEPTH
    return {
        # Before 4.11 there is no RGB: then `try_opencv` gets BGR, and turns it round.
        "RGB": getattr(cv2, "IMREAD_COLOR_RGB", cv2.IMREAD_COLOR) | as_stored,
        "BGR": cv2.IMREAD_COLOR | as_stored,
        "GRAY": cv2.IMREAD_GRAYSCALE | as_stored,
        "ALL": cv2.IMREAD_UNCHANGED,
    }


def _silence() -> None:
    """Codecs report through OpenCV's log, which prints; what a person needs is in our errors."""
    if hasattr(cv2, "setLogLevel"):  # up to 4.12
        cv2.setLogLevel(0)
    elif hasattr(cv2.utils, "logging"):  # from 4.13
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)


def decode_opencv(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C) in stored orientation and depth; ``color``: RGB, BGR, GRAY or ALL."""
    if not has_opencv() and is_exact_with_pillow(info):
        return decode_with_pillow(data, info, color)
    image = try_opencv(data, color)
    if image is None and color in ("RGB", "BGR"):
        gray = try_opencv(data, "GRAY")  # JPEG 2000 codestreams of one component refuse color
        image = None if gray is None else np.repeat(gray, 3, axis=2)
    if image is None:
        raise ValueError(f"{info.format} data is damaged or ends early: it cannot be decoded")
    if image.shape[:2] != (info.height, info.width):
        raise ValueError(
            f"{info.format} data decodes to {image.shape[0]} x {image.shape[1]} pixels where its "
            f"header gives {info.height} x {info.width}"
        )
    return image


def color_of_file(info: ImageInfo, color: str) -> str:
    """ALL by the name of one or three channels, which a file may store in other ways."""
    if color != "ALL" or info.channels not in (1, 3):
        return color
    return "GRAY" if info.channels == 1 else "RGB"


def decode_by_opencv(data: Array, info: ImageInfo, color: str) -> Array:
    """The same as `decode_opencv`, with ALL by the name of one or three channels."""
    return decode_opencv(data, info, color_of_file(info, color))


def try_opencv(data: Array, color: str) -> Array | None:
    """As ``decode_opencv``, with None for any failure; ALL delivers the file's own channels."""
    try:
        flags = _flags()
        image: Array | None = cv2.imdecode(data, flags[color])
        if image is None or image.size == 0:
            return None
        if image.ndim == 2:
            return image[..., np.newaxis]
        turned = color == "RGB" and flags["RGB"] == flags["BGR"]
        if turned or (color == "ALL" and image.shape[2] == 3):
            return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        if color == "ALL" and image.shape[2] == 4:
            return cv2.cvtColor(image, cv2.COLOR_BGRA2RGBA)
        return image
    except cv2.error:
        return None
