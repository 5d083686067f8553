"""Audio files as programs leave them: of unknown length, in pieces, joined, in other containers."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gradiva

Array = np.ndarray[Any, Any]
UNKNOWN = 0xFFFFFFFF


def tone(frames: int, channels: int = 1, seed: int = 0) -> Array:
    """float32, (frames, channels): a tone and noise, with a pause."""
    times = np.arange(frames)[:, None]
    sound = 0.3 * np.sin(0.05 * times * (1 + np.arange(channels)))
    sound = sound + np.random.default_rng(seed).uniform(-0.1, 0.1, (frames, channels))
    return np.asarray(sound * (times % 7000 > 2000), np.float32)


def written(samples: Array, format: str, subtype: str | None, rate: int = 16000) -> bytes:
    """By libsndfile."""
    soundfile = pytest.importorskip("soundfile")
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=format, subtype=subtype)
    return stream.getvalue()


def muxed(
    samples: Array, format: str, codec: str, rate: int = 44100, bits: int = 0, kind: str = ""
) -> bytes:
    """By FFmpeg. bits: a second; kind: of the encoder's samples."""
    av = pytest.importorskip("av")
    stream = io.BytesIO()
    layout = {1: "mono", 2: "stereo", 6: "5.1"}[samples.shape[1]]
    options = {"id3v2_version": "0"} if format == "mp3" else {}
    with av.open(stream, "w", format=format, options=options) as container:
        track = container.add_stream(codec, rate=rate, layout=layout)
        kind = kind or av.codec.Codec(codec, "w").audio_formats[0].name
        track.codec_context.format = kind
        if bits:
            track.bit_rate = bits
        planes = samples.T
        if kind[0] == "s":
            largest = 32767 if kind[:3] == "s16" else 2**31 - 1
            planes = (planes.astype(np.float64) * largest).astype(f"i{int(kind[1:3]) // 8}")
        if not kind.endswith("p"):
            planes = planes.T.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(planes), kind, layout)
        frame.sample_rate = rate
        frame.pts, frame.time_base = 0, Fraction(1, rate)
        for packet in [*track.encode(frame), *track.encode()]:
            container.mux(packet)
    return stream.getvalue()


def decoded(file: bytes, **arguments: Any) -> Array:
    """(n, channels)"""
    sound, _ = gradiva.decoders.audio(gradiva.batch([np.frombuffer(file, np.uint8)]), **arguments)
    return np.asarray(sound.at(0))


def by_ffmpeg(file: bytes) -> Array:
    """(n, channels): what PyAV gives, as float32."""
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(file)) as container:
        convert = av.AudioResampler(format="flt")
        made = [part for one in container.decode(audio=0) for part in convert.resample(one)]
        channels = len(made[0].layout.channels)
        return np.concatenate([part.to_ndarray().reshape(-1, channels) for part in made])


def check_parts(file: bytes, dtype: Any = gradiva.float32, count: int = 8) -> Array:
    """The whole of a file, once `peek_audio` and parts of it are what they should be."""
    whole = decoded(file, dtype=dtype)
    lengths, channels, rates = gradiva.peek_audio(gradiva.batch([np.frombuffer(file, np.uint8)]))
    assert (int(lengths.at(0)), int(channels.at(0))) == whole.shape
    rate = float(rates.at(0))
    draw = np.random.default_rng(len(file))
    begins = [0, len(whole), max(len(whole) - 7, 0), *draw.integers(0, len(whole) + 1, count)]
    for begin in begins:
        frames = int(draw.integers(0, 3000))
        part = decoded(file, dtype=dtype, offset=begin / rate, frames=frames)
        np.testing.assert_array_equal(part, whole[begin : begin + frames], f"from {begin} on")
    return whole


def frame_size(file: bytes, at: int = 0) -> int:
    """Of layer III, or of layer II at 44.1 kHz and above."""
    head = file[at : at + 4]
    low, layer = head[1] & 8 == 0, 4 - (head[1] >> 1 & 3)
    kbits = {
        (False, 3): [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
        (True, 3): [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
        (False, 2): [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    }[low, layer][head[2] >> 4]
    rate = [44100, 48000, 32000][head[2] >> 2 & 3] >> (0 if not low else 1 if head[1] & 16 else 2)
    return (72 if low else 144) * kbits * 1000 // rate + (head[2] >> 1 & 1)


def frames_of(file: bytes) -> list[bytes]:
    """The frames of MPEG audio without anything between them."""
    found, at = [], 0
    while at < len(file):
        size = frame_size(file, at)
        found.append(file[at : at + size])
        at += size
    return found


def id3(size: int) -> bytes:
    """A tag of that many bytes, and 10."""
    return b"ID3\x04\0\0" + bytes(size >> shift & 127 for shift in (21, 14, 7, 0)) + b"\1" * size


def ape(size: int) -> bytes:
    """A tag with a head and a foot."""
    sizes = struct.pack("<III", 2000, size + 32, 1)
    head, foot = (struct.pack("<I", flags) + bytes(8) for flags in (5 << 29, 1 << 31))
    return b"APETAGEX" + sizes + head + b"q" * size + b"APETAGEX" + sizes + foot


def in_wav(stream: bytes, tag: int, rate: int, size: int) -> bytes:
    """A stream of MPEG audio as the data of a WAV file."""
    form = struct.pack("<HHIIHHHHIHHH", tag, 1, rate, 4000, 1, 0, 12, 1, 2, 144, 1, 1393)
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", size)
    return b"RIFF" + struct.pack("<I", UNKNOWN) + chunks + stream


def pages_of(ogg: bytes) -> list[bytearray]:
    """The pages of an Ogg file."""
    found, at = [], 0
    while at < len(ogg):
        count = ogg[at + 26]
        size = 27 + count + sum(ogg[at + 27 : at + 27 + count])
        found.append(bytearray(ogg[at : at + size]))
        at += size
    return found


def sealed(page: bytearray) -> bytes:
    """A page with its sum."""
    page[22:26] = bytes(4)
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1) ^ (0x104C11DB7 if value >> 31 else 0)
    page[22:26] = value.to_bytes(4, "little")
    return bytes(page)


def later(ogg: bytes, by: int) -> bytes:
    """An Ogg file whose positions do not begin at 0."""
    made = []
    for page in pages_of(ogg):
        position = int.from_bytes(page[6:14], "little")
        if position not in (0, 2**64 - 1):
            page[6:14] = (position + by).to_bytes(8, "little")
        made.append(sealed(page))
    return b"".join(made)


def of_unknown_length(flac: bytes) -> bytes:
    """As an encoder leaves it that writes to a pipe: 36 bits of the header are 0."""
    return flac[:21] + bytes([flac[21] & 0xF0]) + bytes(4) + flac[26:]


def with_edits(mp4: bytes, edits: list[tuple[int, int, int]], version: int = 0) -> bytes:
    """An MP4 file of one track, with another edit list: durations, in units of the movie, where
    parts begin, in units of the track, and how fast they are played."""
    form = ">Qqi" if version else ">Iii"
    content = bytes([version, 0, 0, 0]) + len(edits).to_bytes(4, "big")
    content += b"".join(struct.pack(form, *edit) for edit in edits)
    made = (8 + len(content)).to_bytes(4, "big") + b"elst" + content
    at = mp4.index(b"elst") - 4
    old = int.from_bytes(mp4[at : at + 4], "big")
    data = bytearray(mp4[:at] + made + mp4[at + old :])
    for name in (b"moov", b"trak", b"edts"):
        place = data.index(name) - 4
        size = int.from_bytes(data[place : place + 4], "big") + len(made) - old
        data[place : place + 4] = size.to_bytes(4, "big")
    return bytes(data)


def with_timescale(mp4: bytes, up: int, down: int) -> bytes:
    """An MP4 file of one track, whose times are counted in other units."""
    data = bytearray(mp4)

    def change(at: int, form: str) -> None:
        numbers = struct.unpack_from(form, data, at)
        struct.pack_into(form, data, at, *(value * up // down for value in numbers))

    change(data.index(b"mdhd") + 16, ">II")
    at = data.index(b"stts") + 8
    for k in range(int.from_bytes(data[at : at + 4], "big")):
        change(at + 8 + 8 * k, ">I")
    change(data.index(b"elst") + 16, ">i")
    return bytes(data)
