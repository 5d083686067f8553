"""A contact sheet: each row an image, and the result for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradiva.eager.support.errors import OperatorValueError, wrong_value
from gradiva.eager.support.lazy_import import lazy_module

if TYPE_CHECKING:
    import PIL.Image as pil
    import PIL.ImageDraw as pil_draw
    import PIL.ImageFont as pil_font
else:
    pil = lazy_module("PIL.Image", "pillow")
    pil_draw = lazy_module("PIL.ImageDraw", "pillow")
    pil_font = lazy_module("PIL.ImageFont", "pillow")

__all__ = ["CELL", "Row", "check_folder", "draw_sheet"]

CELL = 168
"""The side of the square that a picture is drawn in."""
_GAP, _HEAD, _LABEL = 14, 64, 18


class Row(NamedTuple):
    """An image, by its name, as it is and in some variants: uint8 (H, W), (H, W, 3) or (H, W, 4).
    None is an empty place."""

    name: str
    pictures: list[np.ndarray[Any, Any] | None]


def check_folder(folder: Any, given: str, command: str) -> None:
    """Raise OperatorValueError where a sheet cannot be written into this folder."""
    if not folder.is_dir():
        raise wrong_value("--out", "a file in a folder that exists", repr(given), operator=command)


def draw_sheet(rows: Sequence[Row], path: str, title: str) -> None:
    """Lay the rows out on a dark page, each name below its image, and save it. Raises
    OperatorValueError where the file cannot be written."""
    columns = max((len(row.pictures) for row in rows), default=1)
    width = _GAP + (CELL + _GAP) * max(columns, 2)
    height = _HEAD + (CELL + _GAP + _LABEL) * len(rows) + _GAP
    page = pil.new("RGB", (width, height), (24, 26, 31))
    draw = pil_draw.Draw(page)
    large, small = pil_font.load_default(22), pil_font.load_default(12)
    draw.text((_GAP, 16), "gradiva", font=large, fill=(236, 238, 242))
    draw.text((2 * _GAP + CELL, 24), title, font=small, fill=(150, 156, 168))
    for index, (name, pictures) in enumerate(rows):
        top = _HEAD + index * (CELL + _GAP + _LABEL)
        below = top + CELL
        for column, pixels in enumerate(pictures):
            if pixels is None:
                continue
            picture = pil.fromarray(pixels)
            picture.thumbnail((CELL, CELL), pil.Resampling.LANCZOS)
            left = _GAP + column * (CELL + _GAP) + (CELL - picture.width) // 2
            upper = top + (CELL - picture.height) // 2
            page.paste(picture, (left, upper))
            if column == 0:
                below = upper + picture.height
        draw.text((_GAP, below + 3), name, font=small, fill=(190, 195, 204))
    try:
        page.save(path)
    except (OSError, ValueError) as error:
        raise OperatorValueError(f"{path} cannot be written: {error}") from error
