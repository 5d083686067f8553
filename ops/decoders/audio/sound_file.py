"""Sound files of all formats: their headers and samples. What is not read here, libsndfile reads,
through the package soundfile, or FFmpeg (`av_file.py`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array
from gradiva.ops.audio.sound_types import convert_sound

from .av_file import av_sound, has_av, needs_av
from .sound_info import MOST_CHANNELS, MOST_VALUES, SoundInfo
from .wav import is_wav, wav_info, wav_samples

if TYPE_CHECKING:
    soundfile: Any
else:
    soundfile = lazy_module("soundfile", "gradiva[audio]")

_FLOATS: Final = ("FLOAT", "DOUBLE", "VORBIS", "OPUS", "MPEG_LAYER_I", "MPEG_LAYER_II")
"""Kinds of samples that are no integers; all that begin so."""
_MOST_PER_BYTE: Final = 1 << 16
_SHORTEST: Final = 12


@contextmanager
def _opened(data: Array) -> Iterator[Any]:
    """The file, for libsndfile. Raises ValueError for one that it cannot read, and
    OperatorRuntimeError where soundfile is not installed."""
    try:
        failure = soundfile.SoundFileError
    except (ImportError, OSError) as error:
        raise op.OperatorRuntimeError(
            "sound files other than plain WAV need soundfile: pip install 'gradiva[audio]'"
        ) from error
    try:
        with soundfile.SoundFile(io.BytesIO(data.data)) as file:
            yield file
    except failure as error:
        problem = getattr(error, "error_string", None) or str(error)
        raise ValueError(f"this is no sound file that can be decoded: {problem}") from None


def sound_info(data: Array) -> SoundInfo:
    """What the header of a file says. Raises ValueError."""
    if data.size == 0:
        raise ValueError("empty file")
    if data.size < _SHORTEST:
        raise ValueError(f"{data.size} bytes are too few for a sound file")
    found = wav_info(data) if is_wav(data) else None
    if found is None and needs_av(data):
        if not has_av():
            raise op.OperatorRuntimeError(
                "AAC and what else FFmpeg decodes need PyAV: pip install 'gradiva[video]'"
            )
        found = av_sound(data)
    if found is None:
        with _opened(data) as file:
            found = SoundInfo(
                str(file.format),
                int(file.frames),
                int(file.channels),
                int(file.samplerate),
                str(file.subtype).startswith(_FLOATS),
            )
    if not 1 <= found.channels <= MOST_CHANNELS or found.rate < 1 or found.frames < 0:
        raise ValueError(
            f"the header says {found.frames} samples of {found.channels} channels at "
            f"{found.rate} Hz"
        )
    if found.frames * found.channels > data.size * _MOST_PER_BYTE:
        raise ValueError(f"the header says {found.frames} samples, which no such file holds")
    return found


def refuse_long(values: int) -> None:
    """Raises ValueError for more values than are decoded of one file."""
    if values > MOST_VALUES:
        raise ValueError(
            f"{values} values are more than {MOST_VALUES}: give `duration` or `frames` for a part"
        )


def read_samples(data: Array, info: SoundInfo, begin: int, count: int, out: Array) -> None:
    """Fill `out`, flat, float32, int16 or int32, with `count` samples of all channels, from number
    `begin` on. Raises ValueError for a file that ends before them."""
    if not count:
        return
    if info.samples is not None:
        part = info.samples[begin * info.channels : (begin + count) * info.channels]
        convert_samples(part, out)
        return
    if info.kind:
        convert_samples(wav_samples(data, info, begin, count), out)
        return
    with _opened(data) as file:
        if begin:
            file.seek(begin)
        direct = out.dtype == np.float32 or not info.floats
        target = out if direct else np.empty(out.size, np.float32)
        read = file.buffer_read_into(target, dtype=target.dtype.name)
    if read != count:
        raise ValueError(f"the file ends early: {begin + read} of {info.frames} samples are there")
    if not direct:
        convert_sound(target, out)


@op.jit
def _scale(source: Any, step: Any, target: Any) -> None:
    for k in range(source.size):
        target[k] = np.float32(source[k]) * step


def convert_samples(source: Array, target: Array) -> None:
    """Samples of a file as others, both flat. Integers keep their upper bits, as floats from -1 to
    1; floats become integers as everywhere, rounded and saturated."""
    if source.dtype.kind == "f":
        floats = source.astype(np.float32, copy=False)
        if target.dtype.kind == "f":
            target[:] = floats
        else:
            convert_sound(np.ascontiguousarray(floats), target)
        return
    bits, wanted = source.dtype.itemsize * 8, target.dtype.itemsize * 8
    if target.dtype.kind == "f":
        _scale(np.require(source, requirements="A"), np.float32(2.0 ** (1 - bits)), target)
    elif wanted >= bits:
        np.left_shift(source, wanted - bits, out=target, dtype=target.dtype)
    else:
        target[:] = np.right_shift(source, bits - wanted).astype(target.dtype)
