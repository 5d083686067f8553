"""From the bytes of an audio file to samples as they are wanted: mixed, resampled, converted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array, F32Vector
from gradiva.ops.audio.audio_types import convert_audio
from gradiva.ops.audio.resampling import resample_audio

from .audio_info import AudioInfo


class Wanted(NamedTuple):
    """A part of a file: its first frame, and how many; the rate of the output in Hz, the lobes of
    resampling; whether channels are mixed."""

    begin: int
    frames: int
    rate: float
    lobes: int
    downmix: bool


@op.jit
def _mix(sound: F32Vector, channels: int, mixed: F32Vector) -> None:
    """The mean of channels, which are added one after another."""
    share = np.float32(1) / np.float32(channels)
    for k in range(mixed.size):
        total = np.float32(0)
        for c in range(channels):
            total += sound[k * channels + c] * share
        mixed[k] = total


def decode_audio(info: AudioInfo, wanted: Wanted, out: Array) -> None:
    """Fill `out`, flat, float32, int16 or int32. Raises ValueError for a file that is damaged."""
    begin, count, rate, lobes, downmix = wanted
    channels = info.channels
    mixes, resamples = downmix and channels > 1, rate != info.rate
    if not mixes and not resamples:
        info.read(begin, count, out)
        return
    sound: Array = np.empty(count * channels, np.float32)
    info.read(begin, count, sound)
    if mixes:
        mixed = np.empty(count, np.float32)
        _mix(sound, channels, mixed)
        sound, channels = mixed, 1
    if resamples:
        made = out if out.dtype == np.float32 else np.empty(out.size, np.float32)
        resample_audio(sound, channels, info.rate, rate, lobes, made)
        sound = made
    if sound is not out:
        convert_audio(sound, out)
