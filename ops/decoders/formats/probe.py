"""From the first bytes of a file to its format, shape and sample type."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.jit.later import Later
from gradiva.eager.values.batch import Batch

from .headers_jp2 import CODESTREAM, read_jp2
from .headers_jpeg import check_image_data, jpeg_info, read_jpeg, read_plain
from .headers_other import read_bmp, read_pnm, read_webp
from .headers_png import read_png
from .headers_tiff import read_tiff
from .image_info import MAX_PIXELS, ImageInfo, check_size

_PNG = b"\x89PNG\r\n\x1a\n"
_JP2 = b"\0\0\0\x0cjP  \r\n\x87\n"
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_PNM = (b"P1", b"P2", b"P3", b"P4", b"P5", b"P6")
_WHITE = b" \t\r\n#"
FORMATS = "JPEG, PNG, BMP, TIFF, PNM, WebP, JPEG 2000"


_later = Later()


def plain_headers(batch: Batch, max_pixels: int = MAX_PIXELS) -> list[ImageInfo | None]:
    """The headers of those files that most are like, read at once; None for what `probe` reads."""
    data, laid = batch.data, batch.batch_shape
    if not (_later.pays(len(laid)) and data.flags.writeable and data.flags.c_contiguous):
        return [None] * len(laid)
    found = np.empty((len(laid), 3), np.int64)
    read_plain(data, laid.offsets, laid.volumes, max_pixels, found)
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
    raise ValueError(
        f"unknown image format: starts with bytes {head[:8].hex(' ')}; known are {FORMATS}"
    )
