"""The strokes of a picture: colors, text, lines and curves as SVG, and how wide text is."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from .layers import Point

SANS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
COLORS = {  # fill, border, name
    "source": ("#dff3e4", "#2c8a4b", "#14532d"),
    "operator": ("#eef4fc", "#5b7fb5", "#1d3557"),
    "random": ("#fff0dc", "#d9822b", "#7a3e00"),
    "key": ("#fffaf2", "#d9822b", "#8a4b08"),
    "constant": ("#f1f1f1", "#8c929a", "#3d4248"),
    "output": ("#33507a", "#33507a", "#ffffff"),
    "fused": ("#f7f2fc", "#8457b8", "#4c2a7a"),
}
INK, GRAY, FAINT = "#57606a", "#6b7280", "#b9c0c8"
NAME, LINE, SMALL = 13.0, 11.0, 9.5
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def curve(path: Sequence[Point], start: int) -> str:
    """Straight where a path stands or passes, bent between."""
    parts = [f"M{number(path[start].x)} {number(path[start].y)}"]
    for index in range(start + 1, len(path)):
        one, two = path[index - 1], path[index]
        if abs(one.x - two.x) < 0.1:
            parts.append(f"V{number(two.y)}")
        else:
            middle = (one.y + two.y) / 2
            ways = (one.x, middle, two.x, middle, two.x, two.y)
            parts.append("C" + " ".join(map(number, ways)))
    return "".join(parts)


def text_at(
    x: float,
    y: float,
    text: str,
    size: float,
    color: str,
    *,
    bold: bool = False,
    mono: bool = False,
    anchor: str = "middle",
    corner: Point | None = None,
) -> str:
    if corner is not None:
        x, y, mono = x + corner.x, y + corner.y, True
    family = f' font-family="{_MONO}"' if mono else ""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{size:g}" fill="{color}" '
        f'text-anchor="{anchor}"{weight}{family}>{escape(text)}</text>'
    )


def straight(
    x: float, y: float, right: float, bottom: float, color: str, width: float = 1.0
) -> str:
    way = f"M{number(x)} {number(y)}L{number(right)} {number(bottom)}"
    return f'<path d="{way}" stroke="{color}" stroke-width="{width}"/>'


def escape(text: str) -> str:
    """Text for XML, which has no place for control characters and lone surrogates."""
    return html.escape(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text))


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def mono_width(text: str, size: float) -> float:
    return len(text) * size * 0.61


def bold_width(text: str, size: float) -> float:
    return len(text) * size * 0.66
