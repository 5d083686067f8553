"""The segments of a JPEG, as libjpeg-turbo finds them: the one walk over markers in Python."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Final

from gradiva.ops.decoders.image_info import SEQUENTIAL

CODES, START, END, SCAN, QUANTIZERS, RESTARTS = 0xC4, 0xD8, 0xD9, 0xDA, 0xDB, 0xDD
JFIF, APP1, ADOBE, COMMENT = 0xE0, 0xE1, 0xEE, 0xFE
BASELINE: Final = 0xC0
FRAMES: Final = {
    BASELINE: "baseline",
    0xC1: "extended",
    0xC2: "progressive",
    0xC3: "lossless",
    0xC9: "arithmetic",
    0xCA: "arithmetic progressive",
    0xCB: "arithmetic lossless",
}
"""Frame headers, and the coding that each announces; without the hierarchical ones."""
SEQUENTIAL_FRAMES: Final = tuple(key for key, coding in FRAMES.items() if coding in SEQUENTIAL)

_MARKER: Final = re.compile(rb"\xff[^\x00\x01\xff\xd0-\xd7]")
"""Of a segment with a length, or of the beginning or the end of an image. 0xff is followed by 0 in
image data, and precedes any marker as a fill byte; restarts have no content."""
_FILL: Final = re.compile(rb"(?:\xff+[\x01\xd0-\xd7])*\xff*")
"""What may stand between two segments."""
_MOST_SCANS: Final = 1 << 12
"""Scans are not counted further."""
_HEAD: Final = struct.Struct(">BBH").unpack_from
_BARE: Final = frozenset((0, START, END))
"""No content belongs to these."""
_UNUSUAL: Final = _BARE | {0x01, 0xFF, *range(0xD0, 0xD8)}
"""Behind these, the next marker has to be searched."""


def segments(view: memoryview) -> Iterator[tuple[int, int, int, int, int]]:
    """Walk over the segments behind the first marker of a file, and of several images in a file
    those of the first one. Passed over are image data, fill bytes and restarts.

    Yields (marker, begin, start, end, stray) of each. marker: its second byte; 0: there is none up
    to the end of the file. begin: where it is. start, end: where its content begins and ends; the
    end is before the start if the length is below 2, and can be beyond the end of the file. stray:
    the first byte in front of it that belongs to no segment, and over which libjpeg passes with a
    warning; -1: there is none, or a scan came before. The last one is the beginning or the end of
    an image, or a length is missing.
    """
    position, last, in_header = 2, len(view) - 4, True
    while True:
        begin, stray, prefix, marker = position, -1, 0, 0
        if position <= last:
            prefix, marker, length = _HEAD(view, begin)
        if prefix != 0xFF or marker in _UNUSUAL or not in_header:
            begin, marker, stray = _next_marker(view, position, in_header)
            if marker in _BARE:
                if marker or stray >= 0:
                    yield marker, begin, begin + 2, begin + 2, stray
                return
            if begin > last:
                return
            length = view[begin + 2] << 8 | view[begin + 3]
        yield marker, begin, begin + 4, begin + 2 + length, stray
        position = begin + 2 + (length if length > 1 else 2)
        if marker == SCAN:
            in_header = False


def _next_marker(view: memoryview, position: int, in_header: bool) -> tuple[int, int, int]:
    """Where the next marker is, which it is, and the first stray byte before it."""
    found = _MARKER.search(view, position)
    begin = found.start() if found else len(view)
    fill = _FILL.match(view, position)
    assert fill is not None  # it matches nothing, too
    stray = fill.end() if in_header and fill.end() < begin else -1
    return begin, view[begin + 1] if found else 0, stray


def count_scans(view: memoryview) -> int:
    """The number of scans, by a walk through all bytes of the image; not beyond 4096."""
    scans = 0
    for marker, *_ in segments(view):
        scans += marker == SCAN
        if scans == _MOST_SCANS:
            break
    return scans


def ends_well(view: memoryview) -> bool:
    """Whether image data are followed by the marker that ends an image."""
    scanned = False
    for marker, *_ in segments(view):
        scanned = scanned or marker == SCAN
        if marker == END:
            return scanned
    return False
