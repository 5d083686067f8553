"""TIFF: OpenCV's libtiff for the samples; palettes, alpha, gray, orientation by our own rules."""

from __future__ import annotations

import numpy as np

from gradiva.eager.types.arrays import Array

from .convert import weighted_gray
from .decode_opencv import try_opencv
from .image_info import ImageInfo
from .tiff_samples import read_samples


def decode_tiff(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C) in stored orientation; ``color``: RGB, BGR, GRAY or ALL."""
    if info.tiff is not None and info.tiff.data_end > data.size:
        raise ValueError(
            f"TIFF data ends early: its pixels reach to byte {info.tiff.data_end} of {data.size}"
        )
    image = None
    if color == "GRAY" and info.tiff is not None and info.tiff.integer_gray:
        image = try_opencv(_patched(data, info), "GRAY")
    if image is None:
        image = _stored(data, info, color)
    if image.shape[:2] != (info.height, info.width):
        raise ValueError(
            f"TIFF data decodes to {image.shape[0]} x {image.shape[1]} pixels where its header "
            f"gives {info.height} x {info.width}"
        )
    if color == "ALL":
        return image
    if image.shape[2] < 3:  # gray, perhaps with alpha
        gray = image[..., :1]
        return gray if color == "GRAY" else np.repeat(gray, 3, axis=2)
    if color == "GRAY":
        return weighted_gray(image[..., :3])
    return image[..., 2::-1] if color == "BGR" else image[..., :3]


def _stored(data: Array, info: ImageInfo, color: str) -> Array:
    """The file's own channels; palettes resolved to 16 bits."""
    alpha_unwanted = info.channels == 2 and color != "ALL"  # OpenCV reads the gray alone
    if info.tiff is None or (info.tiff.by_samples and not alpha_unwanted):
        return read_samples(data, info)
    image = try_opencv(_patched(data, info), "ALL")
    if image is None:
        return read_samples(data, info)
    return _from_palette(image, info.tiff.palette) if info.tiff.palette else image


def _patched(data: Array, info: ImageInfo) -> Array:
    if info.tiff is None or not info.tiff.patches:
        return data
    copy: Array = data.copy()
    for offset, value in info.tiff.patches:
        copy[offset : offset + len(value)] = np.frombuffer(value, np.uint8)
    return copy


def _from_palette(gray: Array, palette: tuple[int, ...]) -> Array:
    """Indices that were read as gray (so spread over 0..255) to 16-bit colors."""
    colors = np.array(palette, np.uint16).reshape(3, -1).T
    step = 255 // (len(colors) - 1)
    table = colors[np.arange(256) // step]
    image: Array = table[gray[..., 0]]
    return image
