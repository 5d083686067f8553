"""What a sample is to the eye, an image, a series of them, a waveform, and its axes in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

__all__ = ["Arranged", "Array", "Kind", "arrange"]

Array: TypeAlias = np.ndarray[Any, Any]
Kind: TypeAlias = Literal["image", "series", "wave", "encoded", "values", "empty"]

_MAGIC = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"GIF8": "GIF",
    b"II*\x00": "TIFF",
    b"MM\x00*": "TIFF",
}
_WAVE_SAMPLES = 128
_WAVE_FRAMES = 1024
"""A table this long and at most 8 wide is audio, a shorter one may be boxes."""
_SMALLEST_IMAGE = 8
_SMALLEST_PLANE = 16
"""Without a layout, smaller arrays are taken for numbers."""


@dataclass(frozen=True, slots=True)
class Arranged:
    """A sample with its axes in order.

    image: (H, W, C); series: (pictures, H, W, C), `axis` is the letter of what they differ in;
    wave: (samples, channels); encoded: bytes, `axis` is the name of the format; others: as given.
    C is 1 to 4.
    """

    kind: Kind
    array: Array
    axis: str = ""


def arrange(array: Array, layout: str = "", willing: bool = False) -> Arranged:
    """What `array` is, by its layout, or without one by its shape and dtype.

    willing: take small arrays for images too, since somebody asked for a picture.
    """
    if array.size == 0:
        return Arranged("empty", array)
    if array.dtype == np.uint8 and array.ndim == 1:
        name = encoding(array[:16].tobytes())
        if name:
            return Arranged("encoded", array, name)
    letters = layout if len(layout) == array.ndim else ""
    letters = letters or _guess(array, willing)
    if "H" in letters and "W" in letters:
        return _pictures(array, letters)
    if letters.lower() == "ft":  # a spectrogram: low frequencies at the bottom
        return Arranged("image", array[::-1, :, None])
    if letters.lower() == "tf":
        return Arranged("image", array.T[::-1, :, None])
    if letters.lower() in ("t", "tc"):
        return Arranged("wave", array.reshape(len(array), -1))
    if letters.lower() == "ct":
        return Arranged("wave", array.T)
    return Arranged("values", array)


def encoding(start: bytes) -> str:
    """The image format whose files start like this, or the empty string."""
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WebP"
    return next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")


def _guess(array: Array, willing: bool) -> str:
    shape = array.shape
    sound = array.dtype.kind == "f" or array.dtype == np.int16
    if array.ndim == 1:
        return "T" if sound and len(array) >= _WAVE_SAMPLES else ""
    if array.ndim == 2:
        if sound and shape[0] >= _WAVE_FRAMES and shape[1] <= 8:
            return "TC"
        return "HW" if willing or min(shape) >= _SMALLEST_PLANE else ""
    channels = (1, 2, 3, 4) if willing else (1, 3, 4)
    letters = {3: ("HWC", "CHW"), 4: ("FHWC", "FCHW")}.get(array.ndim, ())
    for found in letters:
        extents = dict(zip(found, shape, strict=True))
        large = willing or min(extents["H"], extents["W"]) >= _SMALLEST_IMAGE
        if extents["C"] in channels and large:
            return found
    return "DHW" if willing and array.ndim == 3 else ""


def _pictures(array: Array, letters: str) -> Arranged:
    series = [letter for letter in letters if letter not in "HWC"]
    order = [*series, *(letter for letter in "HWC" if letter in letters)]
    array = array.transpose([letters.index(letter) for letter in order])
    if "C" not in letters:
        array = array[..., None]
    for _ in series[1:]:
        array = array[:, array.shape[1] // 2]
    if array.shape[-1] > 4:
        if series:
            array = array[..., :1]
        else:
            array, series = np.moveaxis(array, -1, 0)[..., None], ["C"]
    return Arranged("series" if series else "image", array, series[0] if series else "")
