"""The steps that change the values of pixels: colors, blurs, normalization and types."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradiva.eager.types.dtypes import ImageType, uint8
from gradiva.eager.values.value import Value
from gradiva.math import floor
from gradiva.ops.arrays.cast import cast
from gradiva.ops.arrays.concatenate import cat
from gradiva.ops.image.color.color_space_conversion import color_space_conversion
from gradiva.ops.image.color.hue import color_twist
from gradiva.ops.image.color.rescale_normalize import rescale_normalize
from gradiva.ops.image.enhance.jitter_colors import jitter_colors
from gradiva.ops.image.filter.gaussian_blur import gaussian_blur
from gradiva.ops.indexing.properties import shapes
from gradiva.ops.indexing.slice import slice as cut
from gradiva.ops.indexing.transpose import transpose

from .arguments import mistyped
from .pixels import Pixels, choose, drawn, drawn_integer

__all__ = ["JITTERS", "blur", "grayscale", "jitter", "normalize", "to_pixels", "to_planes"]

Range = tuple[float, float]


def grayscale(pixels: Pixels, channels: int) -> Pixels:
    """Gray images of 1 or 3 equal channels. Of images of Pillow transparency is left out."""
    gray = _by_color(_opaque(pixels), _gray, _same)
    if channels == 1:
        return gray
    return gray.with_(cat(gray.data, gray.data, gray.data, axis_name="C"), 3)


def _gray(pixels: Pixels) -> Pixels:
    gray = color_space_conversion(
        pixels.data, image_type=ImageType.RGB, output_type=ImageType.GRAY, compat=pixels.compat
    )
    return pixels.with_(gray, 1)


def _same(pixels: Pixels) -> Pixels:
    return pixels


def _by_color(
    pixels: Pixels,
    color: Callable[[Pixels], Pixels],
    gray: Callable[[Pixels], Pixels],
    *values: Any,
) -> Pixels:
    """What images of three channels get, and what those of one get."""
    if pixels.channels is not None:
        return (gray if pixels.channels == 1 else color)(pixels, *values)
    is_gray = shapes(pixels.data).cpu().slice[pixels.layout.index("C")] == 1
    return choose(pixels, cast(is_gray, dtype="int32"), [color, gray], *values)


def _has_alpha(pixels: Pixels) -> bool:
    """Whether these are images of Pillow with transparency. Tensors have none, just channels."""
    return pixels.layout == "HWC" and pixels.channels in (2, 4)


def _channels(pixels: Pixels, first: int, count: int) -> Pixels:
    data = cut(pixels.data, start=first, shape=count, axis_names="C")
    return pixels.with_(data, count)


def _opaque(pixels: Pixels) -> Pixels:
    return _channels(pixels, 0, (pixels.channels or 0) - 1) if _has_alpha(pixels) else pixels


JITTERS = ("brightness", "contrast", "saturation", "hue")
"""The steps of `ColorJitter`, by the names of its arguments, in the order of their numbers."""


def jitter(pixels: Pixels, ranges: Mapping[str, Range]) -> Pixels:
    """Each step with a factor of its own for each image, in an order of its own.

    ranges: least and greatest factor of the steps that are taken; that of hue is a fraction of a
    full turn.
    """
    if not ranges:
        return pixels
    low, high = np.array([*ranges.values()], np.float32).T
    factors: Any = low
    if (low != high).any():
        factors = drawn(pixels, 0.0, 1.0, shape=low.shape) * (high - low) + low
    if pixels.compat is None:
        return pixels.with_(_twisted(pixels.data, ranges, factors))
    count = len(ranges)
    order = drawn_integer(pixels, math.factorial(count)) if count > 1 else 0
    steps = [JITTERS.index(name) for name in ranges]
    data = jitter_colors(
        pixels.data, steps=steps, order=order, factors=factors, compat=pixels.compat
    )
    return pixels.with_(data)


def _twisted(data: Any, ranges: Mapping[str, Range], factors: Any) -> Any:
    """All steps at once, as DALI does them."""
    rows = factors.slice if isinstance(factors, Value) else factors.tolist()
    given: dict[str, Any] = {name: rows[number] for number, name in enumerate(ranges)}
    if "hue" in given:
        given["hue"] = given["hue"] * 360.0
    return color_twist(data, **given)


def blur(pixels: Pixels, kernel: tuple[int, int], sigma: Any) -> Pixels:
    """kernel: (width, height); sigma: one, or one for each image, or (along x, along y), or None.
    torchvision blurs images of Pillow as tensors."""
    height, width = kernel[1], kernel[0]
    if isinstance(sigma, tuple):
        sigma = sigma[::-1]
    compat = None if pixels.compat is None else "torchvision"
    data = gaussian_blur(pixels.data, window_size=(height, width), sigma=sigma, compat=compat)
    return pixels.with_(data)


def normalize(pixels: Pixels, mean: Sequence[float], std: Sequence[float]) -> Pixels:
    """(value - mean) / std in float32, by channel. A gray image becomes one of several channels
    where there are several means."""
    count = max(len(mean), len(std))
    if pixels.channels == 1 and count > 1:
        pixels = pixels.with_(cat(*[pixels.data] * count, axis_name="C"), count)
    return pixels.with_(rescale_normalize(pixels.data, mean=mean, std=std, rescale=1.0))


def to_planes(pixels: Pixels) -> Pixels:
    """Tensors, with the values of the images of Pillow."""
    if pixels.layout == "CHW":
        return pixels
    data = transpose(pixels.data, perm=(2, 0, 1))
    return Pixels(data, "CHW", pixels.channels)


def to_pixels(pixels: Pixels) -> Pixels:
    """Images of Pillow. Floats become bytes: 1.0 is white, and fractions are cut off."""
    data, dtype = pixels.data, pixels.data.type.dtype
    if dtype is not None and dtype.is_float:
        data = cast(floor(data * np.float32(255.0)), dtype="uint8")
    elif dtype is not None and dtype is not uint8:
        raise mistyped("torchvision.ToPILImage", "input", "uint8 or float32", dtype)
    if pixels.layout == "CHW":
        data = transpose(data, perm=(1, 2, 0))
    return Pixels(data, "HWC", pixels.channels)
