"""Image files for the tests of converters: of many sizes, and of all kinds of pixels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

__all__ = ["SIZES", "files_of_all_kinds", "photograph", "photographs"]

Array = np.ndarray[Any, Any]
HEIGHTS = (300, 400, 256, 224, 223, 640, 480, 232, 57, 100, 250, 33, 777, 42, 1200, 90, 231, 512)
WIDTHS = (451, 600, 256, 224, 225, 480, 641, 500, 55, 100, 60, 29, 333, 42, 900, 400, 233, 511)
SIZES = (*zip(HEIGHTS, WIDTHS, strict=True), (345, 346), (128, 1000))


def photograph(height: int, width: int) -> Array:
    """Waves, edges and noise, of whole numbers."""
    y, x, c = np.ogrid[:height, :width, :3]
    values = x * (3 + c) + y * (7 - 2 * c) + x // 9 % 2 * 90 + x * y // 50
    noise = np.random.default_rng(height * width).integers(0, 40, (height, width, 3))
    made: Array = ((values + noise) % 256).astype(np.uint8)
    return made


def photographs() -> list[Array]:
    """One of each size."""
    return [photograph(*size) for size in SIZES]


def files_of_all_kinds() -> dict[str, bytes]:
    """By a name: files that are gray, with alpha, in CMYK, turned by the EXIF tag, with a palette,
    and of other formats."""
    color = Image.fromarray(photograph(150, 211))
    turned = Image.Exif()
    turned[0x0112] = 6
    with_alpha = color.convert("RGBA")
    with_alpha.putalpha(Image.fromarray(photograph(150, 211)[..., 0]))
    return {
        "color.jpg": _saved(color, "JPEG", quality=90),
        "gray.jpg": _saved(color.convert("L"), "JPEG"),
        "cmyk.jpg": _saved(color.convert("CMYK"), "JPEG"),
        "turned.jpg": _saved(color, "JPEG", exif=turned),
        "gray.png": _saved(color.convert("L"), "PNG"),
        "alpha.png": _saved(with_alpha, "PNG"),
        "palette.png": _saved(color.convert("P"), "PNG"),
        "color.bmp": _saved(color, "BMP"),
    }


def _saved(picture: Image.Image, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()
