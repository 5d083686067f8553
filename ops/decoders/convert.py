"""Color spaces and value ranges, with DALI's arithmetic.

Every formula here was found by measuring DALI and reproduces it bit for bit. Whole
images pass through in strips of rows that stay in the cache; NumPy and OpenCV release the GIL in
each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.eager.support.opencv import cv2, has_opencv
from gradiva.eager.types.arrays import Array

from .image_info import backwards

OUTPUT_DTYPES = frozenset(
    np.dtype(name) for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32")
)

_F32 = np.float32
_HALF = _F32(0.5)
_STRIP_VALUES = 1 << 16

# ITU-R BT.601 with studio swing: Y in 16..235, Cb and Cr in 16..240. Rows: offset in units of
# 1/256 of the output range, then the weights of R, G and B.
_YCBCR = (
    (16.0, 0.25678823529, 0.50412941176, 0.09790588235),
    (128.0, -0.14822289945, -0.29099278682, 0.43921568627),
    (128.0, 0.43921568627, -0.36778831435, -0.07142737192),
)
_GRAY = (_F32(0.299), _F32(0.587), _F32(0.114))


def strips(height: int, values_in_row: int) -> Iterator[slice]:
    """Slices of rows that together cover the image, each small enough for the cache."""
    rows = max(1, _STRIP_VALUES // max(1, values_in_row))
    for start in range(0, height, rows):
        yield slice(start, start + rows)


def full_range(dtype: np.dtype[Any]) -> float:
    """The value that means white: 1 for floating point, else the largest of the type."""
    return 1.0 if dtype.kind == "f" else float(np.iinfo(dtype).max)


def write_range(source: Array, out: Array, maximum: int = 0) -> None:
    """Rescale ``source`` (white is ``maximum``, or the top of its type) to the range of ``out``."""
    top = float(maximum) if maximum else full_range(source.dtype)
    if source.dtype == out.dtype and not maximum:
        np.copyto(out, source)
    elif out.dtype.kind == "f":
        np.multiply(source, _F32(1 / top), out=out)
    elif source.dtype == np.uint8 and out.dtype == np.uint16 and not maximum:
        np.multiply(source, np.uint16(257), out=out)  # what the general formula gives, faster
    elif source.dtype.kind == "u":
        table = _range_table(int(top), out.dtype)
        for rows in strips(source.shape[0], source[0].size):
            # clip: a damaged file may hold values above its own maximum
            np.take(table, source[rows], out=out[rows], mode="clip")
    else:
        for rows in strips(source.shape[0], source[0].size):
            out[rows] = _rescaled(source[rows], top, out.dtype)


@lru_cache(maxsize=32)
def _range_table(top: int, dtype: np.dtype[Any]) -> Array:
    return _rescaled(np.arange(top + 1), float(top), dtype)


def _rescaled(source: Array, top: float, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):  # floating-point files may hold anything
        values = source.astype(np.float32)
        values *= _F32(1 / top)
        values *= _F32(full_range(dtype))
        return _saturated(values, dtype)


def _saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Round half up and clip; float64, because 0.5 is lost on large float32 values."""
    wide = values.astype(np.float64)
    wide += 0.5
    np.floor(wide, out=wide)
    limits = np.iinfo(dtype)
    np.clip(np.nan_to_num(wide, copy=False), limits.min, limits.max, out=wide)
    return wide.astype(dtype)


def write_ycbcr(rgb: Array, out: Array, maximum: int = 0) -> None:
    """RGB in any range to YCbCr in the range of ``out``."""
    weights = ycbcr_weights(float(maximum) if maximum else full_range(rgb.dtype), out.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in strips(rgb.shape[0], rgb[0].size):
            _ycbcr_strip(rgb[rows], out[rows], weights)


def ycbcr_weights(top: float, dtype: np.dtype[Any]) -> Array:
    """(3, 4) float32, rows for Y, Cb and Cr: weights of R, G and B whose white is `top`, and what
    is added, for values of a type."""
    white = full_range(dtype)
    scale = _F32(white / top)
    unit = 1 / 256 if dtype.kind == "f" else (white + 1) / 256
    rows = [
        (*(_F32(w) * scale for w in weights), _F32(offset * unit)) for offset, *weights in _YCBCR
    ]
    return np.array(rows, np.float32)


def _ycbcr_strip(rgb: Array, out: Array, weights: Array) -> None:
    red, green, blue = (rgb[..., c].astype(np.float32) for c in range(3))
    scratch = np.empty_like(red)
    for channel, (r, g, b, offset) in enumerate(weights):
        value = red * r
        value += np.multiply(green, g, out=scratch)
        value += np.multiply(blue, b, out=scratch)
        value += offset
        if out.dtype.kind == "f":
            out[..., channel] = value
        elif out.dtype.itemsize == 4 or rgb.dtype.kind == "f":
            out[..., channel] = _saturated(value, out.dtype)
        else:  # within 8..2**22: float32 rounds it well, and it cannot leave the range
            value += _HALF
            out[..., channel] = value


def weighted_gray(rgb: Array, *, truncate: bool = False) -> Array:
    """Gray of the same type as the RGB; DALI truncates it for CMYK, else rounds."""
    height, width = rgb.shape[:2]
    gray = np.empty((height, width, 1), rgb.dtype)
    for rows in strips(height, 3 * width):
        red, green, blue = (rgb[rows, :, c].astype(np.float32) for c in range(3))
        red *= _GRAY[0]
        red += green * _GRAY[1]
        red += blue * _GRAY[2]
        if rgb.dtype.kind != "f" and not truncate:
            red += _HALF
        gray[rows, :, 0] = red  # positive: the cast to an integer is the floor
    return gray


def integer_gray(
    rgb: Array, weights: tuple[int, int, int] = (4899, 9617, 1868), added: int = 1 << 13
) -> Array:
    """Gray of uint8 or uint16 RGB, with or without alpha, as OpenCV's codecs round it; the weights
    add up to a power of 2."""
    bits = np.uint32(sum(weights).bit_length() - 1)
    gray = np.empty((*rgb.shape[:2], 1), rgb.dtype)
    for rows in strips(rgb.shape[0], rgb[0].size):
        total = np.full(rgb[rows, :, 0].shape, added, np.uint32)
        for channel, weight in enumerate(weights):
            total += np.multiply(rgb[rows, :, channel], np.uint32(weight), dtype=np.uint32)
        gray[rows, :, 0] = total >> bits
    return gray


def cmyk_to_rgb(inverted: Array) -> Array:
    """Adobe's inverted CMYK (255 is no ink) to RGB: each ink times black, rounded down."""
    height, width = inverted.shape[:2]
    rgb = np.empty((height, width, 3), np.uint8)
    for rows in strips(height, 3 * width):
        product = inverted[rows, :, :3].astype(np.uint16)
        product *= inverted[rows, :, 3:]
        product //= np.uint16(255)
        rgb[rows] = product
    return rgb


def write_oriented(source: Array, out: Array, orientation: int) -> None:
    """Turn ``source`` upright, by its EXIF orientation, into ``out`` of the same type."""
    if not has_opencv():  # several times as long
        down, across = (-1 if is_backwards else 1 for is_backwards in backwards(orientation))
        turned = source[::down, ::across]
        turned = turned.swapaxes(0, 1) if orientation >= 5 else turned
    elif orientation == 2:
        turned = cv2.flip(source, 1, dst=out)
    elif orientation == 3:
        turned = cv2.rotate(source, cv2.ROTATE_180, dst=out)
    elif orientation == 4:
        turned = cv2.flip(source, 0, dst=out)
    elif orientation == 5:
        turned = cv2.transpose(source, dst=out)
    elif orientation == 6:
        turned = cv2.rotate(source, cv2.ROTATE_90_CLOCKWISE, dst=out)
    elif orientation == 7:
        turned = cv2.flip(cv2.transpose(source), -1, dst=out)
    elif orientation == 8:
        turned = cv2.rotate(source, cv2.ROTATE_90_COUNTERCLOCKWISE, dst=out)
    else:
        turned = source
    if turned is not out:
        np.copyto(out, turned.reshape(out.shape))
