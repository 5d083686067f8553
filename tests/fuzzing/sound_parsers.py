"""Parsers of audio files."""

from __future__ import annotations

import struct

import numpy as np

import gradiva
from gradiva.ops.decoders.audio.mp4_edits import cut_out, several_edits
from gradiva.ops.decoders.audio.mpeg import mpeg_audio as info_of_mpeg
from gradiva.ops.decoders.audio.mpeg_frames import header_at, needed_from, silence, walk
from gradiva.ops.decoders.audio.ogg import links_of
from gradiva.ops.decoders.audio.unknown_lengths import with_length
from gradiva.ops.decoders.audio.wav import is_wav, wav_chunks


def sound(data: bytes) -> None:
    """WAV files; of others, libraries take care."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        data = b"RIFF" + data[4:8].ljust(4, b"\0") + b"WAVE" + data[12:]
    array = np.frombuffer(data, np.uint8)
    found, _ = gradiva.decoders.audio(array, dtype=gradiva.int16)
    assert np.asarray(found).nbytes <= 100 * len(data)  # of MPEG audio


def mpeg_audio(data: bytes) -> None:
    """Where the frames of MPEG audio are, and which of them a part needs. libsndfile decodes it."""
    array = np.frombuffer(data, np.uint8)
    found = info_of_mpeg(array)
    assert found is None or found.frames * found.channels <= 100 * len(data)
    walked = walk(array, 0)
    if walked.places.size:
        assert (walked.places + walked.sizes <= len(data)).all()
        header = header_at(array, int(walked.places[0]))
        last = walked.places.size - 1
        begin, whole = needed_from(array, walked.places, walked.sizes, last, header)
        assert 0 <= begin <= whole <= last
        if header.layer == 3:
            silence(array.copy(), walked.places, header)


def sound_sizes(data: bytes) -> None:
    """Headers of unknown length, and the streams of an Ogg file. libsndfile reads them on."""
    array = np.frombuffer(data, np.uint8)
    assert with_length(array, wav_chunks(array) if is_wav(array) else None).size == len(data)
    end = 0
    for begin, behind, safe in links_of(array):
        assert begin == end
        assert safe >= 0
        end = behind
    assert end == len(data)


def mp4_edits(data: bytes) -> None:
    """The parts of a signal of 40 samples; of a track with the number 1."""
    edits = several_edits(np.frombuffer(data, np.uint8), 1)
    if edits:
        found = cut_out(np.arange(40, dtype=np.float32), edits, edits[-1].duration, 2, 8)
        assert found.size % 2 == 0
        assert found.nbytes <= 1 << 32


def movies() -> list[bytes]:
    """Heads of MP4 files, with lists of both versions."""

    def box(name: bytes, *contents: bytes) -> bytes:
        return (8 + sum(map(len, contents))).to_bytes(4, "big") + name + b"".join(contents)

    head = box(b"mvhd", struct.pack(">IIII", 0, 0, 0, 1000))
    made = []
    for version, form in ((0, ">Iii"), (1, ">Qqi")):
        entries = [(500, -1, 1 << 16), (1000, 3, 1 << 16), (9, -1, 1 << 16), (2000, 0, 1 << 16)]
        listed = [struct.pack(">BxxxI", version, 4)] + [struct.pack(form, *one) for one in entries]
        media = box(b"mdia", box(b"mdhd", struct.pack(">IIII", 0, 0, 0, 8)))
        track = box(b"tkhd", struct.pack(">IIII", 0, 0, 0, 1))
        trak = box(b"trak", track, box(b"edts", box(b"elst", *listed)), media)
        made.append(box(b"ftyp", b"isom") + box(b"moov", head, trak))
    return made
