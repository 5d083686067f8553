"""From the first bytes of a file to its format, shape and sample type."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradiva.ops.decoders.image_info import MAX_PIXELS, ImageInfo, check_size, encoded_bytes
from gradiva.ops.decoders.jpeg.headers import check_image_data

from .table import FORMATS, known_format

_OTHERS: tuple[tuple[int, bytes, str], ...] = (
    (4, b"ftypheic", "HEIC, which is not supported"),
    (4, b"ftypheix", "HEIC, which is not supported"),
    (4, b"ftypmif1", "HEIF, which is not supported"),
    (4, b"ftyp", "a video in MP4 or a file like it"),
    (0, b"\0\0\1\0", "ICO, which is not supported"),
    (0, b"%PDF", "PDF, which is not supported"),
    (0, b"8BPS", "Photoshop's, which is not supported"),
    (0, b"<svg", "SVG, which is not supported"),
    (0, b"\x1f\x8b", "compressed by gzip"),
    (0, b"PK\x03\x04", "a ZIP archive"),
    (0, b"\x93NUMPY", "an npy file: see decoders.numpy"),
    (0, b"RIFF", "RIFF, perhaps a sound: see decoders.audio"),
    (0, b"<!DO", "a web page"),
    (0, b"<html", "a web page"),
    (0, b"version https://git-lfs", "a pointer of Git LFS, not the file: git lfs pull"),
)
"""Beginnings of files that are met where images are expected: where in the file, and what it is."""
_PATH = re.compile(rb"[\x20-\x7e]{1,1000}\.[A-Za-z0-9]{2,5}")


def probe(data: np.ndarray[Any, Any], *, max_pixels: int = MAX_PIXELS) -> ImageInfo:
    """Read the header of an encoded image.

    ``data`` holds the bytes of the file (uint8, one dimension). Nothing is decoded. Raises
    ``ValueError`` with the reason if this is not an image that can be decoded, or if it has more
    than ``max_pixels`` pixels.
    """
    view = encoded_bytes(data).data
    found = known_format(view)
    if found is None:
        raise ValueError(
            f"unknown image format: starts with bytes {bytes(view[:8]).hex(' ')}{_hint(view)}; "
            f"known are {', '.join(each.name for each in FORMATS)}"
        )
    return check_size(found.read_header(view), max_pixels)


def check_data(data: np.ndarray[Any, Any], info: ImageInfo) -> None:
    """Look on, where there is more to know before an image is decoded than its header says.

    Raises ``ValueError`` for what would take memory or hours and give no image.
    """
    if info.format == "jpeg":
        check_image_data(encoded_bytes(data).data, info)


def _hint(view: memoryview) -> str:
    head = bytes(view[:32])
    for place, start, what in _OTHERS:
        if head[place:].startswith(start):
            return f": this is {what}"
    if len(view) < 1024 and _PATH.fullmatch(view):
        return ": this looks like the name of a file: see imread"
    return ""
