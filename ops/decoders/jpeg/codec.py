"""The codec for whole JPEGs: simplejpeg, or Pillow where simplejpeg is not installed.

Both call libjpeg-turbo, and give the same bits. But Pillow has no fast inverse DCT, and reports no
warnings: a damaged file is decoded as far as it can be.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.lazy_import import can_import, lazy_module
from gradiva.eager.types.arrays import Array

if TYPE_CHECKING:
    import simplejpeg
    from PIL import Image, JpegImagePlugin
else:
    simplejpeg = lazy_module("simplejpeg", "simplejpeg")
    Image = lazy_module("PIL.Image", "pillow")
    JpegImagePlugin = lazy_module("PIL.JpegImagePlugin", "pillow")

__all__ = ["decode_by_pillow", "decode_whole", "encoded_sample", "has_simplejpeg", "simplejpeg"]


def has_simplejpeg() -> bool:
    """Whether simplejpeg decodes: then damage is reported as it does."""
    return can_import("simplejpeg")


def decode_whole(
    data: Array,
    color: str,
    out: Array,
    fast_idct: bool = False,
    scale: int = 1,
    *,
    strict: bool = True,
) -> None:
    """Fill `out`, uint8 of the shape of the image at 1/scale; color: RGB, BGR, GRAY or CMYK, whose
    inks are as stored. Raises ValueError with the library's reason; strict: also for a warning."""
    if fast_idct or has_simplejpeg():
        least = out.shape[:2] if scale > 1 else (0, 0)
        simplejpeg.decode_jpeg(data, color, fast_idct, False, *least, buffer=out, strict=strict)
    else:
        decode_by_pillow(data, color, out, scale)


def decode_by_pillow(data: Array, color: str, out: Array, scale: int = 1) -> None:
    """The same by Pillow, which also takes YCbCr: what a lossless file stores, whose colors are
    made here."""
    try:
        # the class itself: Image.open judges the size by rules of its own, and warns
        without_exif = data.tobytes().replace(b"Exif\0\0", bytes(6))  # it warns about damaged EXIF
        image: Any = JpegImagePlugin.JpegImageFile(io.BytesIO(without_exif))
        height, width = (extent // scale for extent in reversed(image.size))
        # "L": the stored luminance, not one computed from RGB
        image.draft({"GRAY": "L", "YCbCr": "YCbCr"}.get(color), (width, height))
        if image.mode != "RGB" and color in ("RGB", "BGR", "YCbCr"):
            image = image.convert("RGB")
        pixels = np.asarray(image)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  Pillow raises many types on damaged files
        if "truncated" in str(error) and not has_simplejpeg():
            raise ValueError("JPEG data ends early: the file is cut") from None
        raise ValueError("JPEG data is damaged or ends before its pixels") from None
    if pixels.size != out.size:
        raise ValueError("JPEG data is damaged: its header contradicts itself")
    pixels = pixels[..., ::-1] if color == "BGR" else pixels.reshape(out.shape)
    # Pillow takes each CMYK file for one of Adobe's, and inverts it.
    np.copyto(out, ~pixels if color == "CMYK" else pixels)


def encoded_sample(height: int, width: int, subsampling: str) -> Array:
    """A JPEG, for functions that compare their own decoding with the library's: 444, 422 or 420."""
    y, x = np.mgrid[0:height, 0:width]
    picture = np.stack([3 * y + x, 5 * x, y * x // 7], -1).astype(np.uint8)
    stream = io.BytesIO()
    named = ":".join(subsampling)
    Image.fromarray(picture).save(stream, "JPEG", quality=90, subsampling=named)
    return np.frombuffer(stream.getvalue(), np.uint8).copy()
