"""Sound files that libsndfile does not read (AAC, M4A, WMA, Matroska, ...), by FFmpeg, through the
package PyAV."""

from __future__ import annotations

import importlib.util
import io
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array

from .sound_info import MOST_CHANNELS, MOST_VALUES, SoundInfo

if TYPE_CHECKING:
    av: Any
else:
    av = lazy_module("av", "gradiva[video]")

_MARKS: Final = (
    (4, b"ftyp"),  # MP4, M4A, MOV
    (0, b"\x1aE\xdf\xa3"),  # Matroska, WebM
    (0, b"0&\xb2u\x8ef\xcf\x11"),  # ASF: WMA
    (0, b"ADIF"),
)


def needs_av(data: Array) -> bool:
    """Whether a file begins as one that FFmpeg reads and libsndfile does not."""
    head = data[:16].tobytes()
    # Of an AAC stream, each frame begins with 12 bits that are set and a layer of 0.
    stream = len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0
    return stream or any(head[at : at + len(mark)] == mark for at, mark in _MARKS)


def has_av() -> bool:
    """Whether PyAV is installed."""
    return importlib.util.find_spec("av") is not None


def _opened(data: Array) -> Any:
    try:
        # Titles that are no UTF-8 are no reason to refuse a sound.
        return av.open(io.BytesIO(data.data), metadata_errors="ignore")
    except TypeError:  # from PyAV 19 on there is nothing to say about them
        return av.open(io.BytesIO(data.data))


def av_sound(data: Array) -> SoundInfo:
    """A file, decoded: only its frames tell how many samples there are. Raises ValueError."""
    try:
        with _opened(data) as container:
            if not container.streams.audio:
                raise ValueError("there is no sound in this file")
            stream = container.streams.audio[0]
            rate, channels = int(stream.rate or 0), int(stream.channels or 0)
            if rate < 1 or not 1 <= channels <= MOST_CHANNELS:
                raise ValueError(f"the header says {channels} channels at {rate} Hz")
            parts = _frames(container, stream, channels)
            said = _frames_said(container, stream, rate)
    except (av.FFmpegError, EOFError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"this is no sound file that can be decoded: {problem}") from None
    samples = np.concatenate([np.zeros(0, np.float32), *parts])
    if said is not None:
        samples = samples[: said * channels]
    frames = samples.size // channels
    return SoundInfo("FFmpeg", frames, channels, rate, True, samples=samples)


def _frames_said(container: Any, stream: Any, rate: int) -> int | None:
    """How many samples there are by the header, if it says so.

    FFmpeg cuts off what an encoder has put before the sound, wherever the container tells of it;
    what fills the last packet it cuts off by itself in Matroska, and from version 9 on in MP4.
    Other containers than MP4 tell no duration, or one that is guessed from the rate of bits.
    """
    if "mp4" not in container.format.name or not stream.duration or stream.duration < 0:
        return None
    return round(float(stream.duration * stream.time_base * rate))


def _frames(container: Any, stream: Any, channels: int) -> list[Array]:
    """The samples of all frames, channels beside each other, as float32."""
    convert = av.AudioResampler(format="flt")
    parts: list[Array] = []
    total = 0
    for frame in container.decode(stream):
        for made in convert.resample(frame):
            values = made.to_ndarray().reshape(-1)
            if values.size % channels:
                raise ValueError("the number of channels changes within the sound")
            total += values.size
            if total > MOST_VALUES:
                raise ValueError(f"there are more than {MOST_VALUES} values in the file")
            parts.append(values.astype(np.float32, copy=False))
    return parts
