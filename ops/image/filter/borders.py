"""Borders: which pixels stand beyond the edge of an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array

BORDERS: Final = ("reflect_101", "reflect_1001", "wrap", "clamp", "constant")
BORDERS_SOURCE: Final = Path(__file__).with_name("borders.cuh")
"""The same borders in CUDA C++."""


_ALSO: Final = {
    "101": "reflect_101",
    "1001": "reflect_1001",
    "reflect": "reflect_1001",
    "edge": "clamp",
    "fill": "constant",
    "pad": "constant",
}


def border_named(name: str) -> str:
    """One of BORDERS, by that or another name, in letters of any case. Raises
    OperatorValueError."""
    border = _ALSO.get(name.lower(), name.lower())
    if border not in BORDERS:
        raise op.wrong_value("border", " or ".join((*BORDERS, *_ALSO)), repr(name))
    return border


def border_text(border: str) -> str:
    """C++: which border borders.cuh is compiled for."""
    return f"constexpr int BORDER = {BORDERS.index(border)};\n"


def pad(image: Array, before: list[int], after: list[int], border: str, fill: Any) -> Array:
    """A copy of an image with so many more pixels before and after along its first axes.

    border: one of BORDERS; "reflect_101" mirrors without, "reflect_1001" with the outermost pixel.
    No axis of the image is empty.
    """
    if not any(before) and not any(after):
        return np.ascontiguousarray(image)
    if border == "constant":
        width = list(zip(before, after, strict=True))
        width += [(0, 0)] * (image.ndim - len(before))
        return np.pad(image, width, constant_values=fill)
    for axis, (low, high) in enumerate(zip(before, after, strict=True)):
        image = image.take(_places(image.shape[axis], low, high, border), axis)
    return np.ascontiguousarray(image)


def _places(extent: int, before: int, after: int, border: str) -> op.Int64Array:
    index = np.arange(-before, extent + after)
    if border == "clamp" or (border == "reflect_101" and extent == 1):
        return np.clip(index, 0, extent - 1)
    if border == "wrap":
        return index % extent
    if border == "reflect_1001":
        index %= 2 * extent
        return np.minimum(index, 2 * extent - 1 - index)
    period = 2 * (extent - 1)
    index %= period
    return np.minimum(index, period - index)
