"""FLAC files that were put one behind the other, each of which libsndfile reads as a file.

Format: M. van Beurden, A. Weaver, "Free Lossless Audio Codec (FLAC)", RFC 9639.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager.types.arrays import Array

from .audio_info import AudioInfo, joined_audio
from .libsndfile import libsndfile_audio

_SIGNATURE: Final = b"fLaC"
_WORD: Final = np.frombuffer(_SIGNATURE, np.uint32)[0]
_FIRST_BLOCKS: Final = (b"\x00\x00\x00\x22", b"\x80\x00\x00\x22")
"""STREAMINFO, 34 bytes, which comes first in each file: other blocks follow it or none does."""


def is_flac(data: Array) -> bool:
    """Whether a file begins as FLAC."""
    return data[:4].tobytes() == _SIGNATURE


def flac_audio(data: Array) -> AudioInfo:
    """All files that are in this one. Raises ValueError."""
    starts = [at for at in _signatures(data) if data[at + 4 : at + 8].tobytes() in _FIRST_BLOCKS]
    starts[:1] = [0]  # whatever its first block is
    ends = [*starts[1:], data.size]
    return joined_audio(
        [libsndfile_audio(data[begin:end]) for begin, end in zip(starts, ends, strict=True)]
    )


def _signatures(data: Array) -> list[int]:
    """Where the four letters stand. Words of four bytes, from each of the first four bytes on, are
    compared in vectors: a search for bytes takes three times as long."""
    found: list[int] = []
    for first in range(4):
        words = data[first : first + (data.size - first) // 4 * 4].view(np.uint32)
        equal = words == _WORD
        if equal.any():
            found += (np.flatnonzero(equal) * 4 + first).tolist()
    return sorted(found)
