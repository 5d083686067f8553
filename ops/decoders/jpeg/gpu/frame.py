"""What a GPU decoder must know of a JPEG beyond what the CPU's header reader tells."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gradiva.eager.values.batch import Batch
from gradiva.ops.decoders.image_info import ImageInfo, encoded_bytes

from ..plain_headers import PlainHeader, header_rows
from ..segments import ADOBE, CODES, FRAMES, JFIF, QUANTIZERS, RESTARTS, SCAN, segments
from .declarations import Subsampling

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
_MOST_PIXELS = 1 << 62
"""The limit was checked when the header was read."""
_LOOK_BACK = 1 << 16
"""How far from its end a file's last marker is looked for: some writers pad their files."""
_SIGNED = 512
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


def read_frames(
    files: Sequence[np.ndarray[Any, Any]], infos: Sequence[ImageInfo], batch: Batch | None = None
) -> list[JpegFrame | None]:
    """The frames of those files that are JPEGs at their own size, None for the others; with the
    same files as a batch, those of most are read at once. Raises as `read_frame` does."""
    found = None if batch is None else header_rows(batch, _MOST_PIXELS)
    rows = None if found is None else found.tolist()
    frames: list[JpegFrame | None] = [None] * len(infos)
    for index, info in enumerate(infos):
        if info.format != "jpeg" or info.scale != 1:
            continue
        plain = None if rows is None else PlainHeader._make(rows[index])
        if plain is None or not plain.is_whole:
            frames[index] = read_frame(files[index], info)
            continue
        sampling = _sampling(plain.channels, plain.first, plain.second, plain.third)
        share, is_rgb = _share(files[index].data), bool(plain.is_rgb)
        frames[index] = JpegFrame(info, *sampling, is_rgb, plain.restart, True, "", share)
    return frames


@lru_cache(maxsize=256)
def _sampling(channels: int, *packed: int) -> tuple[Any, Subsampling, bool]:
    factors = [(pair >> 4, pair & 15) for pair in packed[:channels]]
    return (tuple(factors), *classify(factors))


def _read(view: memoryview, info: ImageInfo) -> JpegFrame:
    factors: list[tuple[int, int]] = []
    names = b""
    restart, transform, jfif = 0, -1, False
    tables = codes = interleaved = False
    for marker, _, start, end, stray in segments(view):
        if stray >= 0 or not start <= end <= len(view):
            raise IndexError
        if marker in FRAMES:
            if factors:
                return _unreliable(view, info, "has two frame headers")
            rows = [view[at : at + 3] for at in range(start + 6, end, 3)]
            factors = [(row[1] >> 4, row[1] & 15) for row in rows]
            names = bytes(row[0] for row in rows)
        elif marker == QUANTIZERS:
            tables = True
        elif marker == CODES:
            codes = True
        elif marker == RESTARTS:
            if end - start != 2:
                return _unreliable(view, info, "has a restart interval of another length")
            restart = view[start] << 8 | view[start + 1]
        elif marker == JFIF and end - start >= 14 and bytes(view[start : start + 5]) == b"JFIF\0":
            jfif = True
        elif marker == ADOBE and end - start >= 12 and bytes(view[start : start + 5]) == b"Adobe":
            transform = view[start + 11]
        elif marker == SCAN:
            interleaved = view[start] == info.channels
            break
    else:
        raise IndexError
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
    half = zlib.crc32(view[middle : middle + _SIGNED], len(view))
    return zlib.crc32(view[-_SIGNED:], half) / 2**32
