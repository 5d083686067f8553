"""Formats through Pillow: GIF and AVIF, and without OpenCV those that Pillow gives the bits of.

It is always the first image of a file.
"""

from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.convert import integer_gray, weighted_gray
from gradiva.ops.decoders.image_info import ImageInfo

if TYPE_CHECKING:
    from PIL import features
else:
    features = lazy_module("PIL.features", "pillow")

_MODES = {"L": 1, "RGB": 3, "P": 3, "RGBA": 4}
_COLORS = {1: "gray", 3: "rgb", 4: "rgb+alpha"}
_MODES_OF_CHANNELS = {1: "L", 2: "RGBA", 4: "RGBA"}
_OPENCV_GRAYS = {
    "png": ((9797, 19234, 3737), 0),
    "webp": ((9798, 19235, 3735), 1 << 14),
    "jpeg2000": ((9798, 19235, 3735), 1 << 14),
    "bmp": ((4899, 9617, 1868), 1 << 13),
}
"""The arguments of `integer_gray` for the gray that OpenCV makes of colors, by formats."""
_PLUGINS = {"jpeg2000": "Jpeg2K", "webp": "WebP"}
"""Pillow's modules and classes begin so, or like the format."""
_ORIENTATION = 0x0112
_DISPOSAL = 0b11100
_BRANDS = 256
"""Bytes in which the brands of a container are looked for."""
_MOST_GROWN = 1 << 26
"""Pixels; from some 89 million on Pillow warns."""


def is_avif(view: memoryview) -> bool:
    """Whether a file begins like an AVIF."""
    head = bytes(view[:_BRANDS])
    if head[4:8] != b"ftyp":
        return False
    # Its main brand may be that of all pictures in this container; then another one tells.
    brands = head[8 : int.from_bytes(head[:4], "big")]
    return bool({b"avif", b"avis"} & {brands[k : k + 4] for k in range(0, len(brands), 4)})


def has_avif() -> bool:
    """Whether Pillow reads AVIF. It warns where it is asked for what it has never heard of."""
    return "avif" in features.modules and bool(features.check("avif"))


def is_exact_with_pillow(info: ImageInfo) -> bool:
    """Whether `decode_with_pillow` gives OpenCV's bits: Pillow has no colors of 16 bits, and scales
    samples of other depths."""
    depths = range(9) if info.format == "png" else (8,)
    exact = info.bits in depths or (info.bits == 16 and info.channels == 1)
    return exact and not info.maximum and info.format in _OPENCV_GRAYS


def read_with_pillow(view: memoryview, name: str) -> ImageInfo:
    """The header of a file in this format. Raises ValueError."""
    if name == "AVIF" and not has_avif():
        raise ValueError("AVIF needs pillow 11.3 or newer (pip install -U pillow)")
    with _opened(view, name) as image:
        channels = _channels(image)
        width, height = image.size
        orientation = _orientation(image) if name == "AVIF" else 1
    return ImageInfo(
        name.lower(), height, width, channels, orientation=orientation, color=_COLORS[channels]
    )


def decode_with_pillow(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C) in stored orientation; ``color``: RGB, BGR, GRAY or ALL."""
    with _opened(data.data, info.format.upper()) as image:
        wanted = _MODES_OF_CHANNELS.get(info.channels, "RGB") if color == "ALL" else "RGB"
        try:
            if info.bits == 16:
                deep = np.asarray(image).astype(np.uint16)[..., None]
                return deep if color in ("ALL", "GRAY") else np.repeat(deep, 3, axis=2)
            pixels = np.asarray(image.convert(wanted))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  Pillow raises many types on damaged files
            raise ValueError(f"{info.format} data is damaged or ends early: {error}") from None
    pixels = pixels.reshape(*pixels.shape[:2], -1)
    if pixels.shape[:2] != (info.height, info.width):
        raise ValueError(f"{info.format} data is damaged: its header contradicts itself")
    if color == "GRAY" and info.format in _OPENCV_GRAYS:
        return integer_gray(pixels, *_OPENCV_GRAYS[info.format])
    if color == "GRAY":
        return weighted_gray(pixels)
    return pixels[..., ::-1] if color == "BGR" else pixels


def _opened(view: memoryview, name: str) -> Any:
    stream = io.BytesIO(view)
    if name == "GIF":
        _calm(stream.getbuffer())
    try:
        # The class itself: Image.open judges the size by rules of its own, and warns.
        begin = _PLUGINS.get(name.lower(), name.capitalize())
        plugin = importlib.import_module(f"PIL.{begin}ImagePlugin")
        return getattr(plugin, f"{begin}ImageFile")(stream)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  Pillow raises many types on damaged files
        raise ValueError(f"{name} header is damaged or ends early: {error}") from None


def _calm(gif: memoryview) -> None:
    """Leave nothing before the first image that Pillow warns of: its disposal, for which room would
    be made, is about the next images. Raises ValueError where a small screen would grow to a large
    one."""

    def chain(at: int) -> int:
        while at < len(gif) and gif[at]:
            at += gif[at] + 1
        return at + 1

    screen = _size(gif, 6)
    at = 13 + (3 << (gif[10] & 7) + 1 if len(gif) > 10 and gif[10] & 0x80 else 0)
    while at < len(gif) and gif[at] != ord(";"):
        kind = gif[at]
        at += 1
        if kind == ord("!"):
            head = bytes(gif[at : at + 3])
            if head[:1] == b"\xf9" and len(head) == 3:
                gif[at + 2] = head[2] & ~_DISPOSAL
            if head[:1] != b"\xfe" and head[1:2] == b"\0":
                at += 1  # as Pillow: an empty block at once does not end these
            at = chain(at + 1)
        elif kind == ord(","):
            left, right = _size(gif, at), _size(gif, at + 4)
            grown = [max(a, b + c) for a, b, c in zip(screen, left, right, strict=True)]
            if grown != screen and grown[0] * grown[1] > _MOST_GROWN:
                raise ValueError("GIF header is damaged: its first image leaves its screen")
            return


def _size(gif: memoryview, at: int) -> list[int]:
    """Two numbers of two bytes."""
    return [int.from_bytes(gif[k : k + 2], "little") for k in (at, at + 2)]


def _channels(image: Any) -> int:
    if image.mode not in _MODES:
        raise ValueError(f"{image.format} with pixels {image.mode} is not supported")
    return 4 if "transparency" in image.info else _MODES[image.mode]


def _orientation(image: Any) -> int:
    found = image.getexif().get(_ORIENTATION, 1)
    return found if found in range(1, 9) else 1
