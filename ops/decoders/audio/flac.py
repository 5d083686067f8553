"""FLAC files that were put one behind the other, each of which libsndfile reads as a file.

Format: M. van Beurden, A. Weaver, "Free Lossless Audio Codec (FLAC)", RFC 9639.
"""

from __future__ import annotations

from typing import Final

from gradiva.eager.types.arrays import Array

from .libsndfile import libsndfile_sound
from .sound_info import SoundInfo, joined_sounds

_SIGNATURE: Final = b"fLaC"
_FIRST_BLOCKS: Final = (b"\x00\x00\x00\x22", b"\x80\x00\x00\x22")
"""STREAMINFO, 34 bytes, which comes first in each file: other blocks follow it or none does."""


def is_flac(data: Array) -> bool:
    """Whether a file begins as FLAC."""
    return data[:4].tobytes() == _SIGNATURE


def flac_sound(data: Array) -> SoundInfo:
    """All files that are in this one. Raises ValueError."""
    whole = data.tobytes()
    starts = [0]
    at = whole.find(_SIGNATURE, 1)
    while at >= 0:
        if whole[at + 4 : at + 8] in _FIRST_BLOCKS:
            starts.append(at)
        at = whole.find(_SIGNATURE, at + 1)
    ends = [*starts[1:], data.size]
    return joined_sounds(
        [libsndfile_sound(data[begin:end]) for begin, end in zip(starts, ends, strict=True)]
    )
