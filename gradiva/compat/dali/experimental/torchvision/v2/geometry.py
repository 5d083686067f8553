"""The steps that move pixels: flips, crops, borders and sizes, as torchvision computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.types.dtypes import InterpType
from gradiva.math import max as greater
from gradiva.math import min as lesser
from gradiva.ops.arrays.cast import cast
from gradiva.ops.arrays.concatenate import stack
from gradiva.ops.image.crop import crop as window
from gradiva.ops.image.flip import flip as mirror
from gradiva.ops.image.resize.random_resized_crop import random_resized_crop as resample_window
from gradiva.ops.image.resize.resize import resize as resample
from gradiva.ops.indexing.pad import pad as enlarge
from gradiva.ops.indexing.slice import slice as cut

from .arguments import Sides, mistaken
from .pixels import Pixels, drawn

__all__ = ["center_crop", "crop", "flip", "pad", "random_crop", "random_resized_crop", "resize"]


def flip(pixels: Pixels, horizontal: Any, vertical: Any) -> Pixels:
    """Mirror where the numbers, or those of each image, are not 0."""
    return pixels.with_(mirror(pixels.data, horizontal=horizontal, vertical=vertical))


def crop(pixels: Pixels, top: int, left: int, height: int, width: int) -> Pixels:
    """A window; black beyond the image."""
    return _window(pixels, (top, left), (height, width), out_of_bounds_policy="pad")


def center_crop(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """The middle; an image that is smaller stands in the middle of black."""
    data = window(pixels.data, crop=size, rounding="torchvision", out_of_bounds_policy="pad")
    return pixels.with_(data)


def _window(pixels: Pixels, anchor: Any, shape: Any, **options: Any) -> Pixels:
    return pixels.with_(cut(pixels.data, start=anchor, shape=shape, axis_names="HW", **options))


def pad(pixels: Pixels, border: Sides, fill: tuple[float, ...], mode: str) -> Pixels:
    """The same pixels with a border."""
    return _padded(pixels, *_ends(border), fill, mode)


def _ends(border: Sides) -> tuple[Any, Any]:
    """Rows and columns at the top and at the left, and those at the bottom and at the right."""
    left, top, right, bottom = border
    return np.array([top, left], np.int64), np.array([bottom, right], np.int64)


def _padded(pixels: Pixels, before: Any, after: Any, fill: tuple[float, ...], mode: str) -> Pixels:
    """before, after: what `_ends` gives, or a batch of that."""
    if mode == "constant" and len(fill) > 1:
        shape = pixels.extents() + before + after
        return _window(pixels, -before, shape, out_of_bounds_policy="pad", fill_values=fill)
    data = enlarge(
        pixels.data, axis_names="HW", before=before, after=after, fill_value=fill[0], mode=mode
    )
    return pixels.with_(data)


def random_crop(
    pixels: Pixels,
    size: tuple[int, int],
    border: Sides,
    pad_if_needed: bool,
    fill: tuple[float, ...],
    mode: str,
) -> Pixels:
    """A window at a place of its own for each image, with the border first."""
    before, after = _ends(border)
    if pad_if_needed:
        lacking = greater(np.array(size, np.int64) - (pixels.extents() + before + after), 0)
        before, after = lacking + before, lacking + after
    if pad_if_needed or any(border):
        pixels = _padded(pixels, before, after, fill, mode)
    places = drawn(pixels, 0.0, 1.0), drawn(pixels, 0.0, 1.0)
    data = window(
        pixels.data, crop=size, crop_pos_y=places[0], crop_pos_x=places[1], rounding="equal"
    )
    return pixels.with_(data)


def resize(
    pixels: Pixels,
    size: tuple[int, ...] | None,
    interpolation: InterpType,
    max_size: int | None,
    antialias: bool | None,
) -> Pixels:
    """size: (height, width); or the shorter side, of which the longer one is at most `max_size`;
    or None, and the longer side becomes `max_size`."""
    sizes: dict[str, Any]
    if pixels.compat is None and (size is None or len(size) == 1):
        sizes = {"size": _sides(pixels, size, max_size)}
    elif size is None:
        sizes = {"resize_longer": max_size}
    elif len(size) == 2:
        sizes = {"size": size}
    else:
        sizes = {"resize_shorter": size[0]}
        if max_size is not None:
            sizes["max_size"] = max_size
    return pixels.with_(resample(pixels.data, **sizes, **_filter(pixels, interpolation, antialias)))


def _sides(pixels: Pixels, size: tuple[int, ...] | None, max_size: int | None) -> Any:
    """Height and width as torchvision computes them, for `resize` without `compat` rounds."""
    extents = pixels.extents()
    height, width = extents.slice[0], extents.slice[1]
    short, long = lesser(height, width), greater(height, width)
    if size is None:
        short, long = short * max_size // long, long * 0 + max_size
    else:
        short, long = short * 0 + size[0], long * size[0] // short
        if max_size is not None:
            short, long = lesser(short, short * max_size // long), lesser(long, max_size)
    upright = cast(height > width, dtype="int64")
    sides = stack(short + upright * (long - short), long - upright * (long - short))
    return cast(sides, dtype="float32")


def _filter(pixels: Pixels, interpolation: InterpType, antialias: bool | None) -> dict[str, Any]:
    options = {"interp_type": interpolation, "compat": pixels.compat}
    if interpolation is InterpType.INTERP_LANCZOS3 and pixels.compat == "torchvision":
        expected = "NEAREST, BILINEAR or BICUBIC for tensors"
        raise mistaken("torchvision", "interpolation", expected, "LANCZOS")
    # Pillow always averages, and torchvision does not tell it otherwise.
    return options if pixels.compat == "pil" else {**options, "antialias": bool(antialias)}


def random_resized_crop(
    pixels: Pixels,
    size: tuple[int, int],
    scale: tuple[float, float],
    ratio: tuple[float, float],
    interpolation: InterpType,
    antialias: bool | None,
) -> Pixels:
    """A window of random area and ratio for each image, resized to one size."""
    data = resample_window(
        pixels.data,
        size=size,
        random_area=scale,
        random_aspect_ratio=ratio,
        **_filter(pixels, interpolation, antialias),
    )
    return pixels.with_(data)
