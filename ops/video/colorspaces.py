"""Standards of color that videos may be taken to follow, and their numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Int64Array

COLORSPACES: Final = {
    "bt601": (104597, 132201, 25675, 53279),
    "bt709": (117489, 138438, 13975, 34925),
    "bt2020": (110013, 140363, 12277, 42626),
    "fcc": (104448, 132798, 24759, 53109),
    "smpte240m": (117579, 136230, 16907, 35559),
}
"""Of each set of equations the weights of red chroma in red, of blue chroma in blue, and of blue
and red chroma in green (to be subtracted), times 2**16, for chroma of the limited range."""
_TAGS: Final = {
    1: "bt709",
    4: "fcc",
    5: "bt601",
    6: "bt601",
    7: "smpte240m",
    9: "bt2020",
    10: "bt2020",
}
"""The numbers of H.273, which the files say."""
_UNTAGGED: Final = (0, 2, 3)
_CHOICES: Final = ", ".join(repr(name) for name in COLORSPACES)


def check_colorspace(name: str | None) -> None:
    """Raise OperatorValueError for a name that is none."""
    if name is not None and name not in COLORSPACES:
        raise op.wrong_value("colorspace", f"one of {_CHOICES}", repr(name))


@lru_cache(maxsize=64)
def color_numbers(colorspace: str, full: bool) -> Int64Array:
    """Scale and offset of luma; then the weights: red chroma in red and in green, blue chroma in
    green and in blue. In units of 2**-13, of luma that is scaled by 2**9."""
    in_red, in_blue, blue_in_green, red_in_green = COLORSPACES[colorspace]
    scale, offset = 1 << 16, 0
    if full:
        in_red, in_blue, blue_in_green, red_in_green = (
            weight * 224 // 255 for weight in (in_red, in_blue, blue_in_green, red_in_green)
        )
    else:
        scale, offset = scale * 255 // 219, 16 << 9
    weights = (in_red, -red_in_green, -blue_in_green, in_blue)
    return np.array([_eighth(scale), offset, *map(_eighth, weights)], np.int64)


def _eighth(value: int) -> int:
    return ((value << 13) + (1 << 15)) >> 16


def colorspace_of(frame: Any, given: str | None) -> str:
    """The equations of a frame: those that are asked for; else by its tag; BT.601 where it says
    nothing. Raises ValueError."""
    if given is not None:
        check_colorspace(given)
        return given
    return equations_of(int(frame.colorspace))


def equations_of(tag: int) -> str:
    """The equations of a tag. Raises ValueError."""
    if tag in _UNTAGGED:
        return "bt601"
    if tag not in _TAGS:
        raise ValueError(
            f"the colors of this video are tagged {tag} of ITU-T H.273, for which there are no "
            f"equations here; `colorspace` chooses others: {_CHOICES}"
        )
    return _TAGS[tag]
