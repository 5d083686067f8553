"""TIFF: what its samples mean, by the rules of the specification."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders import tiff_layout as t
from gradiva.ops.decoders.convert import full_range, integer_gray, strips, weighted_gray
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.decoders.tiff_images import as_uncompressed, read_images
from gradiva.ops.decoders.tiff_layout import Layout, read_layout
from gradiva.ops.decoders.tiff_samples import read_samples
from gradiva.ops.decoders.tiff_tags import read_tags

from .decode_opencv import decode_opencv
from .headers_tiff import COLOR_MAP


def decode_tiff(data: Array, info: ImageInfo, color: str) -> Array:
    """Pixels (H, W, C) in stored orientation; ``color``: RGB, BGR, GRAY or ALL."""
    try:
        layout = read_layout(read_tags(data.data))
        if layout.data_end > data.size:
            raise ValueError(
                f"TIFF data ends early: its pixels reach to byte {layout.data_end} of {data.size}"
            )
        image = _stored(layout, info)
    except struct.error:
        raise ValueError("TIFF data is damaged or ends early") from None
    if color == "ALL":
        return image
    if image.shape[2] < 3:  # gray, perhaps with alpha
        gray = image[..., :1]
        return gray if color == "GRAY" else np.repeat(gray, 3, axis=2)
    if color == "GRAY":
        return integer_gray(image) if _is_gray_by_integers(info, layout) else weighted_gray(image)
    return image[..., 2::-1] if color == "BGR" else image[..., :3]


def _stored(layout: Layout, info: ImageInfo) -> Array:
    """The channels that ANY_DATA delivers."""
    if layout.photometric in (t.YCBCR, t.CIELAB) and layout.compression in t.STREAMS:
        file, width = as_uncompressed(layout)
        image = decode_opencv(np.frombuffer(file, np.uint8), replace(info, width=width), "ALL")
        return image[:, : info.width]
    if layout.compression in t.STREAMS:
        samples = read_samples(layout)
    else:
        samples = read_images(layout)
    if info.color == "palette":
        return _colors(samples[..., 0], layout)
    white: Any = samples.dtype.type(info.maximum or full_range(samples.dtype))
    if info.color == "cmyk":
        return _from_cmyk(samples, white)
    return white - samples if layout.photometric == t.WHITE_IS_ZERO else samples


def _colors(indices: Array, layout: Layout) -> Array:
    """16-bit colors of the file's map: all reds, then greens, then blues."""
    table = np.array(layout.tags.all(COLOR_MAP), np.uint16).reshape(3, -1).T
    image: Array = table[indices]
    return image


def _from_cmyk(samples: Array, white: Any) -> Array:
    """RGB and alpha: the fifth sample, if there is one, else opaque. Each ink times black; of
    integers, rounded down."""
    image = np.empty((*samples.shape[:2], 4), samples.dtype)
    for rows in strips(samples.shape[0], samples[0].size):
        light = white - samples[rows, :, :4]
        if light.dtype.kind == "f":
            image[rows, :, :3] = light[..., :3] * light[..., 3:]
        else:
            wide = light.astype(np.uint32)
            image[rows, :, :3] = wide[..., :3] * wide[..., 3:] // np.uint32(white)
    image[..., 3] = samples[..., 4] if samples.shape[2] > 4 else white
    return image


def _is_gray_by_integers(info: ImageInfo, layout: Layout) -> bool:
    """Whether DALI reads this file by OpenCV's codec, whose gray rounds otherwise."""
    plain = info.color not in ("palette", "channels") and info.dtype.kind == "u"
    turned = info.orientation != 1 or (layout.planes and info.bits == 8)
    return plain and (info.color == "cmyk" or turned)
