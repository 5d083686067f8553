"""Audio files by libsndfile, through the package soundfile."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array
from gradiva.ops.audio.audio_types import convert_audio

from .audio_info import MOST_CHANNELS, MOST_VALUES, AudioInfo, decoded_audio

if TYPE_CHECKING:
    soundfile: Any
else:
    soundfile = lazy_module("soundfile", "gradiva[audio]")

_FLOATS: Final = ("FLOAT", "DOUBLE", "VORBIS", "OPUS", "MPEG_LAYER_I", "MPEG_LAYER_II")
"""Kinds of samples that are no integers; all that begin so."""
_MOST_PER_BYTE: Final = 1 << 16
_UNKNOWN: Final = (1 << 63) - 1
"""libsndfile's number of samples where a header does not know it."""
_BLOCK: Final = 1 << 16
_OPUS_AHEAD: Final = 2
"""Seconds of Opus that are decoded before a part, beside the 0.66 of libsndfile, after which what a
decoder remembers of the beginning is not always gone: then the last bits are those of the whole."""


class NotReadError(ValueError):
    """A file that libsndfile does not open."""


class _Endless(io.BytesIO):
    """A file that pretends to go on far behind its end, so that libsndfile does not guess how many
    frames of MPEG audio there are, and stops at the last one of its guess."""

    _beyond = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        """To a place of the true file; one that is counted from the end is told as one far on."""
        at = super().seek(offset, whence)
        self._beyond = 1 << 40 if whence == 2 else 0
        return at + self._beyond

    def tell(self) -> int:
        """Where it is."""
        return super().tell() + self._beyond


@cache
def _file_class() -> Any:
    class File(soundfile.SoundFile):  # type: ignore[misc]  # the package may be absent
        """A file that is read on from where it is: else soundfile seeks to that place after each
        read, which FLAC of unknown length does not bear, nor MP3 of a low rate."""

        def seekable(self) -> bool:
            """What soundfile asks before it seeks by itself."""
            return False

        def finds_its_way(self) -> bool:
            """Whether libsndfile gets to a sample without decoding those before it."""
            return bool(super().seekable())

    return File


@contextmanager
def _opened(data: Array, kind: type[io.BytesIO] = io.BytesIO) -> Iterator[Any]:
    """The file, for libsndfile. Raises ValueError for one that it cannot read, and
    OperatorRuntimeError where soundfile is not installed."""
    try:
        failure = soundfile.SoundFileError
    except (ImportError, OSError) as error:
        raise op.OperatorRuntimeError(
            "sound files other than plain WAV need soundfile: pip install 'gradiva[audio]'"
        ) from error
    opened = False
    try:
        with _file_class()(kind(data.data)) as file:
            opened = True
            yield file
    except failure as error:
        problem = getattr(error, "error_string", None) or str(error)
        text = f"this is no sound file that can be decoded: {problem}"
        raise (ValueError(text) if opened else NotReadError(text)) from None


def libsndfile_audio(data: Array, safe: int = 0) -> AudioInfo:
    """What the header of a file says. Where it does not say how many samples there are, they are
    decoded. Raises ValueError, and NotReadError for a format that is not known.

    safe: how many samples before the end libsndfile still finds its way to.
    """
    with _opened(data) as file:
        frames, channels, rate = int(file.frames), int(file.channels), int(file.samplerate)
        kind, subtype = str(file.format), str(file.subtype)
        if not 1 <= channels <= MOST_CHANNELS or rate < 1 or frames < 0:
            raise ValueError(
                f"the header says {frames} samples of {channels} channels at {rate} Hz"
            )
        floats = subtype.startswith(_FLOATS)
        seeks = bool(file.finds_its_way())
        if frames == _UNKNOWN:
            return decoded_audio(kind, _measured(file, channels, floats), channels, rate)
    if kind == "MP3":  # a guess
        with _opened(data, _Endless) as file:
            return decoded_audio(kind, _measured(file, channels, floats), channels, rate)
    if frames * channels > data.size * _MOST_PER_BYTE:
        raise ValueError(f"the header says {frames} samples, which no such file holds")
    latest = max(frames - safe, 0) if seeks else 0
    opus = subtype == "OPUS"
    ahead = _OPUS_AHEAD * rate if opus else 0

    def read(begin: int, count: int, out: Array) -> None:
        if not count:
            return
        start = min(max(begin - ahead, 0), latest)
        with _opened(data) as file:
            # Without a seek, an Opus stream whose positions do not begin at 0 keeps its pre-skip.
            if start or opus:
                file.seek(start)
            there = _passed(file, begin - start, channels, floats)
            there += _filled(file, out, floats) if start + there == begin else 0
        if start + there != begin + count:
            raise ValueError(f"the file ends early: {start + there} of {frames} samples are there")

    return AudioInfo(kind, frames, channels, rate, read)


def read_stream(data: Array, begin: int, count: int, channels: int, out: Array) -> None:
    """Samples of MPEG audio, decoded from its beginning, whatever its first frame says of the
    others. Raises ValueError for a stream that ends before them."""
    with _opened(data, _Endless) as file:
        there = _passed(file, begin, channels, True)
        there += _filled(file, out, True) if there == begin else 0
    if there != begin + count:
        raise ValueError(f"the file is damaged: {there - begin} of {count} samples are there")


def _filled(file: Any, out: Array, floats: bool) -> int:
    """Read as many samples as there is room for; how many there were."""
    direct = out.dtype == np.float32 or not floats
    target = out if direct else np.empty(out.size, np.float32)
    read = int(file.buffer_read_into(target, dtype=target.dtype.name))
    if not direct:
        convert_audio(target, out)
    return read


def _passed(file: Any, count: int, channels: int, floats: bool) -> int:
    """Read and forget."""
    room = np.empty(min(count, _BLOCK) * channels, np.float32 if floats else np.int32)
    left = count
    while left:
        part = room[: min(left, _BLOCK) * channels]
        read = int(file.buffer_read_into(part, dtype=part.dtype.name))
        if not read:
            break
        left -= read
    return count - left


def _measured(file: Any, channels: int, floats: bool) -> Array:
    """All samples, to the end."""
    parts: list[Array] = []
    total = 0
    while True:
        part: Array = np.empty(_BLOCK * channels, np.float32 if floats else np.int32)
        read = int(file.buffer_read_into(part, dtype=part.dtype.name)) * channels
        if not read:
            break
        total += read
        if total > MOST_VALUES:
            raise ValueError(f"there are more than {MOST_VALUES} values in the file")
        parts.append(part[:read])
    return np.concatenate(parts) if parts else np.empty(0, np.float32 if floats else np.int32)
