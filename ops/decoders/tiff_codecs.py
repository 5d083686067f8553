"""The strips or tiles of a TIFF as plain bytes.

What is not compressed is taken from the file, deflated data by zlib, all else by Pillow's libtiff:
it gets a file of our own, in which the same strips are gray images whose pixels are the bytes. So
it decodes samples of any number and size. Unlike OpenCV's, it says where data are damaged.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import io
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array

from . import tiff_layout as t
from .tiff_layout import Layout

if TYPE_CHECKING:
    from PIL import ImageFile, TiffImagePlugin
else:
    ImageFile = lazy_module("PIL.ImageFile", "pillow")
    TiffImagePlugin = lazy_module("PIL.TiffImagePlugin", "pillow")

Numbers = Mapping[int, tuple[int, Sequence[int]]]
"""The type and the values of each tag."""
_SHORT, _LONG = 3, 4
_CODES = {1: "B", _SHORT: "H", _LONG: "I", 5: "I", 7: "B"}
_LONGEST = 2**32 - 2**20
_AT_ONCE = 1 << 20
"""Bytes that libtiff decodes in one call, unless one strip or tile has more: they pass through some
buffers of Pillow's, which shall stay in the cache."""
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
_PIXELS = {1: (1, "L"), 3: (2, "RGB"), 4: (5, "CMYK")}
"""Samples that libtiff knows how to add up, with a color space in which Pillow leaves them."""


def decoded_pieces(layout: Layout) -> Iterator[tuple[Array, bool]]:
    """Each strip or tile, uint8 of its rows and their bytes, of which the last may be missing where
    the image ends; and whether differences are undone. Raises ValueError for damaged data."""
    counts = [rows.stop - rows.start for rows, _, _ in layout.pieces()]
    if layout.compression == t.NONE or (layout.compression in t.DEFLATE and not _adds(layout)):
        for index, rows in enumerate(counts):
            yield _rows(_plain(layout, index, rows), rows, layout.pitch), False
        return
    begin = 0
    most = at_once(layout)
    while begin < len(counts):
        # Only the last strip of an image may have fewer rows, so no group goes beyond such a one.
        end = begin + 1
        while end < min(begin + most, len(counts)) and counts[end - 1] == layout.rows:
            end += 1
        made = _group(layout, begin, end, layout.rows if layout.tiled else counts[end - 1])
        for index in range(begin, end):
            top = (index - begin) * layout.rows
            yield made[top : top + counts[index]], _adds(layout)
        begin = end


def at_once(layout: Layout) -> int:
    """How many strips or tiles libtiff shall decode in one call."""
    size = layout.columns * layout.interleaved if layout.compression in t.FAX else layout.pitch
    return max(1, _AT_ONCE // (size * layout.rows))


def _rows(data: memoryview | bytes, rows: int, pitch: int) -> Array:
    if len(data) < rows * pitch:
        raise ValueError("TIFF data is damaged or ends early: a strip or tile is short")
    return np.frombuffer(data, np.uint8, rows * pitch).reshape(rows, pitch)


def _plain(layout: Layout, index: int, rows: int) -> memoryview | bytes:
    data = _stored(layout, index)
    if layout.compression == t.NONE:
        return data
    most = layout.pitch * (layout.rows if layout.tiled else rows)
    stream = zlib.decompressobj()
    try:
        made = stream.decompress(data, most)  # never more than the piece may hold
        if not stream.eof:
            stream.decompress(stream.unconsumed_tail, 1)  # its checksum
    except zlib.error as error:
        raise ValueError(f"TIFF data is damaged: {error}") from None
    return made


def _stored(layout: Layout, index: int) -> memoryview | bytes:
    place = layout.places[index]
    data = layout.tags.view[place : place + layout.sizes[index]]
    return bytes(data).translate(_REVERSED) if layout.reversed_bits else data


def _adds(layout: Layout) -> bool:
    """Whether libtiff undoes the differences, which it does sooner than NumPy."""
    return layout.predictor == 2 and layout.bits == 8 and layout.interleaved in _PIXELS


def _group(layout: Layout, begin: int, end: int, last: int) -> Array:
    """The rows of some strips or tiles, one below the other; `last`: rows of the last one."""
    count, rows = end - begin, layout.rows
    photometric, mode, samples, bits, width = 1, "L", 1, 8, layout.pitch
    tags: dict[int, tuple[int, Sequence[int]]] = {}
    if layout.compression in t.FAX:
        mode, bits, width = "1", 1, layout.columns * layout.interleaved
        for tag in (t.GROUP_3, t.GROUP_4):
            tags[tag] = _LONG, [layout.tags.first(tag, 0)]
    elif _adds(layout):
        samples, width = layout.interleaved, layout.columns
        photometric, mode = _PIXELS[samples]
        tags[t.PREDICTOR] = _SHORT, [2]
    height = (count - 1) * rows + last
    tags |= {
        t.WIDTH: (_LONG, [width]),
        t.HEIGHT: (_LONG, [height]),
        t.BITS: (_SHORT, [bits] * samples),
        t.COMPRESSION: (_SHORT, [layout.compression]),
        t.PHOTOMETRIC: (_SHORT, [photometric]),
        t.SAMPLES: (_SHORT, [samples]),
        t.ROWS_PER_STRIP: (_LONG, [rows]),
        t.PLANAR: (_SHORT, [1]),
    }
    pieces = [_stored(layout, index) for index in range(begin, end)]
    found = by_libtiff(tiff_file(tags, pieces), mode, layout.compression)
    if found.shape[:2] != (height, width):
        raise ValueError("TIFF data is damaged: its strips or tiles contradict its header")
    return np.packbits(found, axis=1) if bits == 1 else found.reshape(height, -1)


def tiff_file(tags: Numbers, pieces: Sequence[memoryview | bytes], *, tiles: bool = False) -> bytes:
    """A TIFF of these tags, and of strips or tiles, of which it says where they are."""
    places, place = [], 8
    for piece in pieces:
        places.append(place)
        place += len(piece)
    if place > _LONGEST:
        raise ValueError("TIFF with more than 4 GB of compressed data is not supported")
    all_tags = {
        **tags,
        (t.TILES if tiles else t.STRIPS): (_LONG, places),
        (t.TILE_BYTES if tiles else t.STRIP_BYTES): (_LONG, [len(piece) for piece in pieces]),
    }
    place += place % 2
    beyond = place + 2 + 12 * len(all_tags) + 4
    directory, values = [struct.pack("<H", len(all_tags))], []
    for tag, (kind, numbers) in sorted(all_tags.items()):
        packed = struct.pack(f"<{len(numbers)}{_CODES[kind]}", *numbers)
        count = len(numbers) // (2 if kind == 5 else 1)
        directory.append(struct.pack("<HHI", tag, kind, count))
        if len(packed) > 4:
            directory.append(struct.pack("<I", beyond))
            values.append(packed + bytes(len(packed) % 2))
            beyond += len(values[-1])
        else:
            directory.append(packed.ljust(4, b"\0"))
    body = b"".join([b"II*\0", struct.pack("<I", place), *pieces])
    return b"".join([body, bytes(len(body) % 2), *directory, bytes(4), *values])


def by_libtiff(data: bytes, mode: str, compression: int) -> Array:
    """The pixels of such a file, as Pillow has them in that mode. Raises ValueError."""
    try:
        image = _image_class()(io.BytesIO(data))
        if image.mode != mode:
            raise ValueError(f"its pixels are {image.mode}")
        return np.asarray(image)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  Pillow raises many types on damaged files
        raise ValueError(
            f"TIFF data is damaged, or in a compression that is not supported ({compression}): "
            f"{error}"
        ) from None


@functools.cache
def _image_class() -> Any:
    _silence()

    class Image(TiffImagePlugin.TiffImageFile):
        """The class itself, for `Image.open` judges the size by rules of its own, and warns."""

        load_prepare = ImageFile.ImageFile.load_prepare

    return Image


def _silence() -> None:
    """libtiff prints what it says of damaged files, which is in our errors."""
    try:
        library = ctypes.CDLL(importlib.import_module("PIL._imaging").__file__)
        set_handler: Any = library.TIFFSetErrorHandler
    except (OSError, AttributeError):
        return  # it is inside of Pillow
    set_handler.argtypes, set_handler.restype = [ctypes.c_void_p], ctypes.c_void_p
    set_handler(None)
