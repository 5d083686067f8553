"""How the frames of a decoder stand in memory, by the names that FFmpeg gives to them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

_PLANAR: Final = re.compile(r"yuv(?P<kind>[aj]?)(?P<ratio>4\d\d)p(?P<depth>9|10|12|14|16)?(le)?")
_HALVINGS: Final = {
    "444": (0, 0),
    "440": (0, 1),
    "422": (1, 0),
    "420": (1, 1),
    "411": (2, 0),
    "410": (2, 2),
}


class PixelFormat(NamedTuple):
    """across, down: how often chroma is halved along rows and columns; depth: bits of a sample;
    drop: bits below it in its word; together: whether chroma shares one plane; red_first: with red
    before blue; gray: whether there is no chroma; full: whether luma goes from 0 to the top."""

    across: int
    down: int
    depth: int = 8
    drop: int = 0
    together: bool = False
    red_first: bool = False
    gray: bool = False
    full: bool = False


_OTHERS: Final = {
    "nv12": PixelFormat(1, 1, together=True),
    "nv21": PixelFormat(1, 1, together=True, red_first=True),
    "nv16": PixelFormat(1, 0, together=True),
    "nv24": PixelFormat(0, 0, together=True),
    "nv42": PixelFormat(0, 0, together=True, red_first=True),
    "p010le": PixelFormat(1, 1, 10, 6, together=True),
    "p012le": PixelFormat(1, 1, 12, 4, together=True),
    "p016le": PixelFormat(1, 1, 16, 0, together=True),
    "gray": PixelFormat(0, 0, gray=True, full=True),
}


@lru_cache(maxsize=64)
def pixel_format(name: str) -> PixelFormat | None:
    """What is known of a format; None where the kernels do not take it."""
    found = _PLANAR.fullmatch(name)
    if found is None:
        return _OTHERS.get(name)
    depth = int(found["depth"] or 8)
    if found["ratio"] not in _HALVINGS or (depth > 8) != name.endswith("le"):
        return None
    return PixelFormat(*_HALVINGS[found["ratio"]], depth, full=found["kind"] == "j")
