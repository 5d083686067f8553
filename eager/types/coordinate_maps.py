"""Coordinate maps: where an operator moves the pixels of its input. Boxes and points follow them.

An operator declares its map beside its shape rule: `@flip.coordinate_map`. Places are (x, y), in
volumes (x, y, z), in pixels from the corner of the first one, so that the center of the first pixel
is (0.5, 0.5), and a change of the size is a factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager.types.arrays import Float64Array, Int64Array

__all__ = [
    "IN_PLACE",
    "Bends",
    "CoordinateMap",
    "FileMap",
    "Gather",
    "NoMap",
    "axis_map",
    "gather_of",
    "gathers",
    "gathers_alike",
    "spatial_axes",
    "window_map",
]

Rule: TypeAlias = Callable[[Any], Any]


class NoMap(NamedTuple):
    """Of an operator that moves pixels in a way that no matrix tells. why: a part of a sentence."""

    why: str


class Bends(NamedTuple):
    """Of an operator that bends images. rule: from a call, after its shape rule, to a list with,
    for each sample, float32 (h, w, 2): the place (x, y) in the input, in pixels from the corner of
    the first one, that the center of each pixel of the output comes from; None if nothing moves."""

    rule: Rule


class _InPlace(NamedTuple):
    """Of an operator that moves no pixels."""


class FileMap(NamedTuple):
    """What the map of a decoder returns: the shapes of the whole images in the files, HWC, (N, 3),
    and matrices from places in these to places in the images that it makes."""

    shapes: Int64Array
    matrices: Float64Array


class Gather(NamedTuple):
    """How a call takes each pixel from the place that its matrix says. resamples: whether between
    pixels, by a filter, an `InterpType`; fill: the value outside of the image. Without that it
    moves whole pixels, and all of them come from the image."""

    resamples: bool
    filter: int = 0
    fill: float = 0.0


gathers: dict[str, Callable[[Mapping[str, Any]], Gather | None]] = {}
"""By operator: from the fixed arguments of a call, how it gathers pixels; None if otherwise."""


def gather_of(operator: str, fixed: Mapping[str, Any]) -> Gather | None:
    """How a call with these fixed arguments gathers pixels; None if that is not known."""
    rule = gathers.get(operator)
    return None if rule is None or fixed.get("dtype") is not None else rule(fixed)


def gathers_alike(several: Sequence[Gather]) -> bool:
    """Whether calls that follow each other may gather their pixels at once."""
    return len({one for one in several if one.resamples}) < 2


IN_PLACE = _InPlace()
CoordinateMap: TypeAlias = "Rule | NoMap | Bends | _InPlace"
"""The map of an operator: from a call, after its shape rule, to matrices float64 that take places
in the input to places in the output, (N, 2, 3) or (N, 3, 3), in volumes (N, 3, 4) or (N, 4, 4)."""


def spatial_axes(layout: str) -> list[int]:
    """The axes along which x, y and, in volumes, z count."""
    return [layout.index(letter) for letter in "WHD" if letter in layout]


def axis_map(scale: Any, shift: Any) -> Float64Array:
    """The map place * scale + shift, axis by axis. scale, shift: (N, axes) or less, for x, y, z."""
    scale, shift = np.broadcast_arrays(np.float64(scale), np.float64(shift))
    count, axes = scale.shape
    made = np.zeros((count, axes, axes + 1))
    made[:, np.arange(axes), np.arange(axes)] = scale
    made[:, :, axes] = shift
    return made


def window_map(anchors: Any, layout: str) -> Float64Array:
    """The map of a window that begins at these elements of its input, (N, ndim)."""
    return axis_map(1.0, -np.float64(anchors[:, spatial_axes(layout)]))
