"""What a JPEG says before its image data, of a file whose data are one sequential scan: how its
blocks are ordered, quantized and coded. (ITU-T T.81, annex B.)"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Int64Array

from .eighth_codes import Symbols
from .segments import (
    ADOBE,
    CODES,
    COMMENT,
    JFIF,
    QUANTIZERS,
    RESTARTS,
    SCAN,
    SEQUENTIAL_FRAMES,
    segments,
)

_PASSED: Final = frozenset((COMMENT, *range(0xE0, 0xF0)))
"""Comments, and what applications have written."""
_YCBCR: Final = 1
_RGB_NAMES: Final = tuple(b"RGB")
_SAMPLINGS: Final = frozenset(((1, 1), (2, 1), (1, 2), (2, 2), (4, 1)))
"""Blocks of luma across and down, for one of each chroma."""
_BLOCK: Final = 64
_TABLES: Final = 4
"""Of each kind, at most."""
_SYMBOLS: Final = 256
"""In a table, at most."""
_OF_AC: Final = 16
"""Is added to the numbers of codes for AC."""


class Component(NamedTuple):
    """across, down: its blocks in a unit of the scan; steps: what its 64 coefficients are multiples
    of, in the order of the file; dc, ac: its codes."""

    across: int
    down: int
    steps: Int64Array
    dc: Symbols
    ac: Symbols


class Scan(NamedTuple):
    """begin: of the image data, in bytes; restart: units between two restart markers, 0: there are
    none."""

    begin: int
    height: int
    width: int
    restart: int
    components: tuple[Component, ...]


class _Tables(NamedTuple):
    """By their numbers in the file."""

    steps: dict[int, Int64Array]
    codes: dict[int, Symbols]


def read_scan(view: memoryview) -> Scan | None:
    """The scan of a file of 8 bits, gray or YCbCr, with Huffman codes and in the usual order; None
    for all else, and for what has something unusual or wrong about it."""
    tables = _Tables({}, {})
    restart, frame = 0, None
    try:
        for marker, _, start, end, stray in segments(view):
            if stray >= 0 or not start <= end <= len(view):
                return None
            part = view[start:end]
            if marker == SCAN:
                return None if frame is None else _scan(end, frame, part, restart, tables)
            if marker in SEQUENTIAL_FRAMES:
                if frame is not None:
                    return None
                frame = part
            elif marker == CODES:
                _read_codes(part, tables.codes)
            elif marker == QUANTIZERS:
                _read_steps(part, tables.steps)
            elif marker == RESTARTS:
                (restart,) = struct.unpack(">H", part)
            elif marker not in _PASSED or _is_odd(marker, part):
                return None
    except (IndexError, KeyError, struct.error):
        pass
    return None


def _is_odd(marker: int, part: memoryview) -> bool:
    """Whether it names other colors than YCbCr, or a version that libjpeg complains about."""
    if marker == JFIF and bytes(part[:5]) == b"JFIF\0":
        return part[5] != 1
    return marker == ADOBE and bytes(part[:5]) == b"Adobe" and part[11] != _YCBCR


def _scan(
    begin: int, frame: memoryview, part: memoryview, restart: int, tables: _Tables
) -> Scan | None:
    """Raises KeyError where a table is missing."""
    count = frame[5]
    names = tuple(frame[6 + 3 * k] for k in range(count))
    if frame[0] != 8 or count not in (1, 3) or len(frame) != 6 + 3 * count:
        return None
    if names == _RGB_NAMES or len(set(names)) < count:
        return None
    chosen = tuple(part[2 + 2 * k] for k in range(count))
    pairs = (byte for pair in zip(names, chosen, strict=True) for byte in pair)
    if bytes(part) != bytes((count, *pairs, 0, 63, 0)):  # all in order and of all coefficients
        return None
    found: list[Component] = []
    for k, both in enumerate(chosen):
        across, down = divmod(frame[7 + 3 * k], 16)
        if not (1 <= across <= 4 and 1 <= down <= 4):
            return None
        codes = tables.codes[both >> 4], tables.codes[_OF_AC + (both & 15)]
        found.append(Component(across, down, tables.steps[frame[8 + 3 * k]], *codes))
    if count == 1:  # then the order of blocks does not depend on it
        found = [found[0]._replace(across=1, down=1)]
    elif not _is_usual(*found):
        return None
    height, width = frame[1] << 8 | frame[2], frame[3] << 8 | frame[4]
    return Scan(begin, height, width, restart, tuple(found))


def _is_usual(luma: Component, blue: Component, red: Component) -> bool:
    sampling = blue.across, blue.down, red.across, red.down
    alike = (blue.dc, blue.ac) == (red.dc, red.ac) and np.array_equal(blue.steps, red.steps)
    return (luma.across, luma.down) in _SAMPLINGS and sampling == (1, 1, 1, 1) and alike


def _read_steps(part: memoryview, steps: dict[int, Int64Array]) -> None:
    """Raises IndexError where it ends early, KeyError for a number that no table has."""
    position = 0
    while position < len(part):
        wide, number = divmod(part[position], 16)
        end = position + 1 + (_BLOCK << bool(wide))
        part[end - 1]  # all of them are there
        kind = np.dtype(">u2" if wide else "u1")
        if number >= _TABLES:
            raise KeyError(number)
        steps[number] = np.frombuffer(part[position + 1 : end], kind).astype(np.int64)
        position = end


def _read_codes(part: memoryview, codes: dict[int, Symbols]) -> None:
    """Raises as `_read_steps` does."""
    position = 0
    while position < len(part):
        counts = bytes(part[position + 1 : position + 17])
        begin = position + 17
        end = begin + sum(counts)
        part[end - 1]  # all of them are there
        if part[position] & ~_OF_AC >= _TABLES or end - begin > _SYMBOLS:
            raise KeyError(part[position])
        codes[part[position]] = counts, bytes(part[begin:end])
        position = end
