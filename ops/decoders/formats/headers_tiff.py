"""What the tags of a TIFF say about its image."""

from __future__ import annotations

import struct

from gradiva.ops.decoders import tiff_layout as t
from gradiva.ops.decoders.image_info import FLOAT32, UINT16, ImageInfo, integer_dtype
from gradiva.ops.decoders.tiff_tags import ORIENTATION, SHORT, Tags, read_tags

COLOR_MAP = 320
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
    values = tags.all(COLOR_MAP) if tags.has(COLOR_MAP) else ()
    if len(values) != 3 << bits:
        raise ValueError(f"TIFF palette has {len(values)} entries where {3 << bits} are needed")
    if min(values) < 0 or max(values) > _BRIGHTEST:
        raise ValueError(f"TIFF palette has entries that are not from 0 to {_BRIGHTEST}")


def _color(samples: int) -> str:
    return ("gray", "gray+alpha", "rgb", "rgb+alpha")[samples - 1] if samples <= 4 else "channels"
