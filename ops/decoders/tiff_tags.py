"""The tags of a TIFF directory, also of that inside EXIF."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ORIENTATION = 274
SHORT = "TIFF ends inside its first directory"
_CODES = {
    1: "B",
    3: "H",
    4: "I",
    5: "II",  # a fraction
    6: "b",
    7: "B",
    8: "h",
    9: "i",
    13: "I",
    16: "Q",
}
_MOST_VALUES = 3 * 2**16


@dataclass(frozen=True, slots=True)
class _TagEntry:
    kind: int
    count: int
    offset: int
    """Where the values are in the file."""


@dataclass(frozen=True, slots=True)
class Tags:
    """The entries of the first directory whose values are numbers."""

    view: memoryview
    order: Literal["<", ">"]
    entries: Mapping[int, _TagEntry]

    def has(self, tag: int) -> bool:
        return tag in self.entries

    def kind(self, tag: int) -> int:
        """The number of the type of a tag's values."""
        return self.entries[tag].kind

    def all(self, tag: int, default: int = 0) -> tuple[int, ...]:
        """The values of a tag, two for each fraction; ``struct.error`` or ``ValueError`` where the
        file lacks them."""
        entry = self.entries.get(tag)
        if entry is None:
            return (default,)
        if entry.offset > len(self.view):
            raise ValueError(f"TIFF tag {tag} points behind the end of the file")
        code = _CODES[entry.kind]
        layout = f"{self.order}{entry.count * len(code)}{code[0]}"
        return struct.unpack_from(layout, self.view, entry.offset)

    def first(self, tag: int, default: int) -> int:
        return self.all(tag, default)[0]


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
        raise ValueError(SHORT)
    entry = struct.Struct(order + ("HHQ" if big else "HHI"))
    tags: dict[int, _TagEntry] = {}
    for position in range(start, start + entries * size, size):
        tag, kind, count = entry.unpack_from(view, position)
        if kind in _CODES and 0 < count <= _MOST_VALUES:
            offset = position + entry.size
            if count * struct.calcsize("=" + _CODES[kind]) > inline:
                (offset,) = struct.unpack_from(order + ("Q" if big else "I"), view, offset)
            tags[tag] = _TagEntry(kind, count, offset)
    return Tags(view, order, tags)


def exif_orientation(view: memoryview) -> int:
    """The orientation in an EXIF block; 1 where missing or damaged: no image depends on it."""
    try:
        order = "<" if bytes(view[:2]) == b"II" else ">"
        (first,) = struct.unpack_from(order + "I", view, 4)
        (entries,) = struct.unpack_from(order + "H", view, first)
        entry = struct.Struct(order + "HHI")
        for position in range(first + 2, first + 2 + 12 * entries, 12):
            tag, kind, _ = entry.unpack_from(view, position)
            if tag == ORIENTATION:
                # Some cameras write it as a LONG, whose value is not in the first two bytes.
                code = _CODES.get(kind, "H")[0]
                (value,) = struct.unpack_from(order + code, view, position + entry.size)
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1
