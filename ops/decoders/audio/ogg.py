"""Ogg files: streams that follow each other ("chained"), each of which libsndfile reads as a file.

Format: S. Pfeiffer, "The Ogg Encapsulation Format Version 0", RFC 3533.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.types.arrays import Array, I64Vector, U8Vector

from .audio_info import AudioInfo, joined_audio
from .libsndfile import libsndfile_audio

_FIRST: Final = 2
"""The flag of a stream's first page."""
_LONGEST_BLOCK: Final = 8192
"""Samples of a packet of Vorbis, at most."""


def is_ogg(data: Array) -> bool:
    """Whether a file begins with a page."""
    return data[:4].tobytes() == b"OggS"


def ogg_audio(data: Array) -> AudioInfo:
    """All streams of a file, one after another. Raises ValueError."""
    links = links_of(data)
    return joined_audio([libsndfile_audio(data[at:end], safe) for at, end, safe in links])


def links_of(data: Array) -> list[tuple[int, int, int]]:
    """Where each stream begins and ends; and how many samples the last page of it has, and those
    before it that its first packet may overlap. libsndfile counts positions back from the end of a
    page. Of the last one that is not the end of its packets, and parts from there would be late."""
    pages = data.size // 27 + 1
    starts, lasts = np.empty(pages, np.int64), np.empty(pages, np.int64)
    count = int(_walk(data, starts, lasts))
    if not count:
        return [(0, data.size, _LONGEST_BLOCK)]
    begins = [0, *starts[1:count].tolist()]
    ends = [*begins[1:], data.size]
    safes = [last + _LONGEST_BLOCK for last in lasts[:count].tolist()]
    return list(zip(begins, ends, safes, strict=True))


@jit
def _walk(data: U8Vector, starts: I64Vector, lasts: I64Vector) -> int:
    """Note where the links of a chained stream begin, and the last position (in samples) of each;
    returns how many links there are."""
    at: Any = 0
    links, within = 0, False
    position: Any = np.int64(0)
    while at + 27 <= data.size:
        if data[at] != 79 or data[at + 1] != 103 or data[at + 2] != 103 or data[at + 3] != 83:
            at += 1
            continue
        segments = np.int64(data[at + 26])
        size: Any = 27 + segments
        if at + size > data.size:
            break
        for k in range(segments):
            size += np.int64(data[at + 27 + k])
        if data[at + 5] & _FIRST:
            if within or links == 0:
                starts[links], lasts[links] = at, 0
                links += 1
                position = np.int64(0)
            within = False
        elif links:
            within = True
            told: Any = np.int64(0)
            for k in range(7, -1, -1):
                told = told << 8 | np.int64(data[at + 6 + k])
            if told > 0:
                lasts[links - 1] = max(told - position, 0)
                position = told
        at += size
    return links
