"""Drawings with captions, in a grid: as HTML and as one PNG picture."""

from __future__ import annotations

import base64
import html as markup
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.errors import (
    OperatorRuntimeError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)
from gradiva.eager.support.lazy_import import lazy_module

from .animation import animation
from .axes import Array

if TYPE_CHECKING:
    import PIL.Image as pil
    import PIL.ImageDraw as pil_draw
    import PIL.ImageFont as pil_font
else:
    pil = lazy_module("PIL.Image", "pillow")
    pil_draw = lazy_module("PIL.ImageDraw", "pillow")
    pil_font = lazy_module("PIL.ImageFont", "pillow")

__all__ = ["Cell", "Figure", "cell_html", "encode", "font", "grid_html"]

_MARGIN = 8
_LINE = 14
_FONT = 11
_LETTER = 7
"""The width of a letter of numbers, at most."""
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
"""Of the files that figures are written to, by the ending of the name."""
_PAPER, _TEXT = (255, 255, 255), (40, 40, 40)


@dataclass(frozen=True, slots=True)
class Cell:
    """One sample: `pixels`, uint8 (H, W, 3 or 4), or `text` where that is None; what stands below
    it, line by line; the bytes of a WAV file that can be played, or none; frames (n, H, W, 3) of an
    animation, or none."""

    pixels: Array | None
    text: str
    caption: tuple[str, ...] = ()
    audio: bytes = b""
    animation: Array | None = None


def encode(pixels: Array, form: str = "PNG") -> bytes:
    """The picture as a file of a format that Pillow writes."""
    buffer = io.BytesIO()
    quality = {} if form == "PNG" else {"quality": 95}
    pil.fromarray(np.ascontiguousarray(pixels)).save(buffer, form, **quality)
    return buffer.getvalue()


def font(size: int = _FONT) -> Any:
    """The font that Pillow brings."""
    return pil_font.load_default(size)


def cell_html(cell: Cell, size: int) -> str:
    """A <figure>; colors are the page's, so that it can be read on dark pages too."""
    lines = [markup.escape(line) for line in cell.caption if line]
    width = size
    if cell.pixels is None:
        width = max(size, max(map(len, cell.text.splitlines()), default=0) * _LETTER)
        body = (
            "<pre style='margin:0;text-align:left;font-size:11px;white-space:pre;"
            "background:none;color:inherit'>"
            f"{markup.escape(cell.text)}</pre>"
        )
    else:
        width = max(size, cell.pixels.shape[1])
        data = base64.b64encode(encode(cell.pixels)).decode()
        alternative = markup.escape("; ".join(cell.caption))
        body = (
            f"<img alt='{alternative}' style='margin:0;max-width:none' "
            f"src='data:image/png;base64,{data}'>"
        )
    if cell.animation is not None:
        kind, played = animation(cell.animation)
        moving = base64.b64encode(played).decode()
        body += (
            "<br><img alt='the same as an animation' style='margin:4px 0 0;max-width:none' "
            f"src='data:{kind};base64,{moving}'>"
        )
    if cell.audio:
        sound = base64.b64encode(cell.audio).decode()
        body += (
            f"<br><audio controls preload='none' style='width:{width}px;height:32px' "
            f"src='data:audio/wav;base64,{sound}'></audio>"
        )
    return (
        f"<figure style='margin:0;max-width:{width}px;text-align:center;font-size:11px;"
        f"overflow-wrap:anywhere'>{body}<figcaption>{'<br>'.join(lines)}</figcaption></figure>"
    )


def grid_html(cells: Sequence[Cell], size: int, columns: int | None = None) -> str:
    """The cells in rows of `columns`, or of as many as the page has room for."""
    style = "display:flex;flex-wrap:wrap"
    if columns is not None:
        style = f"display:grid;grid-template-columns:repeat({columns},max-content)"
    inside = "".join(cell_html(cell, size) for cell in cells)
    return f"<div style='{style};gap:8px;align-items:baseline;margin-top:6px'>{inside}</div>"


class Figure:
    """What `gradiva.show` returns: a notebook shows it; `save(path)` writes it as a PNG, JPEG or
    WebP file.

    cells: the samples drawn; more: how many samples were left out.
    """

    def __init__(self, cells: Sequence[Cell], columns: int, size: int, more: int = 0) -> None:
        self.cells = tuple(cells)
        self.columns = columns
        self.size = size
        self.more = more

    def __repr__(self) -> str:
        count = len(self.cells)
        shown = f"{count} of {count + self.more} samples" if self.more else f"{count} samples"
        if count + self.more == 1:
            shown = "1 sample"
        return f"Figure({shown}, columns={self.columns}; save(path) writes it as PNG)"

    def _repr_html_(self) -> str:
        if not self.cells:
            return "<div>no samples</div>"
        more = f"<div>... and {self.more} more</div>" if self.more else ""
        return grid_html(self.cells, self.size, self.columns) + more

    def _repr_png_(self) -> bytes:
        return encode(self.pixels())

    def pixels(self) -> Array:
        """The figure on white, uint8 (H, W, 3)."""
        rows = [
            self.cells[first : first + self.columns]
            for first in range(0, len(self.cells), self.columns)
        ]
        widths = [
            max(_extent(row[column], self.size)[1] for row in rows if column < len(row))
            for column in range(min(self.columns, len(self.cells)))
        ]
        heights = [max(_extent(cell, self.size)[0] for cell in row) for row in rows]
        last = "" if self.cells and not self.more else "no samples"
        if self.more:
            last = f"... and {self.more} more"
        total = sum(heights) + _MARGIN * (len(rows) + 1) + (_LINE if last else 0)
        across = max(sum(widths) + _MARGIN * (len(widths) + 1), 120)
        paper = pil.new("RGB", (across, total), _PAPER)
        pen = pil_draw.Draw(paper)
        y = _MARGIN
        for row, height in zip(rows, heights, strict=True):
            x = _MARGIN
            for cell, width in zip(row, widths, strict=False):
                _paint(paper, pen, cell, (x, y), self.size)
                x += width + _MARGIN
            y += height + _MARGIN
        if last:
            pen.text((_MARGIN, y), last, fill=_TEXT, font=font())
        return np.asarray(paper)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure as a PNG, JPEG or WebP file. Raises OperatorValueError for a name with
        another ending, OperatorRuntimeError if the file cannot be written."""
        with annotate_error("Figure.save"):
            try:
                name = os.fsdecode(path)
            except TypeError:
                raise wrong_type("path", "a path", describe(path)) from None
            form = _FORMATS.get(os.path.splitext(name)[1].lower())
            if form is None:
                raise wrong_value(
                    "path", f"a name that ends in {', '.join(_FORMATS)}", describe(name)
                )
            data = encode(self.pixels(), form)
            try:
                with open(name, "wb") as file:
                    file.write(data)
            except OSError as error:
                raise OperatorRuntimeError(f"not written: {error}", file=name) from error


def _lines(cell: Cell, size: int) -> list[str]:
    """The caption, broken and cut to the width of the cell."""
    width = size if cell.pixels is None else max(size, cell.pixels.shape[1])
    return [part for line in cell.caption if line for part in _broken(line, width)]


def _broken(text: str, width: int) -> list[str]:
    """At most three lines."""
    letters = font()
    lines = [""]
    for word in _known(text).split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if not lines[-1] or len(lines) == 3 or letters.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [_cut(line, width) for line in lines]


def _known(text: str) -> str:
    """The font has no other letters than these."""
    return text.encode("latin-1", "replace").decode("latin-1")


def _cut(text: str, width: int) -> str:
    text = _known(text)
    letters = font()
    if letters.getlength(text) <= width:
        return text
    text = text[:width]
    while text and letters.getlength(text + "...") > width:
        text = text[:-1]
    return text + "..."


def _body(cell: Cell) -> list[str]:
    return cell.text.splitlines()[:12]


def _extent(cell: Cell, size: int) -> tuple[int, int]:
    below = _LINE * len(_lines(cell, size))
    if cell.pixels is None:
        return _LINE * len(_body(cell)) + below, size
    height, width = cell.pixels.shape[:2]
    return height + below, max(width, size)


def _paint(
    paper: pil.Image, pen: pil_draw.ImageDraw, cell: Cell, place: tuple[int, int], size: int
) -> None:
    x, y = place
    if cell.pixels is None:
        for line in _body(cell):
            pen.text((x, y), _cut(line, size), fill=_TEXT, font=font())
            y += _LINE
    else:
        image = pil.fromarray(np.ascontiguousarray(cell.pixels))
        paper.paste(image, (x, y), image if image.mode == "RGBA" else None)
        y += cell.pixels.shape[0]
    for line in _lines(cell, size):
        pen.text((x, y), line, fill=_TEXT, font=font())
        y += _LINE
