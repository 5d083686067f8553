"""What the header of a sound file says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gradiva.eager.types.arrays import Float32Array

MOST_CHANNELS: Final = 1024
MOST_VALUES: Final = 1 << 30
"""So many values, 4 GiB of float32, are the most that is decoded of one file."""


@dataclass(frozen=True, slots=True)
class SoundInfo:
    """frames: samples of each channel; rate: in Hz; floats: whether samples are no integers; kind:
    of the samples of a WAV file that is read here, "" for others; begin: where its samples are;
    samples: all of them, flat, where they had to be decoded to be counted."""

    format: str
    frames: int
    channels: int
    rate: int
    floats: bool
    kind: str = ""
    begin: int = 0
    samples: Float32Array | None = None
