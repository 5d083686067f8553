"""Headers that were written before the length of the audio was known, as libsndfile understands
them.

A recorder, or a program that writes to a pipe, leaves 0 or all ones where the number of bytes
belongs. libsndfile takes some of these by the word, and so finds no sample, or no file.

Formats: Apple, "Audio Interchange File Format AIFF-C", 1991; "Apple Core Audio Format
Specification 1.0", 2011; Sun's audio(7); Sony's Wave64.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager.types.arrays import Array

from .wav import WavChunks, size_to_the_end

_ONES: Final = b"\xff" * 4
_MOST: Final = 0xFFFFFFFF


def with_length(data: Array, chunks: WavChunks | None) -> Array:
    """A file whose header says how many bytes of samples there are: the same one, or a copy of one
    that does not say it. chunks: of a WAV file."""
    head = data[:16].tobytes()
    if chunks is not None:
        if head[:4] in (b"RF64", b"BW64") and chunks.size < _MOST:  # plain WAV then holds it
            return _changed(data, {0: b"RIFF", 4: _ONES, 12: b"JUNK", chunks.at: _ONES})
        empty = not data[chunks.at : chunks.at + 4].any()
        return _changed(data, {4: _ONES, chunks.at: _ONES}) if empty and chunks.size else data
    if head[:4] == b".snd" and head[8:12] == bytes(4):
        begin = int.from_bytes(head[4:8], "big")
        return _changed(data, {8: _ONES}) if begin < data.size else data
    if head[:4] == b"caff":
        return _with_last_chunk(data, 8, b"data", 8, (-1, 0))
    if head[:4] == b"RIFX":
        return _with_last_chunk(data, 12, b"data", 4, (0,))
    if head[:4] == b"riff" and data[24:28].tobytes() == b"wave":
        return _with_wide_size(data)
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return _with_last_chunk(data, 12, b"SSND", 4, (0, 8))
    return data


def _changed(data: Array, bytes_at: dict[int, bytes]) -> Array:
    made = data.copy()
    for at, value in bytes_at.items():
        made[at : at + len(value)] = np.frombuffer(value, np.uint8)
    return made


def _with_last_chunk(
    data: Array, at: int, wanted: bytes, width: int, unknown: tuple[int, ...]
) -> Array:
    """Chunks of a name and a size of `width` bytes: give the wanted one what is left of the file,
    if its size is one of those that are written while it is unknown."""
    while at + 4 + width <= data.size:
        name = data[at : at + 4].tobytes()
        size = int.from_bytes(data[at + 4 : at + 4 + width].tobytes(), "big", signed=width == 8)
        begin = at + 4 + width
        if name == wanted:
            left = data.size - begin
            if size not in unknown or left <= max(size, 8):
                return data
            if size >= 0 and size_to_the_end(data, begin + size, "big", width) == 0:
                return data
            return _changed(data, {at + 4: left.to_bytes(width, "big")})
        if size < 0:
            break
        at = begin + size + (size % 2 if width == 4 else 0)
    return data


def _with_wide_size(data: Array) -> Array:
    """W64: chunks of 16 bytes that name them, and 8 for their size with these. libsndfile knows all
    ones; FFmpeg leaves the largest number that has a sign."""
    at = 40
    while at + 24 <= data.size:
        size = int.from_bytes(data[at + 16 : at + 24].tobytes(), "little")
        if data[at : at + 4].tobytes() == b"data":
            return _changed(data, {at + 16: _ONES * 2}) if size > data.size - at else data
        if size < 24:
            break
        at += size + -size % 8
    return data
