"""TIFF: what its tags say of an image, and what its samples mean."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np

from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders import tiff_layout as t
from gradiva.ops.decoders.convert import full_range, integer_gray, strips, weighted_gray
from gradiva.ops.decoders.image_info import FLOAT32, UINT16, ImageInfo, integer_dtype
from gradiva.ops.decoders.tiff_images import as_uncompressed, read_images
from gradiva.ops.decoders.tiff_layout import Layout, read_layout
from gradiva.ops.decoders.tiff_samples import read_samples
from gradiva.ops.decoders.tiff_tags import ORIENTATION, SHORT, Tags, read_tags

from .decode_opencv import decode_opencv

_COLOR_MAP = 320
_MOST_SAMPLES = 64
_UNSIGNED, _FLOAT, _UNDEFINED = 1, 3, 4
_FLOATS = (16, 32, 64)
_MOST_BITS = 16
_INDEXED = (1, 2, 4, 8, 16)
_BRIGHTEST = 65535


def read_tiff(view: memoryview) -> ImageInfo:
    """The first image of a classic TIFF or a BigTIFF."""
    try:
        return _image(read_tags(view))
    except struct.error:
        raise ValueError(SHORT) from None


def _image(tags: Tags) -> ImageInfo:
    first = tags.first
    for tag, name in ((t.WIDTH, "width"), (t.HEIGHT, "height")):
        if not tags.has(tag):
            raise ValueError(f"TIFF has no image {name} in its first directory")
    samples, photometric, bits = first(t.SAMPLES, 1), first(t.PHOTOMETRIC, 1), first(t.BITS, 1)
    is_float = first(t.SAMPLE_FORMAT, _UNSIGNED) == _FLOAT
    _check_samples(tags, samples, bits)
    palette = photometric == t.PALETTE and not is_float
    cmyk = photometric == t.CMYK and samples >= 4
    color, channels = _color(samples), samples
    if palette:
        color, channels = "palette", 3
        _check_palette(tags, bits)
    elif cmyk:
        color, channels = "cmyk", 4
    orientation = first(ORIENTATION, 1)
    whole = is_float or palette or bits in (8, _MOST_BITS)
    return ImageInfo(
        "tiff",
        first(t.HEIGHT, 0),
        first(t.WIDTH, 0),
        channels,
        bits,
        FLOAT32 if is_float else UINT16 if palette else integer_dtype(bits),
        orientation if 1 <= orientation <= 8 else 1,
        color,
        maximum=0 if whole else (1 << bits) - 1,
    )


def _check_samples(tags: Tags, samples: int, bits: int) -> None:
    if not 1 <= samples <= _MOST_SAMPLES:
        raise ValueError(
            f"TIFF with {samples} samples in a pixel is not supported: 1 to {_MOST_SAMPLES} are"
        )
    kind = tags.first(t.SAMPLE_FORMAT, _UNSIGNED)
    if kind not in (_UNSIGNED, _FLOAT, _UNDEFINED):
        raise ValueError("TIFF with signed or complex samples is not supported")
    if kind == _FLOAT and bits not in _FLOATS:
        raise ValueError(
            f"TIFF with floating-point samples of {bits} bits is not supported: 16, 32, 64 are"
        )
    if kind != _FLOAT and not 1 <= bits <= _MOST_BITS:
        raise ValueError(f"TIFF with samples of {bits} bits is not supported: 1 to 16 are")
    if len(set(tags.all(t.BITS, 1))) > 1 or len(set(tags.all(t.SAMPLE_FORMAT, 1))) > 1:
        raise ValueError("TIFF with samples of different sizes or kinds is not supported")


def _check_palette(tags: Tags, bits: int) -> None:
    if bits not in _INDEXED:
        raise ValueError(f"TIFF with a palette and indices of {bits} bits is not supported")
    values = tags.all(_COLOR_MAP) if tags.has(_COLOR_MAP) else ()
    if len(values) != 3 << bits:
        raise ValueError(f"TIFF palette has {len(values)} entries where {3 << bits} are needed")
    if min(values) < 0 or max(values) > _BRIGHTEST:
        raise ValueError(f"TIFF palette has entries that are not from 0 to {_BRIGHTEST}")


def _color(samples: int) -> str:
    return ("gray", "gray+alpha", "rgb", "rgb+alpha")[samples - 1] if samples <= 4 else "channels"


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
    table = np.array(layout.tags.all(_COLOR_MAP), np.uint16).reshape(3, -1).T
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
