"""TIFF headers, and the TIFF directory inside EXIF."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from operator import add
from typing import Literal

from .image_info import FLOAT32, ImageInfo, TiffNotes, integer_dtype

# Tag numbers of the TIFF 6.0 specification.
_LAYOUT = _WIDTH, _HEIGHT, _BITS, _COMPRESSION, _PHOTOMETRIC = 256, 257, 258, 259, 262
_PLACES = _STRIPS, _STRIP_BYTES, _TILES, _TILE_BYTES = 273, 279, 324, 325
_PIXELS = _SAMPLES, _PLANAR, _COLOR_MAP, _EXTRA_SAMPLES, _SAMPLE_FORMAT = 277, 284, 320, 338, 339
_ROWS_PER_STRIP, _PREDICTOR, _TILE_WIDTH, _TILE_HEIGHT = _SIZES = 278, 317, 322, 323
_ORIENTATION = 274
_KEPT = frozenset((*_LAYOUT, *_PLACES, *_PIXELS, *_SIZES, _ORIENTATION))
_CODES = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 16: "Q"}
_BLACK_IS_ZERO, _PALETTE, _CMYK = 1, 3, 5
_MOST_VALUES = 3 * 2**16
_MOST_SAMPLES = 64
_SHORT = "TIFF ends inside its first directory"


@dataclass(frozen=True, slots=True)
class _Entry:
    code: str
    count: int
    offset: int
    """Where the values are in the file."""


def exif_orientation(view: memoryview) -> int:
    """The orientation in an EXIF block; 1 where missing or damaged: no image depends on it."""
    try:
        order = "<" if bytes(view[:2]) == b"II" else ">"
        (first,) = struct.unpack_from(order + "I", view, 4)
        (entries,) = struct.unpack_from(order + "H", view, first)
        entry = struct.Struct(order + "HHIH")
        for position in range(first + 2, first + 2 + 12 * entries, 12):
            tag, _, _, value = entry.unpack_from(view, position)
            if tag == _ORIENTATION:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


@dataclass(frozen=True, slots=True)
class Tags:
    """The entries of the first directory that matter here."""

    view: memoryview
    order: Literal["<", ">"]
    entries: Mapping[int, _Entry]

    def has(self, tag: int) -> bool:
        return tag in self.entries

    def all(self, tag: int, default: int = 0) -> tuple[int, ...]:
        """The values of a tag; ``struct.error`` or ``ValueError`` where the file lacks them."""
        entry = self.entries.get(tag)
        if entry is None:
            return (default,)
        if entry.offset > len(self.view):
            raise ValueError(f"TIFF tag {tag} points behind the end of the file")
        layout = f"{self.order}{entry.count}{entry.code}"
        return struct.unpack_from(layout, self.view, entry.offset)

    def first(self, tag: int, default: int) -> int:
        return self.all(tag, default)[0]

    def patch(self, tag: int, value: int) -> tuple[int, bytes]:
        """Where to write what, to give a tag one value."""
        entry = self.entries[tag]
        return entry.offset, struct.pack(self.order + entry.code, value)


def read_tiff(view: memoryview) -> ImageInfo:
    """The first image of a classic TIFF or a BigTIFF."""
    try:
        return _image(read_tags(view))
    except struct.error:
        raise ValueError(_SHORT) from None


def read_tags(view: memoryview) -> Tags:
    """The first directory; ``struct.error`` where the file is too short for it."""
    order: Literal["<", ">"] = "<" if bytes(view[:2]) == b"II" else ">"
    (version,) = struct.unpack_from(order + "H", view, 2)
    big = version == 43
    (first,) = struct.unpack_from(order + ("Q" if big else "I"), view, 8 if big else 4)
    if not 8 <= first < len(view):
        raise ValueError(f"TIFF directory is at byte {first} of a file of {len(view)}")
    (entries,) = struct.unpack_from(order + ("Q" if big else "H"), view, first)
    start, size, inline = first + (8 if big else 2), 20 if big else 12, 8 if big else 4
    if start + entries * size > len(view):
        raise ValueError(_SHORT)
    entry = struct.Struct(order + ("HHQ" if big else "HHI"))
    tags: dict[int, _Entry] = {}
    for position in range(start, start + entries * size, size):
        tag, kind, count = entry.unpack_from(view, position)
        if tag in _KEPT and kind in _CODES and 0 < count <= _MOST_VALUES:
            code, offset = _CODES[kind], position + entry.size
            if count * struct.calcsize("=" + code) > inline:
                (offset,) = struct.unpack_from(order + ("Q" if big else "I"), view, offset)
            tags[tag] = _Entry(code, count, offset)
    return Tags(view, order, tags)


def _image(tags: Tags) -> ImageInfo:
    first = tags.first
    for tag, name in ((_WIDTH, "width"), (_HEIGHT, "height")):
        if not tags.has(tag):
            raise ValueError(f"TIFF has no image {name} in its first directory")
    samples, photometric, bits = first(_SAMPLES, 1), first(_PHOTOMETRIC, 1), first(_BITS, 1)
    is_float = first(_SAMPLE_FORMAT, 1) == 3
    _check_samples(samples, bits, first(_SAMPLE_FORMAT, 1))
    palette = photometric == _PALETTE and samples == 1 and not is_float
    cmyk = photometric == _CMYK and samples == 4
    color = "palette" if palette else "cmyk" if cmyk else _color(samples)
    orientation = first(_ORIENTATION, 1)
    indexed = tags.all(_COLOR_MAP) if palette and bits <= 8 else ()
    if indexed and len(indexed) != 3 << bits:
        raise ValueError(f"TIFF palette has {len(indexed)} entries where {3 << bits} are needed")
    planar = first(_PLANAR, 1) == 2
    by_samples = samples == 2 or samples > 4 or (planar and bits > 8)
    integer_gray = (cmyk or planar or orientation != 1) and not (palette or by_samples)
    dtype = FLOAT32 if is_float else integer_dtype(16 if palette else bits)
    return ImageInfo(
        "tiff",
        first(_HEIGHT, 0),
        first(_WIDTH, 0),
        3 if palette else samples,
        bits,
        dtype,
        orientation if 1 <= orientation <= 8 else 1,
        color,
        tiff=TiffNotes(
            _patches(tags, bool(indexed)), indexed, _data_end(tags), by_samples, integer_gray
        ),
    )


def _data_end(tags: Tags) -> int:
    end = 0
    for starts, sizes in ((_STRIPS, _STRIP_BYTES), (_TILES, _TILE_BYTES)):
        if tags.has(starts) and tags.has(sizes):
            end = max(end, *map(add, tags.all(starts), tags.all(sizes)))
    return end


def _check_samples(samples: int, bits: int, sample_format: int) -> None:
    if not 1 <= samples <= _MOST_SAMPLES:
        raise ValueError(
            f"TIFF with {samples} samples in a pixel is not supported: 1 to {_MOST_SAMPLES} are"
        )
    if sample_format == 3 and bits != 32:
        raise ValueError(f"TIFF with floating-point samples of {bits} bits is not supported")
    if sample_format not in (1, 3, 4):
        raise ValueError("TIFF with signed or complex samples is not supported")
    if sample_format != 3 and bits not in (1, 2, 4, 8, 16):
        raise ValueError(f"TIFF with samples of {bits} bits is not supported: 1, 2, 4, 8, 16 are")


def _color(samples: int) -> str:
    return ("gray", "gray+alpha", "rgb", "rgb+alpha")[samples - 1] if samples <= 4 else "channels"


def _patches(tags: Tags, indexed: bool) -> tuple[tuple[int, bytes], ...]:
    """Tag values to overwrite: upright, alpha that is already multiplied, indices as gray."""
    wanted = [(_ORIENTATION, 1), (_EXTRA_SAMPLES, 1)]
    if indexed:
        wanted.append((_PHOTOMETRIC, _BLACK_IS_ZERO))
    return tuple(
        tags.patch(tag, value)
        for tag, value in wanted
        if tags.has(tag) and tags.first(tag, 0) != value
    )
