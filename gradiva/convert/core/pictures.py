"""The user's own images for a report: paths, bytes, arrays, images of Pillow, batches."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.errors import (
    OperatorTypeError,
    OperatorValueError,
    describe,
    user_location,
)
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor

from .step import Array

if TYPE_CHECKING:
    import PIL.Image as pil
    import PIL.ImageOps as pil_ops
else:
    pil = lazy_module("PIL.Image", "pillow")
    pil_ops = lazy_module("PIL.ImageOps", "pillow")

__all__ = ["Picture", "decoded_by_pillow", "pictures"]

_ENDINGS = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff", ".gif"}
_MOST = 64
"""Images of a report, if nothing else is asked for."""


@dataclass(frozen=True)
class Picture:
    """An image: its name, its file, and None; or its pixels, (H, W, 3), uint8, and no file."""

    name: str
    file: bytes | None
    pixels: Array | None = None

    def encoded(self) -> bytes:
        """The file; of pixels, a PNG."""
        if self.file is not None:
            return self.file
        buffer = io.BytesIO()
        pil.fromarray(np.ascontiguousarray(self.pixels)).save(buffer, "PNG")
        return buffer.getvalue()


def decoded_by_pillow(file: bytes) -> Array:
    """What Pillow makes of a file: RGB, upright by the EXIF tag."""
    with pil.open(io.BytesIO(file)) as opened:
        return np.asarray(pil_ops.exif_transpose(opened).convert("RGB"))


def pictures(images: Any, limit: int | None) -> list[Picture]:
    """The images that a report was given, at most `limit`.

    Raises OperatorTypeError for what is no image, OperatorValueError where there is none, and
    OSError for files that cannot be read.
    """
    most = _MOST if limit is None else limit
    found = [
        _picture(one, number) for number, one in enumerate(itertools.islice(_each(images), most))
    ]
    if not found:
        raise OperatorValueError(
            operator="convert.report",
            argument="images",
            expected="at least one image",
            got=describe(images),
            location=user_location(),
        )
    return found


def _each(images: Any) -> Iterator[Any]:
    if isinstance(images, str | os.PathLike) and Path(images).is_dir():
        files = sorted(Path(images).rglob("*"))
        return (path for path in files if path.suffix.lower() in _ENDINGS and path.is_file())
    if isinstance(images, np.ndarray) and images.ndim == 4:
        return iter(images)
    single = isinstance(images, str | os.PathLike | bytes | np.ndarray | Tensor)
    if single or hasattr(images, "convert") or not isinstance(images, Iterable):
        return iter([images])
    return iter(images)


def _picture(image: Any, number: int) -> Picture:
    name = f"image {number}"
    if isinstance(image, str | os.PathLike):
        path = Path(image)
        return Picture(path.name, path.read_bytes())
    if isinstance(image, bytes):
        return Picture(name, image)
    if hasattr(image, "convert") and hasattr(image, "getbands"):
        return Picture(name, None, np.asarray(image.convert("RGB")))
    if isinstance(image, Batch | Tensor | np.ndarray) or hasattr(image, "__array__"):
        array = np.asarray(image)
        if array.dtype == np.uint8 and array.ndim == 1:
            return Picture(name, array.tobytes())
        if array.dtype == np.uint8 and (array.ndim == 2 or array.shape[2:] == (1,)):
            gray = array.reshape(array.shape[:2])
            return Picture(name, None, np.repeat(gray[..., None], 3, axis=2))
        if array.dtype == np.uint8 and array.ndim == 3 and array.shape[2] == 3:
            return Picture(name, None, array)
    raise OperatorTypeError(
        operator="convert.report",
        argument="images",
        expected="paths, bytes of image files, images of Pillow, or uint8 arrays (H, W, 3)",
        got=describe(image),
        location=user_location(),
    )
