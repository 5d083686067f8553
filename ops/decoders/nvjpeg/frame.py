"""What a GPU decoder must know of a JPEG beyond what the CPU's header reader tells."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.ops.decoders.formats.image_info import ImageInfo
from gradiva.ops.decoders.formats.probe import encoded_bytes

from .declarations import Subsampling

_FRAME_HEADERS = frozenset((0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xCA, 0xCB))
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD9)))
_SCAN, _END, _TABLES, _CODES, _RESTART = 0xDA, 0xD9, 0xDB, 0xC4, 0xDD
_END_MARKER = b"\xff\xd9"
_RATIOS = {
    (1, 1): Subsampling.CSS_444,
    (2, 1): Subsampling.CSS_422,
    (2, 2): Subsampling.CSS_420,
    (1, 2): Subsampling.CSS_440,
    (4, 1): Subsampling.CSS_411,
    (4, 2): Subsampling.CSS_410,
    (2, 4): Subsampling.CSS_410V,
}
_LOOK_BACK = 1 << 16
"""How far from its end a file's last marker is looked for: some writers pad their files."""
SIGNED = 512
"""So many bytes of the middle of a file, and as many of its end, make its `share`."""


@dataclass(frozen=True, slots=True)
class JpegFrame:
    """The headers of a JPEG down to its first scan.

    info: what the CPU's reader found: size, bits, coding, orientation, color.
    factors: (horizontal, vertical) sampling factor of each component.
    subsampling: their class; UNKNOWN for what has no name. plain_factors: they are as small as they
        can be for this class.
    stored_rgb: three components that are red, green and blue, by libjpeg's rules.
    restart_interval: in MCUs; 0 if there is none.
    interleaved: the first scan holds all components, so that a sequential file has no other scan.
    damage: why the headers between frame and scan cannot be relied on; "" if they can.
    share: a number in 0..1 made from the file's bytes alone, evenly spread over files.
    """

    info: ImageInfo
    factors: tuple[tuple[int, int], ...]
    subsampling: Subsampling
    plain_factors: bool
    stored_rgb: bool
    restart_interval: int
    interleaved: bool
    damage: str
    share: float


def read_frame(data: np.ndarray[Any, Any], info: ImageInfo) -> JpegFrame:
    """Read on where `probe` stopped, which has found `info` in the same `data`.

    Anything odd becomes `damage`, not an error: the CPU decoder judges such files. Raises
    ValueError, as `probe` does, for what is no array of bytes, or no JPEG.
    """
    data = encoded_bytes(data)
    if info.format != "jpeg":
        raise ValueError(f"a {info.format} file has no JPEG frame")
    view = data.data
    try:
        return _read(view, info)
    except IndexError:
        return _unreliable(view, info, "ends before its first scan")


def _read(view: memoryview, info: ImageInfo) -> JpegFrame:
    factors: list[tuple[int, int]] = []
    names = b""
    restart, transform, jfif = 0, -1, False
    tables = codes = interleaved = False
    for marker, start, end in _segments(view):
        if end > len(view):
            raise IndexError
        if marker in _FRAME_HEADERS:
            if factors:
                return _unreliable(view, info, "has two frame headers")
            rows = [view[at : at + 3] for at in range(start + 6, end, 3)]
            factors = [(row[1] >> 4, row[1] & 15) for row in rows]
            names = bytes(row[0] for row in rows)
        elif marker == _TABLES:
            tables = True
        elif marker == _CODES:
            codes = True
        elif marker == _RESTART:
            restart = view[start] << 8 | view[start + 1]
        elif marker == 0xE0 and bytes(view[start : start + 5]) == b"JFIF\0":
            jfif = True
        elif marker == 0xEE and end - start >= 12 and bytes(view[start : start + 5]) == b"Adobe":
            transform = view[start + 11]
        elif marker == _SCAN:
            interleaved = view[start] == info.channels
            break
    else:
        return _unreliable(view, info, "ends before its first scan")
    problem = ""
    if len(factors) != info.channels or not all(1 <= f <= 4 for pair in factors for f in pair):
        return _unreliable(view, info, "has impossible sampling factors")
    if not tables or (not codes and "arithmetic" not in info.coding):
        problem = "lacks tables"
    elif not _complete(view, end):
        problem = "has no end marker"
    subsampling, plain = classify(factors)
    stored_rgb = (
        info.channels == 3 and not jfif and (transform == 0 or (transform < 0 and names == b"RGB"))
    )
    sampling = tuple(factors), subsampling, plain
    return JpegFrame(info, *sampling, stored_rgb, restart, interleaved, problem, _share(view))


def _segments(view: memoryview) -> Iterator[tuple[int, int, int]]:
    """(marker, first byte of its content, byte behind it) of each segment before image data; stops
    where no marker stands."""
    position = 2
    while view[position] == 0xFF:
        marker = view[position + 1]
        if marker == 0xFF:  # a fill byte
            position += 1
        elif marker in _WITHOUT_LENGTH:
            position += 2
        else:
            length = view[position + 2] << 8 | view[position + 3]
            if marker == _END or length < 2:
                return
            position += 2 + length
            yield marker, position - length + 2, position


def _unreliable(view: memoryview, info: ImageInfo, problem: str) -> JpegFrame:
    return JpegFrame(info, (), Subsampling.UNKNOWN, False, False, 0, False, problem, _share(view))


def classify(factors: list[tuple[int, int]]) -> tuple[Subsampling, bool]:
    """The name of these sampling factors, and whether they are as small as they can be for it."""
    first, others = factors[0], factors[1:]
    if not others:
        return Subsampling.GRAY, first == (1, 1)
    chroma = others[0]
    if len(others) == 3:  # C, M, Y and K have no luma; only whole planes have a name
        same = all(pair == first for pair in others)
        return (Subsampling.CSS_444 if same else Subsampling.UNKNOWN), same and first == (1, 1)
    if others[1] != chroma or first[0] % chroma[0] or first[1] % chroma[1]:
        return Subsampling.UNKNOWN, False
    ratio = first[0] // chroma[0], first[1] // chroma[1]
    return _RATIOS.get(ratio, Subsampling.UNKNOWN), chroma == (1, 1)


def _complete(view: memoryview, scan: int) -> bool:
    """Whether an end marker stands behind the first scan: a file without one is cut."""
    if bytes(view[-2:]) == _END_MARKER:
        return True
    return _END_MARKER in bytes(view[max(scan, len(view) - _LOOK_BACK) :])


def _share(view: memoryview) -> float:
    """From the middle and the end of the file, where every file differs: headers of one camera
    agree, and an end may be padded."""
    middle = len(view) // 2
    half = zlib.crc32(view[middle : middle + SIGNED], len(view))
    return zlib.crc32(view[-SIGNED:], half) / 2**32


def count_scans(data: np.ndarray[Any, Any]) -> int:
    """How many scans a JPEG has, by a walk through all of its bytes (0.1 to 1 ms): for tests and
    for people. A damaged file has those that are found before the damage."""
    view = encoded_bytes(data)
    content = view.tobytes()
    position, scans = 2, 0
    while True:
        # Inside a scan, 0xFF stands before 0 or a restart; any other follower ends it.
        position = content.find(b"\xff", position)
        if position < 0 or position + 4 > len(content):
            return scans
        marker = content[position + 1]
        if marker == _END:
            return scans
        if marker in (0, 0xFF) or marker in _WITHOUT_LENGTH:
            position += 1 if marker == 0xFF else 2
            continue
        scans += marker == _SCAN
        position += 2 + max(2, content[position + 2] << 8 | content[position + 3])
