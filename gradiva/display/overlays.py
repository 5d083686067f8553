"""Boxes and masks over a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module

from .axes import Array
from .colors import color
from .grid import font
from .marks import TargetMarks

if TYPE_CHECKING:
    import PIL.Image as pil
    import PIL.ImageDraw as pil_draw
else:
    pil = lazy_module("PIL.Image", "pillow")
    pil_draw = lazy_module("PIL.ImageDraw", "pillow")

__all__ = ["draw_boxes", "draw_marks", "draw_masks"]

_OPACITY = 0.5


def draw_masks(pixels: Array, masks: Array) -> Array:
    """The picture (h, w, 3) with masks (n, H, W) over it, half transparent.

    Where a mask is 0 the picture stays as it is. Integers are classes with a color each; several
    masks, and masks of booleans, have a color each; floats 0..1 are opacity.
    """
    height, width = pixels.shape[:2]
    rows = np.arange(height) * masks.shape[1] // height
    columns = np.arange(width) * masks.shape[2] // width
    result = pixels.astype(np.float64)
    for number, mask in enumerate(masks[:, rows[:, None], columns]):
        own = np.array(color(number + 1))
        if mask.dtype.kind in "iu" and len(masks) == 1:
            classes, where = np.unique(mask, return_inverse=True)
            table = np.array([color(int(label)) for label in classes])
            paint = table[where.reshape(mask.shape)]
        else:
            paint = np.broadcast_to(own, (*mask.shape, 3))
        cover = np.nan_to_num(mask.astype(np.float64)) if mask.dtype.kind == "f" else mask != 0
        share = (np.clip(cover, 0, 1) * _OPACITY)[..., None]
        result = result * (1 - share) + paint * share
    return result.round().astype(np.uint8)


def draw_boxes(pixels: Array, boxes: Array, texts: Sequence[str]) -> Array:
    """The picture (h, w, 3) with boxes: (n, 4), left, top, right, bottom, 0..1 of the picture.

    The frame of a box lies inside it. texts: one for each box, or none.
    """
    height, width = pixels.shape[:2]
    image = pil.fromarray(np.ascontiguousarray(pixels))
    pen = pil_draw.Draw(image)
    thickness = 1 if max(height, width) < 100 else 2
    for number, box in enumerate(boxes.astype(np.float64)):
        if not np.isfinite(box).all():
            continue
        ink = color(number + 1)
        edges = np.clip(box, -1, 2) * [width, height, width, height]
        across, down = np.sort(edges.round().astype(int).reshape(2, 2), axis=0).T.tolist()
        (left, right), (top, bottom) = across, down
        corner = (max(left, right - 1), max(top, bottom - 1))
        pen.rectangle(((left, top), corner), outline=ink, width=thickness)
        if number < len(texts) and texts[number]:
            _tag(pen, texts[number], (max(left, 0), max(top, 0)), ink)
    return np.asarray(image)


def draw_marks(pixels: Array, marks: TargetMarks) -> Array:
    """The picture (h, w, 3) with points as dots and the outlines of polygons, in the colors of
    their objects. marks: in parts of the picture."""
    height, width = pixels.shape[:2]
    image = pil.fromarray(np.ascontiguousarray(pixels))
    pen = pil_draw.Draw(image)
    radius = 1 if max(height, width) < 100 else 2
    for number, corners in marks.outlines:
        places = [tuple(one) for one in (np.clip(corners, -1, 2) * [width, height]).tolist()]
        if len(places) > 1:
            pen.line([*places, places[0]], fill=color(number + 1), width=1)
    for number, points in marks.points:
        for x, y in (points * [width, height]).tolist():
            if 0 <= x <= width and 0 <= y <= height:
                ends = (x - radius, y - radius, x + radius, y + radius)
                pen.ellipse(ends, fill=color(number + 1), outline=(255, 255, 255))
    return np.asarray(image)


def _tag(
    pen: pil_draw.ImageDraw, text: str, place: tuple[int, int], ink: tuple[int, int, int]
) -> None:
    """A text on a ground of the box's color, in its upper left corner."""
    letters = font(10)
    text = text.encode("latin-1", "replace").decode("latin-1")
    x, y = place
    pen.rectangle((place, (x + int(letters.getlength(text)) + 4, y + 12)), fill=ink)
    red, green, blue = ink
    bright = 0.3 * red + 0.6 * green + 0.1 * blue > 140
    pen.text((x + 2, y), text, fill=(0, 0, 0) if bright else (255, 255, 255), font=letters)
