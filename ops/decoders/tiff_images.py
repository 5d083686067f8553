"""Strips or tiles of a TIFF that are images in a format of their own, or in rare color spaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gradiva.eager.types.arrays import Array

from . import tiff_layout as t
from .tiff_codecs import at_once, by_libtiff, decoded_pieces, tiff_file
from .tiff_layout import Layout
from .tiff_samples import read_samples

_JPEG, _WEBP = 7, 50001
_OTHERS = {
    6: "JPEG of the old style",
    33003: "JPEG 2000",
    33005: "JPEG 2000",
    34661: "JBIG",
    34712: "JPEG 2000",
    34887: "LERC",
    50002: "JPEG XL",
    52546: "JPEG XL",
}
_MODES = {1: (1, "L"), 3: (2, "RGB"), 4: (t.CMYK, "CMYK")}
"""Samples that are handed on as they are, in a color space that is not turned into another."""
_JPEG_TABLES, _COEFFICIENTS, _SUBSAMPLING, _POSITIONING, _REFERENCE = 347, 529, 530, 531, 532
_END_MARKER, _TAIL = b"\xff\xd9", 1024
_SHORT, _LONG, _FRACTION, _BYTES = 3, 4, 5, 7
_TYPES = {
    _JPEG_TABLES: _BYTES,
    _COEFFICIENTS: _FRACTION,
    _SUBSAMPLING: _SHORT,
    _POSITIONING: _SHORT,
    _REFERENCE: _FRACTION,
}


def read_images(layout: Layout) -> Array:
    """(height, width, samples), uint8, of strips or tiles in JPEG or WebP; YCbCr as RGB. Raises
    ValueError."""
    if layout.compression not in (_JPEG, _WEBP):
        name = _OTHERS.get(layout.compression, "an unknown compression")
        raise ValueError(f"TIFF in {name} ({layout.compression}) is not supported")
    if layout.bits != 8 or layout.interleaved not in _MODES:
        raise ValueError(
            f"TIFF in JPEG or WebP with {layout.samples} samples of {layout.bits} bits in a pixel "
            "is not supported"
        )
    view = layout.tags.view
    pieces = [
        view[place : place + size] for place, size in zip(layout.places, layout.sizes, strict=False)
    ]
    if layout.compression == _JPEG:
        for piece in pieces:
            if _END_MARKER not in bytes(piece[-_TAIL:]):
                raise ValueError("TIFF data ends early: a strip or tile in JPEG is cut")
    made = np.empty((layout.height, layout.width, layout.samples), np.uint8)
    across = -(-layout.width // layout.columns)
    down = -(-layout.height // layout.rows)
    step = max(1, at_once(layout) // across)
    for sample in range(0, layout.samples, layout.interleaved):
        for first in range(0, down, step):
            count = across * min(step, down - first)
            some, pieces = pieces[:count], pieces[count:]
            rows = made[first * layout.rows : (first + step) * layout.rows]
            rows[..., sample : sample + layout.interleaved] = _image(layout, some, len(rows))
    return made


def _image(layout: Layout, pieces: Sequence[memoryview], height: int) -> Array:
    """So many rows of the image, which begin with these strips or tiles."""
    samples = layout.interleaved
    photometric, mode = _MODES[samples]
    tags = _geometry(layout)
    if samples == 3 and layout.photometric == t.YCBCR:
        photometric = t.YCBCR
        _copy(layout, tags, _SUBSAMPLING)
    tags |= {
        t.HEIGHT: (_LONG, [height]),
        t.SAMPLES: (_SHORT, [samples]),
        t.BITS: (_SHORT, [8] * samples),
        t.COMPRESSION: (_SHORT, [layout.compression]),
        t.PHOTOMETRIC: (_SHORT, [photometric]),
    }
    _copy(layout, tags, _JPEG_TABLES)
    file = tiff_file(tags, pieces, tiles=layout.tiled)
    found = by_libtiff(file, mode, layout.compression)
    if found.shape[:2] != (height, layout.width):
        raise ValueError("TIFF data is damaged: its strips or tiles contradict its header")
    return found.reshape(height, layout.width, samples)


def as_uncompressed(layout: Layout) -> tuple[bytes, int]:
    """A file with the same image in YCbCr or CIELab, uncompressed: its data are known to be whole;
    and its width, which may be a larger one. Raises ValueError."""
    subsampling = layout.tags.all(_SUBSAMPLING, 2) if layout.photometric == t.YCBCR else (1, 1)
    across, down = (*subsampling, 2)[:2]
    if layout.samples != 3 or layout.bits != 8 or layout.planes or not 0 < across * down <= 16:
        raise ValueError(
            f"TIFF in YCbCr or CIELab with {layout.samples} samples of {layout.bits} bits in a "
            "pixel, or in planes, is not supported"
        )
    tags = _geometry(layout)
    tags |= {
        t.SAMPLES: (_SHORT, [3]),
        t.BITS: (_SHORT, [8] * 3),
        t.COMPRESSION: (_SHORT, [t.NONE]),
        t.PHOTOMETRIC: (_SHORT, [layout.photometric]),
    }
    for tag in (_COEFFICIENTS, _SUBSAMPLING, _POSITIONING, _REFERENCE):
        _copy(layout, tags, tag)
    if (across, down) == (1, 1):
        tags.pop(t.TILE_WIDTH, None), tags.pop(t.TILE_HEIGHT, None)
        tags[t.ROWS_PER_STRIP] = _LONG, [layout.height]
        return tiff_file(tags, [read_samples(layout).tobytes()]), layout.width
    # Some luminances and two chrominances of a block of pixels lie side by side.
    columns = -(-layout.columns // across) * (across * down + 2)
    rows = -(-layout.rows // down)
    whole, last = divmod(layout.height, layout.rows)
    blocks = replace(
        layout,
        height=whole * rows - (-last // down),
        rows=rows,
        width=-(-layout.width // layout.columns) * columns,
        columns=columns,
        samples=1,
        predictor=1,
    )
    # libtiff divides the bytes of a row of blocks by its rows of pixels, and drops the remainder (a
    # block of 4 x 4 pixels has 18 bytes), so there must be an even number of blocks side by side.
    width = layout.width if layout.tiled else -(-layout.width // (2 * across)) * 2 * across
    more = 0 if layout.tiled else width // across * (across * down + 2) - columns
    pieces = [np.pad(piece, ((0, 0), (0, more))) for piece, _ in decoded_pieces(blocks)]
    tags[t.WIDTH] = _LONG, [width]
    return tiff_file(tags, [piece.data.cast("B") for piece in pieces], tiles=layout.tiled), width


def _geometry(layout: Layout) -> dict[int, tuple[int, Sequence[int]]]:
    tags: dict[int, tuple[int, Sequence[int]]] = {
        t.WIDTH: (_LONG, [layout.width]),
        t.HEIGHT: (_LONG, [layout.height]),
        t.PLANAR: (_SHORT, [1]),
    }
    if layout.tiled:
        tags[t.TILE_WIDTH] = _LONG, [layout.columns]
        tags[t.TILE_HEIGHT] = _LONG, [layout.rows]
    else:
        tags[t.ROWS_PER_STRIP] = _LONG, [layout.rows]
    return tags


def _copy(layout: Layout, tags: dict[int, tuple[int, Sequence[int]]], tag: int) -> None:
    """In the type that the specification gives the tag. Raises ValueError."""
    if layout.tags.has(tag):
        kind, wanted = layout.tags.kind(tag), _TYPES[tag]
        if (kind == _FRACTION) != (wanted == _FRACTION):
            raise ValueError(f"TIFF header is damaged: tag {tag} has values of type {kind}")
        tags[tag] = wanted, layout.tags.all(tag)
