"""Signals whose headers do not know how long they are, and parts of signals that begin anywhere."""

from __future__ import annotations

import json
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, batch
from gradiva.ops.decoders.audio import audio_file
from gradiva.ops.decoders.audio.audio import wav_file
from gradiva.ops.decoders.audio.mp4_edits import Edit, cut_out
from gradiva.ops.decoders.audio.mpeg_frames import header_at, silence, walk
from tests.tiers import few

from .audio_files import (
    UNKNOWN,
    ape,
    by_ffmpeg,
    check_parts,
    decoded,
    frames_of,
    id3,
    in_wav,
    later,
    muxed,
    of_unknown_length,
    tone,
    with_edits,
    with_timescale,
    written,
)

MPEG = [  # rate, channels, bits a second, samples of a frame
    (44100, 1, 32000, 1152),
    (16000, 1, 32000, 576),
    (24000, 2, 8000, 576),
    (48000, 2, 320000, 1152),
    (8000, 1, 8000, 576),
]


def mp3(rate: int, channels: int, bits: int, frames: int = 40000) -> tuple[bytes, list[bytes]]:
    """A file, and its frames without the one that tells about the others."""
    file = muxed(tone(frames, channels), "mp3", "libmp3lame", rate, bits)
    tag, *frames_ = frames_of(file)
    assert b"Info" in tag or b"Xing" in tag
    return file, frames_


@pytest.mark.parametrize("kind", few(MPEG, count=3))
def test_mp3_is_counted_by_its_frames(kind: tuple[int, int, int, int]) -> None:
    """With and without a frame that tells about the others; parts are parts of the whole."""
    rate, channels, bits, pitch = kind
    file, frames = mp3(rate, channels, bits)
    whole = check_parts(file)
    assert whole.shape == (40000, channels)
    assert np.abs(whole - tone(40000, channels)).mean() < 0.1
    bare = check_parts(b"".join(frames))
    assert len(bare) == len(frames) * pitch
    np.testing.assert_array_equal(bare[1105 : 1105 + 40000], whole)
    check_parts(b"".join(frames[20:]), gradiva.int16, 4)  # the first one needs those before it


def test_mp3_of_a_varying_rate() -> None:
    """Without a frame that tells about the others, the first one says nothing of them."""
    (_, small), (_, large) = mp3(44100, 1, 32000), mp3(44100, 1, 256000)
    for frames in (small + large, large + small):
        assert len(check_parts(b"".join(frames))) == len(frames) * 1152


def test_joined_mp3() -> None:
    """Each part is as long as it is alone; one of another rate is an error."""
    file, frames = mp3(44100, 1, 64000)
    whole = decoded(file)
    joined = check_parts(id3(100) + file + ape(50) + b"TAG" + bytes(125) + id3(9) + file)
    np.testing.assert_array_equal(joined, np.concatenate([whole, whole]))
    rest = decoded(file + b"".join(frames))  # by a program that drops the tag of the second one
    assert len(rest) == 2 * len(frames) * 1152 - 1105
    np.testing.assert_array_equal(rest[: len(whole)], whole)
    with pytest.raises(OperatorRuntimeError, match="parts of 1 channels at 44100 Hz and of 1 at"):
        decoded(file + mp3(48000, 1, 64000)[0])


def test_frames_that_tell_about_the_others() -> None:
    """Fraunhofer's is left out; LAME's says how much comes before the audio and behind it, and a
    number of frames that is not there means nothing."""
    file, frames = mp3(44100, 1, 64000)
    whole, bare = decoded(file), decoded(b"".join(frames))
    tag = bytearray(frames_of(file)[0])
    at = tag.index(b"Lav") + 21  # the encoder's name; behind it, 12 bits of each
    assert tag[at] << 4 | tag[at + 1] >> 4 == 576
    for delay, fill in ((576, 100), (0, 0), (1105, 700)):
        tag[at : at + 3] = (delay << 12 | fill).to_bytes(3, "big")
        wanted = bare[delay + 529 : len(bare) - max(fill - 529, 0)]
        np.testing.assert_array_equal(decoded(bytes(tag) + b"".join(frames)), wanted)
    assert len(whole) < len(bare)
    unsaid = bytes(tag[: tag.index(b"I") + 8]) + bytes(4) + bytes(tag[tag.index(b"I") + 12 :])
    np.testing.assert_array_equal(decoded(unsaid + b"".join(frames)), bare)
    fraunhofer = frames[0][:4] + bytes(32) + b"VBRI" + bytes(10) + struct.pack(">I", len(frames))
    fraunhofer = fraunhofer.ljust(len(frames[0]), b"\0")
    np.testing.assert_array_equal(decoded(fraunhofer + b"".join(frames)), bare)
    with pytest.raises(OperatorRuntimeError, match="ends early"):
        decoded(fraunhofer + b"".join(frames[:-3]))


def test_tags_around_mp3() -> None:
    file, _ = mp3(44100, 1, 64000)
    whole = decoded(file)
    old = b"TAG" + b"a" * 125
    for before, behind in (
        (id3(300000), b""),
        (id3(30) + id3(5000), old),
        (b"", ape(70) + old),
        (b"", bytes(4000)),
        (b"", b"whatever this is"),
    ):
        np.testing.assert_array_equal(decoded(before + file + behind), whole)


@pytest.mark.parametrize(("codec", "tag"), [("libmp3lame", 0x55), ("mp2", 0x50)])
def test_mpeg_audio_in_wav(codec: str, tag: int) -> None:
    """Whatever the header says of its length."""
    format = "mp3" if codec == "libmp3lame" else "mp2"
    file = muxed(tone(40000), format, codec, 44100, 64000)
    whole = check_parts(file)
    for size in (len(file), 0, UNKNOWN):
        np.testing.assert_array_equal(decoded(in_wav(file, tag, 44100, size)), whole)


def test_mp2() -> None:
    """A format that has no place for its length."""
    file = muxed(tone(40000, 2), "mp2", "mp2", 48000, 192000)
    assert len(check_parts(file)) == len(frames_of(file)) * 1152


def test_short_mp3() -> None:
    """Of as few frames as there may be."""
    _, frames = mp3(44100, 1, 32000)
    for count in (1, 2, 5):
        assert len(check_parts(b"".join(frames[:count]), count=2)) == count * 1152


def test_a_walk_keeps_no_more_than_its_frames() -> None:
    """Of a file of many short streams there are many."""
    second = b"".join(mp3(44100, 1, 32000)[1])
    data = np.frombuffer(second, np.uint8)
    walked = walk(data, 0)
    assert all(kept.base is None for kept in (walked.places, walked.sizes, walked.tags))
    assert len(walked.places) > 1


def test_damaged_mp3() -> None:
    """A length that a header does not know is no damage; what is missing is."""
    file, frames = mp3(44100, 1, 64000)
    for size in (len(file) // 2, len(file) - 1):
        with pytest.raises(OperatorRuntimeError, match="ends early"):
            decoded(file[:size])
    bare = b"".join(frames)
    assert len(decoded(bare[: len(bare) - 1])) == (len(frames) - 1) * 1152
    middle = sum(map(len, frames[:9])) + 1
    with pytest.raises(OperatorRuntimeError, match="damaged: there are bytes between"):
        decoded(bare[:middle] + b"x" * 300 + bare[middle + 300 :])


def test_frames_that_are_there_for_others_alone() -> None:
    """They keep where their main data begin, and get a new sum."""
    _, frames = mp3(44100, 1, 64000, 5000)
    for protected in (False, True):
        frame = np.frombuffer(frames[3], np.uint8).copy()
        frame[1] = frame[1] & 0xFE | (not protected)
        before = frame.copy()
        silence(frame, np.zeros(1, np.int64), header_at(frame, 0))
        begin = 6 if protected else 4
        assert frame[begin] == before[begin]
        assert frame[begin + 1] == before[begin + 1] & 0x80
        assert not frame[begin + 2 : begin + 17].any()
        np.testing.assert_array_equal(frame[begin + 17 :], before[begin + 17 :])
        if protected:
            value = 0xFFFF
            for byte in [*frame[2:4].tolist(), *frame[6:23].tolist()]:
                for k in range(7, -1, -1):
                    odd = (value >> 15 ^ byte >> k) & 1
                    value = value << 1 & 0xFFFF ^ (0x8005 if odd else 0)
            assert value == int.from_bytes(frame[4:6].tobytes(), "big")


@pytest.mark.parametrize("channels", [1, 2, 6])
@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24"])
def test_flac_of_unknown_length(subtype: str, channels: int) -> None:
    """All samples, bit by bit; what is cut or damaged stays an error."""
    known = written(tone(9000, channels), "FLAC", subtype)
    file = of_unknown_length(known)
    for dtype in (gradiva.int32, gradiva.float32, gradiva.int16):
        np.testing.assert_array_equal(check_parts(file, dtype, 2), decoded(known, dtype=dtype))
    np.testing.assert_array_equal(decoded(id3(99) + file), decoded(known))
    bent = bytearray(file)
    bent[len(file) // 2] ^= 0xFF
    for damaged in (file[: len(file) // 2], bytes(bent)):
        with pytest.raises(OperatorRuntimeError, match="flac decoder"):
            decoded(damaged)


def test_joined_flac() -> None:
    """The samples of all files, also where some do not know their length."""
    files = [written(tone(frames), "FLAC", "PCM_16") for frames in (9000, 700, 5000)]
    for joined in (files, [of_unknown_length(files[0]), files[1], of_unknown_length(files[2])]):
        found = check_parts(b"".join(joined), gradiva.int16, 2)
        np.testing.assert_array_equal(
            found, np.concatenate([decoded(file, dtype=gradiva.int16) for file in files])
        )
    with pytest.raises(OperatorRuntimeError, match="the file has parts of 1 channels"):
        decoded(files[0] + written(tone(99, 2), "FLAC", "PCM_16"))
    with pytest.raises(OperatorRuntimeError):
        decoded(files[0] + files[2][:-500])


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_chained_ogg(subtype: str) -> None:
    """The samples of all streams, one after another."""
    files = [written(tone(frames), "OGG", subtype) for frames in (20000, 999, 30000)]
    chained = check_parts(b"".join(files))
    np.testing.assert_array_equal(chained, np.concatenate([decoded(file) for file in files]))
    assert len(chained) == 50999
    for other in (written(tone(999), "OGG", subtype, 8000), written(tone(999, 2), "OGG", subtype)):
        with pytest.raises(OperatorRuntimeError, match="the file has parts of 1 channels"):
            decoded(files[0] + other)


@pytest.mark.full
@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_parts_of_ogg(subtype: str) -> None:
    """Also of the last page, which ends before its packets do."""
    file = written(tone(200000), "OGG", subtype)
    whole = decoded(file)
    for begin in range(1000, 200000, 9000):
        part = decoded(file, offset=begin / 16000, frames=500)
        np.testing.assert_array_equal(part, whole[begin : begin + 500], f"from {begin} on")


def test_opus_that_begins_late() -> None:
    """What comes before the audio is left out there, too."""
    file = written(tone(50000), "OGG", "OPUS", 48000)
    np.testing.assert_array_equal(check_parts(later(file, 3600 * 48000)), decoded(file))


def _changed(file: bytes, at: int, *values: int, form: str = ">I") -> bytes:
    made = bytearray(file)
    for k, value in enumerate(values):
        struct.pack_into(form, made, at + k * struct.calcsize(form), value)
    return bytes(made)


def _in_chunk(form: str, *places: int | str) -> Any:
    """A change of a header: another size at places, or behind the name of a chunk."""

    def change(file: bytes, size: int) -> bytes:
        for place in places:
            at = place if isinstance(place, int) else file.index(place.encode(), 12) + 4
            file = _changed(file, at, size, form=form)
        return file

    return change


HEADERS = [  # format, kinds of samples, sizes that are written while none is known, where
    (
        "WAV",
        ("PCM_16", "PCM_24", "FLOAT", "ULAW", "IMA_ADPCM"),
        (0, UNKNOWN, 0x7FFFFFFF),
        _in_chunk("<I", 4, "data"),
    ),
    ("RF64", ("PCM_16", "ULAW"), (0, 2**64 - 1), _in_chunk("<Q", 20, 28, 36)),
    ("W64", ("PCM_16",), (0, 24, 2**63 - 1, 2**64 - 1), _in_chunk("<Q", 96)),
    ("CAF", ("PCM_16",), (0, 2**64 - 1), _in_chunk(">Q", 4084)),
    ("AIFF", ("PCM_16", "ULAW"), (0, 8), _in_chunk(">I", "SSND")),
    ("AU", ("PCM_16",), (0, UNKNOWN), _in_chunk(">I", 8)),
]
CHANGES = [
    (format, kind, size, change)
    for format, kinds, sizes, change in HEADERS
    for kind in kinds
    for size in sizes
]


@pytest.mark.parametrize(("format", "kind", "size", "change"), CHANGES)
def test_headers_written_before_the_length_was_known(
    format: str, kind: str, size: int, change: Any
) -> None:
    known = written(tone(5000), format, kind)
    file = change(known, size)
    assert file != known
    np.testing.assert_array_equal(
        check_parts(file, gradiva.int32, 2), decoded(known, dtype=gradiva.int32)
    )


def test_wav_of_which_only_the_head_was_written() -> None:
    """The rest is zeros, which are no chunks: they are not gone through one by one."""
    head = wav_file(np.zeros((4, 1), np.int16)).tobytes()[:36]
    for behind in (bytes(1 << 25), bytes(8) + b"data" + bytes(40)):
        with pytest.raises(OperatorRuntimeError, match="WAV file without samples"):
            decoded(head + behind)


def test_wav_without_samples_before_other_chunks() -> None:
    """Then 0 is the number of bytes."""
    file = written(tone(0), "WAV", "PCM_16")
    for more in (b"LIST\x04\0\0\0INFO", b"id3 \x03\0\0\0abc\0", b"a   \x02\0\0\0abb   \0\0\0\0"):
        assert decoded(file[: file.index(b"data") + 8] + more).shape == (0, 1)
    silent = _changed(written(np.zeros((50, 1)), "WAV", "PCM_16"), 40, 0)
    assert decoded(silent).shape == (50, 1)


@pytest.mark.parametrize("subtype", ["GSM610", "G721_32", "IMA_ADPCM"])
def test_parts_where_libsndfile_does_not_seek(subtype: str) -> None:
    check_parts(written(tone(9000), "WAV", subtype, 8000), count=3)


@pytest.mark.parametrize(
    ("format", "codec"),
    [
        ("mpegts", "mp2"),
        ("mpegts", "aac"),
        ("mpeg", "mp2"),
        ("avi", "pcm_s16le"),
        ("avi", "libmp3lame"),
        ("flv", "libmp3lame"),
        ("flv", "aac"),
        ("ac3", "ac3"),
        ("amr", "libopencore_amrnb"),
        ("latm", "aac"),
        ("webm", "libopus"),
        ("caf", "libmp3lame"),
    ],
)
def test_other_containers(format: str, codec: str) -> None:
    """What libsndfile refuses, FFmpeg reads."""
    rate = {"amr": 8000, "webm": 48000}.get(format, 44100)
    file = muxed(tone(20000), format, codec, rate)
    np.testing.assert_array_equal(check_parts(file, count=2), by_ffmpeg(file))


@pytest.mark.parametrize(
    ("format", "codec", "kind"),
    [
        ("ogg", "flac", "s16"),
        ("wv", "wavpack", "s16p"),
        ("wv", "wavpack", "s32p"),
        ("tta", "tta", "s16"),
        ("mov", "pcm_s16le", "s16"),
        ("matroska", "alac", "s16p"),
        ("matroska", "flac", "s16"),
    ],
)
def test_lossless_by_ffmpeg(format: str, codec: str, kind: str) -> None:
    """Bit by bit."""
    sound = tone(9000, 2)
    bits = int(kind[1:3])
    file = muxed(sound, format, codec, 44100, kind=kind)
    wanted = (sound.astype(np.float64) * (2 ** (bits - 1) - 1)).astype(f"i{bits // 8}")
    dtype = gradiva.int16 if bits == 16 else gradiva.int32
    np.testing.assert_array_equal(check_parts(file, dtype, 2), wanted)


def test_aac_behind_tags() -> None:
    file = muxed(tone(9000), "adts", "aac")
    np.testing.assert_array_equal(decoded(id3(73) + id3(20) + file), decoded(file))


@pytest.mark.parametrize(("up", "down"), [(2, 1), (15, 8), (1, 2)])
def test_edit_lists_count_in_seconds(up: int, down: int) -> None:
    """Whatever the units of a track are."""
    file = muxed(tone(48000), "mp4", "aac", 48000)
    whole = decoded(file)
    assert whole.shape == (48000, 1)
    np.testing.assert_array_equal(decoded(with_timescale(file, up, down)), whole)


@pytest.mark.full
@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("channels", [1, 2])
def test_edit_lists_of_several_parts(channels: int, version: int) -> None:
    """Each is cut to the sample, wherever packets begin. The movie counts in milliseconds."""
    file = muxed(tone(48000, channels), "mp4", "aac", 48000)
    whole = decoded(file)
    begin = 1024  # what the encoder puts before the audio
    parts = [(200, 0), (301, 24001), (7, 5000), (200, 0)]
    edits = [(duration, begin + place, 1 << 16) for duration, place in parts]
    wanted = np.concatenate([whole[place : place + 48 * duration] for duration, place in parts])
    late = [(50, -1, 1 << 16), *edits]
    for some in (edits, late):
        np.testing.assert_array_equal(check_parts(with_edits(file, some, version)), wanted)
    pause = [edits[0], (10, -1, 1 << 16), edits[1]]
    found = decoded(with_edits(file, pause, version))  # there are no samples in a pause
    np.testing.assert_array_equal(found, wanted[: 9600 + 301 * 48])
    one = [(200, begin, 1 << 16), (0, begin, 1 << 16)]
    np.testing.assert_array_equal(decoded(with_edits(file, one, version)), wanted[:9600])
    beyond = [edits[0], (5000, begin + 24000, 1 << 16)]  # to the end of what is there
    found = decoded(with_edits(file, beyond, version))
    there = np.concatenate([whole[:9600], whole[24000:]])
    np.testing.assert_array_equal(found[: len(there)], there)
    assert len(there) <= len(found) < len(there) + 1024
    with pytest.raises(OperatorRuntimeError, match="another speed"):
        decoded(with_edits(file, [edits[0], (100, begin, 1 << 17)], version))
    with pytest.raises(OperatorRuntimeError, match="20000 parts is longer"):
        decoded(with_edits(file, [(1, begin, 1 << 16)] * 20000, version))


def test_edit_lists_that_repeat_a_sound() -> None:
    """It is refused before it takes memory."""
    edits = [Edit(Fraction(0), Fraction(100))] * 9000
    with pytest.raises(ValueError, match="values are more than"):
        cut_out(np.zeros(1 << 17, np.float32), edits, Fraction(0), 1, 8000)


@pytest.mark.parametrize("rate", [48000, 24000, 16000])
def test_opus_in_mp4(rate: int) -> None:
    """At any rate of its track, it begins where it does in Ogg."""
    sound = tone(rate)
    found = decoded(muxed(sound, "mp4", "libopus", rate, kind="s16"))
    wanted = by_ffmpeg(muxed(sound, "ogg", "libopus", rate, kind="s16"))
    np.testing.assert_array_equal(found[: len(wanted)], wanted)
    assert len(found) == len(wanted) == 48000


def test_without_pyav(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to install: for what only FFmpeg reads, and for what may be such."""
    pytest.importorskip("soundfile")
    monkeypatch.setattr(audio_file, "has_av", lambda: False)
    transport = (b"G" + bytes(187)) * 4
    for file in (transport, b"FLV\1" + bytes(99), b"RIFF\0\0\0\0AVI " + bytes(99)):
        with pytest.raises(OperatorRuntimeError, match=r"need PyAV: pip install 'gradiva\[video"):
            decoded(file)
    with pytest.raises(OperatorRuntimeError, match=r"recogni.ed\. More formats need PyAV"):
        decoded(b"hello" * 20)


def test_a_list_of_other_files_is_no_sound() -> None:
    """FFmpeg would open them."""
    pytest.importorskip("av")
    for text in (
        b"#EXTM3U\n#EXTINF:1,\n/etc/hosts\n",
        b"ffconcat version 1.0\nfile '/etc/hosts'\n",
    ):
        with pytest.raises(OperatorRuntimeError, match="no sound file that can be decoded"):
            decoded(text * 3)


def test_offsets_of_manifests(tmp_path: Path) -> None:
    """Into files of a low rate, of unknown length, of several streams; also in a pipeline."""
    bare = b"".join(mp3(44100, 1, 32000)[1])
    files = {
        "a.mp3": bare,
        "b.flac": of_unknown_length(written(tone(40000), "FLAC", "PCM_16")),
        "c.ogg": written(tone(20000), "OGG", "VORBIS") + written(tone(20000), "OGG", "VORBIS"),
    }
    lines, wanted = [], []
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        rate = 44100 if name == "a.mp3" else 16000
        line = {"audio_filepath": str(tmp_path / name), "offset": 0.5, "duration": 0.25}
        lines.append(json.dumps(line))
        begin, count = rate // 2, rate // 4
        wanted.append(decoded(content)[begin : begin + count, 0])
    manifest = tmp_path / "manifest.json"
    manifest.write_text("\n".join(lines))
    reader = gradiva.readers.NemoAsr(manifest_filepaths=[str(manifest)], read_text=False)
    ((sounds, _),) = reader.next_epoch(batch_size=3)

    @gradiva.pipeline_def(batch_size=3, num_threads=2)
    def pipe() -> Any:
        data, _ = gradiva.fn.readers.file(files=[str(tmp_path / name) for name in files])
        return gradiva.fn.decoders.audio(data, offset=0.5, duration=0.25, downmix=True)

    with pipe() as made:
        outputs, _ = made.run()
    eager, _ = gradiva.decoders.audio(
        batch([np.frombuffer(content, np.uint8) for content in files.values()]),
        offset=0.5,
        duration=0.25,
        downmix=True,
    )
    for found in (sounds, outputs, eager):
        for one, other in zip(found.arrays(), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
