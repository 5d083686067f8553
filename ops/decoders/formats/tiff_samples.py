"""The TIFF layouts that OpenCV refuses or gets wrong, read with NumPy and zlib.

OpenCV's decoder drops the alpha of gray, takes no more than four channels, returns garbage for
16-bit samples in separate planes, and refuses uncompressed tiles that were padded. Those files are
plain arrays in strips or tiles, uncompressed or deflated, and are read here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager.types.arrays import Array

from .headers_tiff import read_tags
from .image_info import ImageInfo

_COMPRESSION, _PHOTOMETRIC, _STRIPS, _ROWS_PER_STRIP, _STRIP_BYTES = 259, 262, 273, 278, 279
_PLANAR, _PREDICTOR, _TILE_WIDTH, _TILE_HEIGHT, _TILES, _TILE_BYTES = 284, 317, 322, 323, 324, 325
_NONE, _DEFLATE = (1,), (8, 32946)
_WHITE_IS_ZERO = 0
_MOST_PADDING = 4096


@dataclass(frozen=True, slots=True)
class _Layout:
    dtype: np.dtype[Any]
    height: int
    """Of a strip or tile, in rows."""
    width: int
    samples: int
    """In a pixel of a strip or tile: 1 where the planes are separate."""
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    deflated: bool
    predicted: bool


def read_samples(data: Array, info: ImageInfo) -> Array:
    """Pixels (H, W, C) as stored."""
    view = data.data
    try:
        layout, white_is_zero = _layout(view, info)
        image = np.empty((info.height, info.width, info.channels), info.dtype)
        for rows, columns, channels, index in _pieces(info, layout):
            piece = _piece(view, layout, index)
            target = image[rows, columns, channels]
            if len(piece) < len(target):
                raise ValueError("TIFF data is damaged or ends early: a strip or tile is short")
            target[...] = piece[: target.shape[0], : target.shape[1]]
    except (struct.error, IndexError, zlib.error):
        raise ValueError("TIFF data is damaged or ends early") from None
    return ~image if white_is_zero else image


def _layout(view: memoryview, info: ImageInfo) -> tuple[_Layout, bool]:
    tags = read_tags(view)
    compression, predictor = tags.first(_COMPRESSION, 1), tags.first(_PREDICTOR, 1)
    plain = info.bits == 8 * info.dtype.itemsize and compression in (*_NONE, *_DEFLATE)
    if not plain or predictor not in ((1, 2) if info.dtype.kind == "u" else (1,)):
        raise ValueError(
            f"TIFF data is damaged, or has an unsupported layout: {info.channels} samples of "
            f"{info.bits} bits in a pixel, compression {compression}, predictor {predictor}"
        )
    tiled = tags.has(_TILES)
    height = tags.first(_TILE_HEIGHT, 0) if tiled else tags.first(_ROWS_PER_STRIP, info.height)
    width = tags.first(_TILE_WIDTH, 0) if tiled else info.width
    if not (height > 0 and 0 < width <= info.width + _MOST_PADDING):
        raise ValueError("TIFF header is damaged: its strips or tiles have no size")
    layout = _Layout(
        info.dtype.newbyteorder(tags.order),
        min(height, info.height),
        width,
        1 if tags.first(_PLANAR, 1) == 2 else info.channels,
        tags.all(_TILES if tiled else _STRIPS),
        tags.all(_TILE_BYTES if tiled else _STRIP_BYTES),
        compression in _DEFLATE,
        predictor == 2,
    )
    return layout, tags.first(_PHOTOMETRIC, 1) == _WHITE_IS_ZERO and info.dtype.kind == "u"


def _pieces(info: ImageInfo, layout: _Layout) -> Iterator[tuple[slice, slice, slice, int]]:
    """Rows, columns and channels of each strip or tile, with its number, in the order stored."""
    index = 0
    for channel in range(0, info.channels, layout.samples):
        for top in range(0, info.height, layout.height):
            for left in range(0, info.width, layout.width):
                yield (
                    slice(top, min(top + layout.height, info.height)),
                    slice(left, min(left + layout.width, info.width)),
                    slice(channel, channel + layout.samples),
                    index,
                )
                index += 1


def _piece(view: memoryview, layout: _Layout, index: int) -> Array:
    """One strip or tile as (rows, columns, samples); the last strip may have fewer rows."""
    row = layout.width * layout.samples * layout.dtype.itemsize
    place, size = layout.places[index], layout.sizes[index]
    encoded: memoryview | bytes = view[place : place + size]
    if layout.deflated:  # never more than the piece may hold, whatever the data says
        encoded = zlib.decompressobj().decompress(encoded, row * layout.height)
    rows = min(len(encoded) // row, layout.height)
    values = np.frombuffer(encoded, layout.dtype, rows * row // layout.dtype.itemsize)
    piece = values.reshape(rows, layout.width, layout.samples)
    if layout.predicted:
        native = piece.dtype.newbyteorder("=")
        return np.cumsum(piece, axis=1, dtype=native)
    return piece
