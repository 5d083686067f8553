"""Arithmetic on pixels that several transforms share, in Albumentations' order of operations.

uint8 goes through tables of 256 values, which are computed in float32 and cut off, not rounded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import numpy as np

from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array

MOST_CHANNELS: Final = 4
"""How many channels OpenCV's numbers for a pixel have."""

Kernel = TypeVar("Kernel", bound=Callable[..., Array])


def largest(image: Array) -> float:
    """The value of white."""
    return 255 if image.dtype == np.uint8 else 1.0


def channels(image: Array) -> int:
    """How many values a pixel has."""
    return int(image.shape[2]) if image.ndim == 3 else 1


def shades() -> Array:
    """All values of uint8."""
    return np.arange(256, dtype=np.float32)


def clipped(values: Array, image: Array) -> Array:
    """Values in the range and the dtype of an image."""
    found: Array = np.clip(values, 0, largest(image)).astype(image.dtype, copy=False)
    return found


def looked_up(image: Array, table: Array) -> Array:
    """The image through a table; its fractions are cut off."""
    return like(cv2.LUT(np.ascontiguousarray(image), clipped(table, image)), image)


def like(made: Array, image: Array) -> Array:
    """What OpenCV returned, with the axis of channels of the image."""
    shaped: Array = made.reshape(*made.shape[:2], *image.shape[2:])
    return shaped


def as_bytes(image: Array) -> Array:
    """uint8 of float32."""
    made: Array = np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
    return made


def as_floats(image: Array) -> Array:
    """float32 of uint8."""
    made: Array = cv2.LUT(np.ascontiguousarray(image), shades() / 255)
    return like(made, image)


def in_bytes(kernel: Kernel) -> Kernel:
    """A function that works on uint8, for float32, too."""

    @functools.wraps(kernel)
    def run(image: Array, *arguments: Any) -> Array:
        if image.dtype == np.uint8:
            return kernel(image, *arguments)
        return as_floats(kernel(as_bytes(image), *arguments))

    return run  # type: ignore[return-value]


def in_floats(kernel: Kernel) -> Kernel:
    """A function that works on float32, for uint8, too."""

    @functools.wraps(kernel)
    def run(image: Array, *arguments: Any) -> Array:
        if image.dtype == np.float32:
            return kernel(image, *arguments)
        return as_bytes(kernel(as_floats(image), *arguments))

    return run  # type: ignore[return-value]


def in_parts(image: Array, function: Callable[[Array], Array]) -> Array:
    """A function of OpenCV on at most four channels at a time."""
    count = channels(image)
    if count <= MOST_CHANNELS:
        return like(function(image), image)
    parts = []
    for first in range(0, count, MOST_CHANNELS):
        step = 1 if count - first == 2 else MOST_CHANNELS
        for begin in range(first, min(first + MOST_CHANNELS, count), step):
            part = np.ascontiguousarray(image[..., begin : begin + step])
            made = function(part)
            parts.append(made.reshape(*made.shape[:2], -1))
    return np.concatenate(parts, axis=2)


def multiplied(image: Array, factor: float) -> Array:
    """Pixels times a number."""
    if image.dtype == np.uint8:
        return looked_up(image, shades() * np.float32(factor))
    return clipped(image * np.float32(factor), image)


def multiplied_and_moved(image: Array, factor: float, shift: float) -> Array:
    """Pixels times a number, plus a number."""
    if image.dtype == np.uint8:
        return looked_up(image, shades() * np.float32(factor) + np.float32(shift))
    if factor == 0 and shift == 0:
        return np.zeros_like(image)
    wide = np.zeros(image.shape)
    if factor != 0:
        wide = image.astype(np.float64) * np.float64(np.float32(factor))
    if shift != 0:
        wide = wide + shift
    return clipped(wide, image)


def moved(image: Array, shift: float) -> Array:
    """Pixels plus a number, whose fraction is cut off for uint8."""
    if image.dtype == np.uint8:
        return looked_up(image, shades() + np.float32(int(shift)))
    return clipped(image + np.float32(shift), image)


def with_noise(image: Array, noise: Array) -> Array:
    """Pixels plus noise in float32, whose fractions are cut off for uint8."""
    if image.dtype == np.uint8:
        noise = np.trunc(noise)
    return clipped(image.astype(np.float32, copy=False) + noise, image)


def gray_of(image: Array) -> Array:
    """(H, W) of RGB."""
    made: Array = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return made
