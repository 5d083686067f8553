"""Audio files that libsndfile does not read (AAC, M4A, WMA, Matroska, MPEG-TS, ...), by FFmpeg,
through the package PyAV."""

from __future__ import annotations

import importlib.util
import io
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array

from .audio_info import MOST_CHANNELS, MOST_VALUES, AudioInfo, decoded_audio
from .mp4_edits import Edit, cut_out, several_edits
from .mpeg_frames import tags_end

if TYPE_CHECKING:
    av: Any
else:
    av = lazy_module("av", "gradiva[video]")

_FORMATS: Final = (
    "3g2,3gp,aa,aac,ac3,adts,aiff,amr,amrnb,amrwb,ape,asf,asf_o,au,avi,caf,dsf,dts,dtshd,dv,eac3,"
    "epaf,flac,flv,gsm,gxf,iff,ircam,ilbc,lc3,live_flv,loas,m4a,matroska,mj2,mlp,mov,mp3,mp4,mpc,"
    "mpc8,mpeg,mpegts,mxf,nistsphere,nsv,nut,nuv,obu,ogg,oma,osq,paf,pva,pvf,qcp,qoa,rka,rm,rso,"
    "sds,shn,sln,sox,spdif,tak,truehd,tta,voc,vqf,w64,wav,wavarc,webm,wsd,wtv,wv,wve,xa,xwma"
)
"""Formats whose data are all in the file: others name further files, which FFmpeg would open."""
_MARKS: Final = (
    (4, b"ftyp"),  # MP4, M4A, MOV
    (4, b"moov"),  # MOV of old, as the next ones
    (4, b"mdat"),
    (4, b"wide"),
    (0, b"\x1aE\xdf\xa3"),  # Matroska, WebM
    (0, b"0&\xb2u\x8ef\xcf\x11"),  # ASF: WMA
    (0, b"ADIF"),
    (0, b"\0\0\1\xba"),  # MPEG-PS
    (0, b"FLV\1"),
    (0, b"#!AMR"),
    (0, b"wvpk"),
    (0, b"TTA1"),
    (0, b"MAC "),
    (0, b".RMF"),
    (0, b"\x0bw"),  # AC-3
    (28, b"\x7fFLAC"),  # in Ogg
    (28, b"\x80theora"),
    (28, b"Speex   "),
)
_PACKET: Final = 188
"""Bytes of each packet of MPEG-TS, which begins with a G."""
_INTEGERS: Final = {"u8": "s16", "s16": "s16", "s32": "s32", "s64": "s32"}
_DTYPES: Final = {"s16": np.int16, "s32": np.int32, "flt": np.float32}


def needs_av(data: Array) -> bool:
    """Whether a file begins as one that FFmpeg reads and libsndfile does not."""
    begin = tags_end(data)
    head = data[begin : begin + 48].tobytes()
    # Of an AAC stream, each frame begins with 12 bits that are set and a layer of 0.
    if len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:
        return True
    if head[:4] == b"RIFF" and head[8:12] in (b"AVI ", b"AVIX"):
        return True
    if head[:1] == b"G" and bytes(data[_PACKET : 3 * _PACKET : _PACKET]) == b"GG":
        return True
    return any(head[at : at + len(mark)] == mark for at, mark in _MARKS)


def has_av() -> bool:
    """Whether PyAV is installed."""
    return importlib.util.find_spec("av") is not None


def _opened(data: Array, **options: str) -> Any:
    given: dict[str, Any] = {"mode": "r", "options": {"format_whitelist": _FORMATS, **options}}
    try:
        # Titles that are no UTF-8 are no reason to refuse an audio file.
        return av.open(io.BytesIO(data.data), metadata_errors="ignore", **given)
    except TypeError:  # from PyAV 19 on there is nothing to say about them
        return av.open(io.BytesIO(data.data), **given)


def av_audio(data: Array, refused: str = "") -> AudioInfo:
    """A file, decoded: only its frames tell how many samples there are. Raises ValueError.

    refused: what libsndfile has said of the file: the error, where FFmpeg does not know it either.
    """
    try:
        container = _opened(data)
    except (av.FFmpegError, EOFError) as error:
        raise ValueError(refused or _problem(error)) from None
    with container:
        if not container.streams.audio:
            raise ValueError(refused or "there is no sound in this file")
        stream = container.streams.audio[0]
        edits = several_edits(data, stream.id) if _is_mp4(container) else []
        try:
            if not edits:
                return _decoded(container, stream, [])
            with _opened(data, ignore_editlist="1") as whole:
                return _decoded(whole, whole.streams.audio[0], edits)
        except (av.FFmpegError, EOFError) as error:
            raise ValueError(_problem(error)) from None


def _problem(error: Exception) -> str:
    problem = getattr(error, "strerror", None) or str(error)
    return f"this is no sound file that can be decoded: {problem}"


def _is_mp4(container: Any) -> bool:
    return "mp4" in container.format.name.split(",")


def _decoded(container: Any, stream: Any, edits: list[Edit]) -> AudioInfo:
    """edits: the parts of the audio, where FFmpeg does not know of them."""
    if stream.codec_context is None:
        raise ValueError("FFmpeg has no decoder for the sound in this file")
    # What an encoder has put before and behind the audio is cut off here: see `_skipped`.
    stream.codec_context.options = {"flags2": "+skip_manual"}
    rate, channels = int(stream.rate or 0), int(stream.channels or 0)
    form = ""
    parts: list[Array] = []
    total, skip = 0, 0
    first = Fraction(0)
    convert: Any = None
    for packet in container.demux(stream):
        for frame in packet.decode():
            if convert is None:
                rate, channels = int(frame.sample_rate), len(frame.layout.channels)
                if rate < 1 or not 1 <= channels <= MOST_CHANNELS:
                    raise ValueError(f"the header says {channels} channels at {rate} Hz")
                form = _INTEGERS.get(frame.format.packed.name, "flt")
                convert = av.AudioResampler(format=form)
                first = (frame.pts or 0) * stream.time_base
            before, behind = (0, 0) if edits else _skipped(container, stream, frame, rate)
            skip += before
            for made in convert.resample(frame):
                values = made.to_ndarray().reshape(-1)
                if values.size % channels:
                    raise ValueError("the number of channels changes within the sound")
                count = values.size // channels
                left = min(skip, count)
                skip -= left
                if packet.is_discard:
                    continue  # an edit list leaves it out
                values = values[left * channels : max(count - behind, left) * channels]
                total += values.size
                if total > MOST_VALUES:
                    raise ValueError(f"there are more than {MOST_VALUES} values in the file")
                parts.append(values)
    if rate < 1 or not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(f"the header says {channels} channels at {rate} Hz")
    samples = np.concatenate([np.zeros(0, _DTYPES[form or "flt"]), *parts])
    said = _frames_said(container, stream, rate)
    if edits:
        samples = cut_out(samples, edits, first, channels, rate)
    elif said is not None:
        samples = samples[: said * channels]
    return decoded_audio("FFmpeg", samples, channels, rate)


def _skipped(container: Any, stream: Any, frame: Any, rate: int) -> tuple[int, int]:
    """How many samples are to be left out of this frame and those behind it, and from its end.

    FFmpeg finds out what an encoder has put before the audio, wherever the container tells of it.
    What an edit list of MP4 says is in ticks of the track, which FFmpeg takes for samples. What the
    header of an Opus stream says is in samples, and stands where the list says nothing.
    """
    said = frame.side_data.get("SKIP_SAMPLES")
    if said is None:
        return 0, 0
    both = bytes(said)
    before, behind = (int.from_bytes(both[k : k + 4], "little") for k in (0, 4))
    listed = stream.codec_context.name != "opus" or (frame.pts is not None and frame.pts < 0)
    if _is_mp4(container) and listed:
        before = round(float(before * stream.time_base * rate))
    return before, behind if behind <= frame.samples else 0


def _frames_said(container: Any, stream: Any, rate: int) -> int | None:
    """How many samples there are by the header, if it says so.

    What fills the last packet FFmpeg knows in Matroska, and from version 9 on in MP4. Other
    containers than MP4 tell no duration, or one that is guessed from the rate of bits.
    """
    if not _is_mp4(container) or not stream.duration or stream.duration < 0:
        return None
    return round(float(stream.duration * stream.time_base * rate))
