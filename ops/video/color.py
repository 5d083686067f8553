"""From a decoder's frame to pixels."""

from __future__ import annotations

from typing import Any, Final

from gradiva.eager.types.arrays import Array

__all__ = ["planes_to_rgb"]

_EXACT: Final = 2 | 0x2000 | 0x40000
"""Of swscale: bilinear, chroma at full resolution, accurate rounding."""
_STANDARDS: Final = {"bt601": 5, "bt709": 1, "bt2020": 9}


def planes_to_rgb(frame: Any, out: Array, colorspace: str | None) -> None:
    """Write a frame of PyAV as RGB, uint8 (height, width, 3). colorspace: what the file is taken to
    say of its colors; None for what it says."""
    given = {} if colorspace is None else {"src_colorspace": _STANDARDS[colorspace]}
    out[...] = frame.reformat(format="rgb24", interpolation=_EXACT, **given).to_ndarray()
