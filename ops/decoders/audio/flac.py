"""FLAC files that were put one behind the other, each of which libsndfile reads as a file.

Format: M. van Beurden, A. Weaver, "Free Lossless Audio Codec (FLAC)", RFC 9639.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, U8Vector

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
    starts = [0]
    if _has_signature(data[1:-3], data[2:-2], data[3:-1], data[4:]):
        starts += [at for at in _signatures(data) if at and _first_block(data, at)]
    ends = [*starts[1:], data.size]
    return joined_audio(
        [libsndfile_audio(data[begin:end]) for begin, end in zip(starts, ends, strict=True)]
    )


def _first_block(data: Array, at: int) -> bool:
    """Whether a signature at `at` begins a file."""
    return data[at + 4 : at + 8].tobytes() in _FIRST_BLOCKS


@op.jit
def _has_signature(first: U8Vector, second: U8Vector, third: U8Vector, fourth: U8Vector) -> bool:
    """Whether the four letters stand anywhere: four views of the same bytes, each from the next
    byte on. It goes on behind a match, since LLVM vectorizes only loops without an exit."""
    found = False
    for k in range(first.size):
        others = (first[k] ^ np.uint8(0x66)) | (second[k] ^ np.uint8(0x4C))
        others |= (third[k] ^ np.uint8(0x61)) | (fourth[k] ^ np.uint8(0x43))
        found |= others == 0
    return found


def _signatures(data: Array) -> list[int]:
    """Where the four letters stand."""
    found: list[int] = []
    for first in range(4):
        words = data[first : first + (data.size - first) // 4 * 4].view(np.uint32)
        equal = words == _WORD
        if equal.any():
            found += (np.flatnonzero(equal) * 4 + first).tolist()
    return sorted(found)
