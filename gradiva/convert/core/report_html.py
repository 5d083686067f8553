"""Reports as HTML, with pictures of the differences."""

from __future__ import annotations

import html as markup
from collections.abc import Sequence

import numpy as np

from gradiva.display.grid import Cell, grid_html
from gradiva.display.thumbnails import draw

from .rows import Row, Sight
from .step import Array

__all__ = ["page", "table"]

_SIZE = 200
_CELL = "style='text-align:left;vertical-align:top;padding:3px 12px 3px 0'"


def table(head: str, rows: Sequence[Row]) -> str:
    """The rows as a table, below it a picture for each that differs."""
    words = ("step", "gradiva", "promise", "result")
    lines = [f"<p><b>{markup.escape(head)}</b></p>", "<table>"]
    lines.append(_line("th", words))
    for row in rows:
        code = markup.escape("\n".join(row.lines))
        result = markup.escape(row.result) + ("" if row.kept else " &#9888;")
        cells = (
            markup.escape(row.title),
            f"<pre style='margin:0'>{code}</pre>",
            markup.escape(row.promise),
            result,
        )
        lines.append(_line("td", cells))
    lines.append("</table>")
    lines.extend(_pictures(row.title, row.worst) for row in rows if row.worst is not None)
    return "\n".join(lines)


def page(title: str, head: str, rows: Sequence[Row]) -> str:
    """The same as a whole page."""
    return (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{markup.escape(title)}</title></head>"
        "<body style='font-family:sans-serif;margin:24px;max-width:1100px'>"
        f"{table(head, rows)}</body></html>\n"
    )


def _line(kind: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{kind} {_CELL}>{cell}</{kind}>" for cell in cells) + "</tr>"


def _pictures(title: str, worst: Sight) -> str:
    """What both sides made of the image that differs the most, and where they differ."""
    apart = _difference(worst)
    largest = apart.max() if apart.size else 0.0
    cells = [
        _cell(worst.ours, worst.layout, ("gradiva", worst.name)),
        _cell(worst.theirs, worst.layout, ("the original", worst.name)),
        _cell(apart, worst.layout, ("difference", f"white is {largest:.4g}")),
    ]
    return f"<h4>{markup.escape(title)}</h4>{grid_html(cells, _SIZE)}"


def _difference(worst: Sight) -> Array:
    apart = np.abs(worst.ours.astype(np.float64) - worst.theirs.astype(np.float64))
    channels = worst.layout.find("C")
    if channels >= 0 and apart.ndim == len(worst.layout):
        apart = apart.max(axis=channels, keepdims=True)
    return np.nan_to_num(apart)


def _cell(array: Array, layout: str, caption: tuple[str, ...]) -> Cell:
    values = array
    if array.dtype.kind == "f" and array.size:  # as a picture: from the least to the largest value
        finite = np.nan_to_num(array)
        low, high = finite.min(), finite.max()
        values = ((finite - low) * (255 / max(high - low, 1e-30))).astype(np.uint8)
    drawn = draw(values, layout if values.ndim == len(layout) else "", _SIZE)
    return Cell(drawn.pixels, drawn.text, caption)
