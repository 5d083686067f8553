"""Edit lists of MP4 files: which parts of a track are its sound, one after the other.

FFmpeg cuts the first part to the sample, and later ones at whole packets. So lists of several parts
are read here, and their parts are cut out of all that is decoded.

Format: ISO/IEC 14496-12, "ISO base media file format".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.types.arrays import Array

from .audio_info import check_length

_NORMAL: Final = 1 << 16
"""The rate of a part that is played as fast as it was recorded."""
_MOST: Final = 1 << 14


class Edit(NamedTuple):
    """A part of the media, in seconds."""

    begin: Fraction
    duration: Fraction


def several_edits(data: Array, track: int) -> list[Edit]:
    """The edit list of the track with this number, without its pauses; nothing where there is no
    list of more than one part. Raises ValueError for parts that are played at other speeds, and for
    thousands of them."""
    view = data.data
    found: list[Edit] = []
    try:
        for name, movie in _boxes(view):
            if name == b"moov":
                facts = dict(_boxes(movie))
                for kind, box in _boxes(movie):
                    if kind == b"trak" and b"mvhd" in facts and _number(box) == track:
                        found = _edits(box, _scale(facts[b"mvhd"]))
    except struct.error:
        return []
    return found if len(found) > 1 else []


def _boxes(view: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """The names of the boxes in a part of the file, and what is in them."""
    at = 0
    while at + 8 <= len(view):
        size, name, head = *struct.unpack_from(">I4s", view, at), 8
        if size == 1:
            (size,), head = struct.unpack_from(">Q", view, at + 8), 16
        elif size == 0:
            size = len(view) - at
        if size < head:
            return
        yield name, view[at + head : at + size]
        at += size


def _number(track: memoryview) -> int:
    box = dict(_boxes(track)).get(b"tkhd", memoryview(b""))
    number: int = struct.unpack_from(">I", box, 20 if _is_wide(box) else 12)[0]
    return number


def _is_wide(box: memoryview) -> bool:
    """Whether the times in a box have 64 bits."""
    return len(box) > 0 and box[0] == 1


def _scale(header: memoryview) -> int:
    """Units of a second, of a movie or of a track."""
    scale: int = struct.unpack_from(">I", header, 20 if _is_wide(header) else 12)[0]
    return max(scale, 1)


def _edits(track: memoryview, scale: int) -> list[Edit]:
    boxes = dict(_boxes(track))
    inner = (dict(_boxes(boxes.get(name, memoryview(b"")))) for name in (b"edts", b"mdia"))
    listed, header = next(inner).get(b"elst"), next(inner).get(b"mdhd")
    if listed is None or header is None:
        return []
    entry = struct.Struct(">Qqi" if _is_wide(listed) else ">Iii")
    (count,) = struct.unpack_from(">I", listed, 4)
    units, made = _scale(header), []
    count = min(count, (len(listed) - 8) // entry.size)
    if count > _MOST:
        raise ValueError(f"an edit list of {count} parts is longer than {_MOST}")
    for number in range(count):
        duration, begin, rate = entry.unpack_from(listed, 8 + number * entry.size)
        if duration and begin >= 0 and rate != _NORMAL and count > 1:
            raise ValueError("parts of the sound are to be played at another speed")
        if duration and begin >= 0:
            made.append(Edit(Fraction(begin, units), Fraction(duration, scale)))
    return made


def cut_out(samples: Array, edits: list[Edit], first: Fraction, channels: int, rate: int) -> Array:
    """The parts of what was decoded, flat, which begins at the time `first`. Raises ValueError for
    more than is decoded of one file."""
    ends = np.cumsum([0, *(edit.duration for edit in edits)])
    places = [round(end * rate) for end in ends]
    parts, total = [samples[:0]], 0
    for edit, begin, end in zip(edits, places[:-1], places[1:], strict=True):
        count = (end - begin) * channels
        at = max(round((edit.begin - first) * rate), 0) * channels
        parts.append(samples[at : at + count])
        total += parts[-1].size
        check_length(total)
    return np.concatenate(parts)
