"""From the first bytes of a file to its format, shape and sample type."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.values.batch import Batch

from .headers_jp2 import CODESTREAM, read_jp2
from .headers_jpeg import check_image_data, jpeg_info, read_jpeg, read_plain
from .headers_other import read_bmp, read_pnm, read_webp
from .headers_png import read_png
from .headers_tiff import read_tiff
from .image_info import MAX_PIXELS, ImageInfo, check_size
from .pillow_formats import pillow_format, read_with_pillow

_PNG = b"\x89PNG\r\n\x1a\n"
_JP2 = b"\0\0\0\x0cjP  \r\n\x87\n"
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_PNM = (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6")
_WHITE = b" \t\r\n#"
FORMATS = "JPEG, PNG, BMP, TIFF, PNM, WebP, JPEG 2000, GIF, AVIF"
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


_background = BackgroundKernel()


def plain_headers(batch: Batch, max_pixels: int = MAX_PIXELS) -> list[ImageInfo | None]:
    """The headers of those files that most are like, read at once; None for what `probe` reads."""
    data, laid = batch.data, batch.batch_shape
    found = np.empty((len(laid), 3), np.int64)

    def read(count: int) -> None:
        read_plain(data, laid.offsets[:count], laid.volumes[:count], max_pixels, found)

    fits = data.flags.writeable and data.flags.c_contiguous
    if not fits or not _background.is_worth_compiling(len(laid), lambda: read(0)):
        return [None] * len(laid)
    read(len(laid))
    return [jpeg_info(*row) if row[2] else None for row in found.tolist()]


def probe(data: np.ndarray[Any, Any], *, max_pixels: int = MAX_PIXELS) -> ImageInfo:
    """Read the header of an encoded image.

    ``data`` holds the bytes of the file (uint8, one dimension). Nothing is decoded. Raises
    ``ValueError`` with the reason if this is not an image that can be decoded, or if it has more
    than ``max_pixels`` pixels.
    """
    view = encoded_bytes(data).data
    if bytes(view[:3]) == b"\xff\xd8\xff":
        info = read_jpeg(view)
    else:
        info = _read_other(view)
    return check_size(info, max_pixels)


def check_data(data: np.ndarray[Any, Any], info: ImageInfo) -> None:
    """Look on, where there is more to know before an image is decoded than its header says.

    Raises ``ValueError`` for what would take memory or hours and give no image.
    """
    if info.format == "jpeg":
        check_image_data(encoded_bytes(data).data, info)


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


def _read_other(view: memoryview) -> ImageInfo:
    head = bytes(view[:16])
    if head.startswith(_PNG):
        return read_png(view)
    if head.startswith(_TIFF):
        return read_tiff(view)
    if head[:2] == b"BM":
        return read_bmp(view)
    if head.startswith(_PNM) and head[2:3] in _WHITE:
        return read_pnm(view)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return read_webp(view)
    if head.startswith((_JP2, CODESTREAM)):
        return read_jp2(view)
    if head[:2] == b"\xff\xd8":
        raise ValueError("JPEG ends before its frame header")
    found = pillow_format(view)
    if found is not None:
        return read_with_pillow(view, found)
    raise ValueError(
        f"unknown image format: starts with bytes {head[:8].hex(' ')}{_hint(view)}; "
        f"known are {FORMATS}"
    )


def _hint(view: memoryview) -> str:
    head = bytes(view[:32])
    for place, start, what in _OTHERS:
        if head[place:].startswith(start):
            return f": this is {what}"
    if len(view) < 1024 and _PATH.fullmatch(view):
        return ": this looks like the name of a file: see imread"
    return ""
