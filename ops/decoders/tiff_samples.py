"""The samples of a TIFF as numbers, whatever they mean."""

from __future__ import annotations

import struct

import numpy as np

from gradiva.eager.types.arrays import Array

from . import tiff_layout as t
from .tiff_codecs import decoded_pieces
from .tiff_layout import Layout

_VALUES_AT_ONCE = 1 << 16


def read_samples(layout: Layout) -> Array:
    """(height, width, samples) as stored, in uint8, uint16 or float32. Raises ValueError."""
    image = np.empty((layout.height, layout.width, layout.samples), layout.dtype)
    predictors = (
        {1} | ({2} if layout.bits % 8 == 0 else set()) | ({3} if layout.is_float else set())
    )
    if layout.compression in t.FAX and layout.bits != 1:
        raise ValueError(f"TIFF in a fax compression with samples of {layout.bits} bits is damaged")
    if layout.predictor not in predictors:
        raise ValueError(
            f"TIFF with predictor {layout.predictor} and samples of {layout.bits} bits is not "
            "supported"
        )
    try:
        pieces = zip(layout.pieces(), decoded_pieces(layout), strict=True)
        for (rows, columns, samples), (data, added) in pieces:
            target = image[rows, columns, samples]
            piece = _numbers(data, layout, added)
            target[...] = piece[:, : target.shape[1]]
    except (struct.error, IndexError):
        raise ValueError("TIFF data is damaged or ends early") from None
    return image


def _numbers(data: Array, layout: Layout, added: bool) -> Array:
    """(rows, columns, samples) of the bytes of rows; added: the differences are undone already."""
    shape = len(data), layout.columns, layout.interleaved
    size, predictor = layout.bits // 8, 1 if added else layout.predictor
    if predictor == 3:
        values: Array = _joined(data, layout.interleaved, size).view(f">f{size}")
    elif layout.bits not in (8, 16, 32, 64):
        values = _unpacked(data, layout.bits, layout.columns * layout.interleaved)
    elif predictor == 2:  # of floats, too, the bits are added up as integers
        integers = data.view(f"{layout.order}u{size}").reshape(shape)
        values = np.cumsum(integers, axis=1, dtype=f"u{size}")
        values = values.view(f"f{size}") if layout.is_float else values
    else:
        values = data.view(f"{layout.order}{'f' if layout.is_float else 'u'}{size}")
    return values.reshape(shape)


def _joined(data: Array, samples: int, size: int) -> Array:
    """The bytes of floats, highest first, of rows which have the highest bytes of all floats first,
    then the next ones, as differences from sample to sample."""
    rows = len(data)
    added = np.cumsum(data.reshape(rows, -1, samples), axis=1, dtype=np.uint8)
    return np.ascontiguousarray(added.reshape(rows, size, -1).transpose(0, 2, 1)).reshape(rows, -1)


def _unpacked(data: Array, bits: int, count: int) -> Array:
    """So many numbers in each row, of 1 to 15 bits, the first ones in the highest bits."""
    if bits == 1:
        return np.unpackbits(data, axis=1, count=count)
    groups = -(-count // 8)  # of 8 numbers, which fill whole bytes
    out = np.empty((len(data), groups * 8), np.uint8 if bits <= 8 else np.uint16)
    step = max(1, _VALUES_AT_ONCE // out.shape[1])
    padded = np.zeros((min(step, len(data)), groups * bits + 2), np.uint8)
    for top in range(0, len(data), step):
        rows = data[top : top + step]
        padded[: len(rows), : rows.shape[1]] = rows
        for number in range(8):
            first, skipped = divmod(number * bits, 8)
            wide = np.zeros((len(rows), groups), np.uint32)
            for place in range(first, first + 3):
                wide <<= np.uint32(8)
                wide |= padded[: len(rows), place::bits][:, :groups]
            wide >>= np.uint32(24 - skipped - bits)
            out[top : top + step, number::8] = wide & np.uint32((1 << bits) - 1)
    return out[:, :count]
