"""How a TIFF stores its samples: strips or tiles, planes, bits, compression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .tiff_tags import Tags

__all__ = [
    "CIELAB",
    "CMYK",
    "PALETTE",
    "STREAMS",
    "WHITE_IS_ZERO",
    "YCBCR",
    "Layout",
    "read_layout",
]

# Tag numbers of the TIFF 6.0 specification.
WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, FILL_ORDER = 256, 257, 258, 259, 262, 266
STRIPS, SAMPLES, ROWS_PER_STRIP, STRIP_BYTES = 273, 277, 278, 279
PLANAR, GROUP_3, GROUP_4, PREDICTOR = 284, 292, 293, 317
TILE_WIDTH, TILE_HEIGHT, TILES, TILE_BYTES, SAMPLE_FORMAT = 322, 323, 324, 325, 339

NONE, LZW, DEFLATE, JPEG, PACKBITS = 1, 5, (8, 32946), 7, 32773
_LZMA, _ZSTD = 34925, 50000
FAX = (2, 3, 4, 32771)
PREDICTED = frozenset((LZW, *DEFLATE, _LZMA, _ZSTD))
"""Those before which samples may be replaced by differences."""
STREAMS = frozenset((NONE, PACKBITS, *FAX)) | PREDICTED
"""What compresses bytes, whatever they mean, or bits."""

WHITE_IS_ZERO, PALETTE, CMYK, YCBCR, CIELAB = 0, 3, 5, 6, 8
_FLOAT = 3
_MOST_PADDING = 4096
_LARGE = 1 << 26


@dataclass(frozen=True, slots=True)
class Layout:
    """height, width: of the image; samples: in a pixel; planes: whether each sample is by itself.
    rows, columns: of a strip or tile, of which each has its place and size in the file."""

    tags: Tags
    order: Literal["<", ">"]
    height: int
    width: int
    samples: int
    bits: int
    is_float: bool
    photometric: int
    compression: int
    predictor: int
    planes: bool
    tiled: bool
    rows: int
    columns: int
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    reversed_bits: bool

    @property
    def interleaved(self) -> int:
        """Samples side by side in a strip or tile."""
        return 1 if self.planes else self.samples

    @property
    def pitch(self) -> int:
        """Bytes in a row of a strip or tile: each row begins a byte."""
        return (self.columns * self.interleaved * self.bits + 7) // 8

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the samples as they are handed on."""
        if self.is_float:
            return np.dtype(np.float32)
        return np.dtype(np.uint8 if self.bits <= 8 else np.uint16)

    @property
    def data_end(self) -> int:
        """The byte behind the last strip or tile."""
        return max((a + b for a, b in zip(self.places, self.sizes, strict=False)), default=0)

    def pieces(self) -> Iterator[tuple[slice, slice, slice]]:
        """Rows, columns and samples of each strip or tile, in the order stored."""
        for sample in range(0, self.samples, self.interleaved):
            for top in range(0, self.height, self.rows):
                for left in range(0, self.width, self.columns):
                    yield (
                        slice(top, min(top + self.rows, self.height)),
                        slice(left, min(left + self.columns, self.width)),
                        slice(sample, sample + self.interleaved),
                    )


def read_layout(tags: Tags) -> Layout:
    """Raises ``ValueError`` or ``struct.error`` for a header that contradicts itself."""
    first = tags.first
    height, width, samples = first(HEIGHT, 0), first(WIDTH, 0), first(SAMPLES, 1)
    tiled = tags.has(TILES)
    if tiled:
        rows, columns = first(TILE_HEIGHT, 0), first(TILE_WIDTH, 0)
    else:
        rows, columns = min(first(ROWS_PER_STRIP, 0) or height, height), width
    large = max(4 * height * width, _LARGE)
    if not (rows > 0 and 0 < columns <= width + _MOST_PADDING and rows * columns <= large):
        raise ValueError("TIFF header is damaged: its strips or tiles have no size")
    places = tags.all(TILES if tiled else STRIPS)
    layout = Layout(
        tags=tags,
        order=tags.order,
        height=height,
        width=width,
        samples=samples,
        bits=first(BITS, 1),
        is_float=first(SAMPLE_FORMAT, 1) == _FLOAT,
        photometric=first(PHOTOMETRIC, 1),
        compression=first(COMPRESSION, NONE),
        predictor=first(PREDICTOR, 1) if first(COMPRESSION, NONE) in PREDICTED else 1,
        planes=first(PLANAR, 1) == 2 and samples > 1,
        tiled=tiled,
        rows=rows,
        columns=columns,
        places=places,
        sizes=_sizes(tags, TILE_BYTES if tiled else STRIP_BYTES, places),
        reversed_bits=first(FILL_ORDER, 1) == 2,
    )
    count = len(range(0, height, rows)) * len(range(0, width, columns))
    count *= samples if layout.planes else 1
    if min(layout.places) < 0 or min(layout.sizes) < 0:
        raise ValueError("TIFF header is damaged: a strip or tile has a place or size below 0")
    if len(layout.places) < count or len(layout.sizes) < count:
        raise ValueError(
            f"TIFF header is damaged: it has {len(layout.places)} strips or tiles where {count} "
            "are needed"
        )
    return layout


def _sizes(tags: Tags, tag: int, places: tuple[int, ...]) -> tuple[int, ...]:
    """How long each strip or tile is; old files do not say it: then up to the end of the file."""
    if tags.has(tag):
        return tags.all(tag)
    return tuple(max(len(tags.view) - place, 0) for place in places)
