"""What is known of an audio file, and how its samples are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradiva.eager.types.arrays import Array

from .samples import convert_samples

MOST_CHANNELS: Final = 1024
MOST_VALUES: Final = 1 << 30
"""So many values, 4 GiB of float32, are the most that is decoded of one file."""

Reader: TypeAlias = Callable[[int, int, Array], None]
"""(begin, count, out): fills `out`, flat, float32, int16 or int32, with `count` samples of all
channels, from number `begin` on. Raises ValueError for a file that ends before them."""


@dataclass(frozen=True, slots=True)
class AudioInfo:
    """frames: samples of each channel, as many as can be read; rate: in Hz."""

    format: str
    frames: int
    channels: int
    rate: int
    read: Reader


def decoded_audio(format: str, samples: Array, channels: int, rate: int) -> AudioInfo:
    """An audio file that had to be decoded to be counted: `samples` are all of them, flat."""

    def read(begin: int, count: int, out: Array) -> None:
        convert_samples(samples[begin * channels : (begin + count) * channels], out)

    return AudioInfo(format, samples.size // channels, channels, rate, read)


def joined_audio(parts: list[AudioInfo]) -> AudioInfo:
    """Audio of one file that follow each other. Raises ValueError if they differ in kind."""
    first = parts[0]
    if len(parts) == 1:
        return first
    for part in parts:
        if (part.channels, part.rate) != (first.channels, first.rate):
            raise ValueError(
                f"the file has parts of {first.channels} channels at {first.rate} Hz and of "
                f"{part.channels} at {part.rate} Hz"
            )

    def read(begin: int, count: int, out: Array) -> None:
        at = 0
        for part in parts:
            wanted = min(part.frames - begin, count)
            if wanted > 0:
                size = wanted * first.channels
                part.read(begin, wanted, out[at : at + size])
                at, count, begin = at + size, count - wanted, 0
            else:
                begin = max(begin - part.frames, 0)

    frames = sum(part.frames for part in parts)
    return AudioInfo(first.format, frames, first.channels, first.rate, read)


def check_length(values: int) -> None:
    """Raises ValueError for more values than are decoded of one file."""
    if values > MOST_VALUES:
        raise ValueError(
            f"{values} values are more than {MOST_VALUES}: give `duration` or `frames` for a part"
        )
