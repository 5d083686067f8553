"""Audio files of all formats, and by what they are read."""

from __future__ import annotations

from typing import Final

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array

from .audio_info import MOST_CHANNELS, AudioInfo
from .av_file import av_audio, has_av, needs_av
from .flac import flac_audio, is_flac
from .libsndfile import NotReadError, libsndfile_audio
from .mpeg import mpeg_audio
from .ogg import is_ogg, ogg_audio
from .unknown_lengths import with_length
from .wav import has_mpeg, is_wav, wav_audio, wav_chunks

_SHORTEST: Final = 12


def audio_info(data: Array) -> AudioInfo:
    """What a file is, and how its samples are read. Where its header does not say how many there
    are, it is read to its end. Raises ValueError."""
    if data.size == 0:
        raise ValueError("empty file")
    if data.size < _SHORTEST:
        raise ValueError(f"{data.size} bytes are too few for a sound file")
    found = _found(data)
    if not 1 <= found.channels <= MOST_CHANNELS or found.rate < 1:
        raise ValueError(
            f"the header says {found.frames} samples of {found.channels} channels at "
            f"{found.rate} Hz"
        )
    return found


def _found(data: Array) -> AudioInfo:
    chunks = wav_chunks(data) if is_wav(data) else None
    if chunks is None and needs_av(data):
        if not has_av():
            raise op.OperatorRuntimeError(
                "AAC and what else FFmpeg decodes need PyAV: pip install 'gradiva[video]'"
            )
        return av_audio(data)
    if chunks is None:
        found = mpeg_audio(data)
    elif has_mpeg(chunks):
        found = mpeg_audio(data[chunks.begin : chunks.begin + chunks.size])
    else:
        found = wav_audio(data, chunks)
    if found is not None:
        return found
    try:
        if is_ogg(data):
            return ogg_audio(data)
        if is_flac(data):
            return flac_audio(data)
        return libsndfile_audio(with_length(data, chunks))
    except NotReadError as error:
        if not has_av():
            raise ValueError(
                f"{error} More formats need PyAV: pip install 'gradiva[video]'"
            ) from None
        found = av_audio(data, refused=str(error))
    return found
