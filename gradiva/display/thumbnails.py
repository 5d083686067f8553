"""One sample as a drawing: pixels, or a text where there is nothing to look at."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module

from .animation import MOST_FRAMES
from .axes import Arranged, Array, arrange
from .colors import to_pixels
from .waveform import waveform

if TYPE_CHECKING:
    import PIL.Image as pil
else:
    pil = lazy_module("PIL.Image", "pillow")

__all__ = ["Drawing", "draw", "fit", "values_text"]

_MOST_PICTURES = 6
_MOST_PIXELS = 1 << 26
"""Encoded images that are larger are not decoded for a thumbnail."""
_MOST_VALUES = 64
_LINE = 36
"""Characters of a line of numbers."""
_WHOLE = 1 << 22
"""Values up to which all are read for their range; beyond, every n-th."""
_WORDS = {"F": "frames", "D": "slices", "C": "channels"}
_GAP = 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """pixels: uint8 (H, W, 3), or (H, W, 4) with opacity, or None: then there is `text`.

    note: what was done to the values; extent: the sample's (H, W), if it is one picture; animation:
    of a video, frames (n, H, W, 3).
    """

    pixels: Array | None
    text: str = ""
    note: str = ""
    extent: tuple[int, int] | None = None
    animation: Array | None = None


def draw(array: Array, layout: str, size: int, willing: bool = False) -> Drawing:
    """A drawing that fits into `size` x `size` pixels; a series of pictures is up to three times
    as wide. willing: see `arrange`."""
    with np.errstate(all="ignore"):  # the mean of values near the largest overflows
        return _draw(array, layout, size, willing)


def _draw(array: Array, layout: str, size: int, willing: bool) -> Drawing:
    if array.dtype.kind not in "biuf":
        array = array.astype(np.float32)  # bfloat16
    found = arrange(array, layout, willing)
    if found.kind == "image":
        return _image(found.array, size)
    if found.kind == "series":
        return _series(found, size)
    if found.kind == "wave":
        pixels, note = waveform(found.array, size * 3 // 2, size // 2)
        return Drawing(pixels, "", note)
    if found.kind == "encoded":
        return _encoded(found, size)
    return Drawing(None, "empty" if found.kind == "empty" else values_text(array))


def fit(pixels: Array, size: int, smooth: bool = True) -> Array:
    """The picture with `size` as its longer side, or nearly: small ones grow by whole numbers."""
    height, width = pixels.shape[:2]
    longest = max(height, width)
    factor = size // longest
    if factor >= 1:
        return np.repeat(np.repeat(pixels, factor, axis=0), factor, axis=1)
    target = (max(1, round(width * size / longest)), max(1, round(height * size / longest)))
    how = pil.Resampling.BOX if smooth else pil.Resampling.NEAREST
    return np.asarray(pil.fromarray(np.ascontiguousarray(pixels)).resize(target, how))


def values_text(array: Array) -> str:
    """The numbers, or their range if they are many."""
    if array.size <= _MOST_VALUES:
        return np.array2string(
            array, separator=", ", precision=4, suppress_small=True, max_line_width=_LINE
        )
    if array.dtype == np.bool_:
        return f"{array.size} values\n{np.count_nonzero(array)} true"
    step = -(-array.size // _WHOLE)
    values = array.reshape(-1)[::step].astype(np.float64)
    finite = values[np.isfinite(values)]
    lines = [f"{array.size} values"]
    if finite.size:
        lines += [f"{finite.min():.4g}..{finite.max():.4g}, mean {finite.mean():.4g}"]
    if finite.size < values.size:
        lines += [f"{values.size - finite.size} NaN or infinite"]
    if step > 1:
        lines += [f"(of every {step}th value)"]
    return "\n".join(lines)


def _sparse(array: Array, size: int) -> Array:
    """Every n-th row and column, so that at least twice `size` pixels are left of the longer
    side: huge images cost no more than large ones."""
    step = max(1, max(array.shape[-3:-1]) // (2 * size))
    return array[..., ::step, ::step, :]


def _image(array: Array, size: int) -> Drawing:
    pixels, note = to_pixels(_sparse(array, size), array)
    smooth = not note.startswith("mask")
    return Drawing(fit(pixels, size, smooth), "", note, (array.shape[0], array.shape[1]))


def _series(found: Arranged, size: int) -> Drawing:
    """Some of the pictures side by side, and more of them as an animation, scaled alike."""
    count = len(found.array)
    chosen = _spread(count, _MOST_PICTURES)
    moving = _spread(count, MOST_FRAMES) if found.axis == "F" and count > 1 else chosen[:0]
    drawn = np.union1d(chosen, moving)
    some = _sparse(found.array, size)[drawn]
    large = len(chosen) * found.array[0].size > _WHOLE
    whole = some[np.isin(drawn, chosen)] if large else found.array[chosen]
    pixels, note = to_pixels(some, whole)
    smooth = not note.startswith("mask")
    frames = [fit(picture, size // 2, smooth) for picture in pixels[np.isin(drawn, chosen)]]
    gap = np.zeros((frames[0].shape[0], _GAP, 4), np.uint8)
    parts: list[Array] = []
    for frame in frames:
        parts += [gap] * bool(parts)
        parts.append(np.dstack([frame, np.full(frame.shape[:2], 255, np.uint8)]))
    words = _WORDS.get(found.axis, f"along {found.axis}")
    which = f"{words} {', '.join(map(str, chosen))} of {count}"
    if len(chosen) == count:
        which = f"{count} {words}"
    animation = None
    if moving.size:
        animation = np.stack([fit(one, size, smooth) for one in pixels[np.isin(drawn, moving)]])
    note = "; ".join([which, *([note] if note else [])])
    return Drawing(np.hstack(parts), "", note, animation=animation)


def _spread(count: int, most: int) -> Array:
    """Numbers of frames, evenly among all; the first and the last are there."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _encoded(found: Arranged, size: int) -> Drawing:
    """A thumbnail of what the bytes of a file hold."""
    what = f"encoded {found.axis}"
    amount = f"{found.array.size:,} bytes"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large images; those are refused below
            image: Any = pil.open(io.BytesIO(found.array.tobytes()))
            width, height = image.size
            what = f"{what}, {width} x {height}"
            image.draft("RGB", (2 * size, 2 * size))
            if image.size[0] * image.size[1] > _MOST_PIXELS:
                return Drawing(None, f"{what}, {amount}")
            pixels = np.asarray(image.convert("RGBA" if "A" in image.getbands() else "RGB"))
    except Exception as error:  # noqa: BLE001  a codec may raise anything; a notebook goes on
        return Drawing(None, f"{what}, {amount}\nnot decoded: {error}")
    drawing = _image(pixels, size)
    return Drawing(drawing.pixels, "", what, (height, width))
