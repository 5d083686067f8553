"""Audio files: formats, damage, parts, and what is not installed."""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, OperatorValueError, batch
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.ops.audio.audio_resample import audio_resample
from gradiva.ops.decoders.audio import audio_file, libsndfile
from gradiva.ops.decoders.audio.audio import wav_file
from tests.tiers import few

Array = np.ndarray[Any, Any]

DTYPES = (gradiva.float32, gradiva.int16, gradiva.int32)


def noise(frames: int, channels: int = 2, seed: int = 0) -> Array:
    """float64 samples from -1 to 1, both reached."""
    samples = np.clip(np.random.default_rng(seed).uniform(-1.05, 1.05, (frames, channels)), -1, 1)
    return np.asarray(samples)


def encoded(samples: Array, format: str, subtype: str | None, rate: int = 16000) -> Array:
    soundfile = pytest.importorskip("soundfile")
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=format, subtype=subtype)
    return np.frombuffer(stream.getvalue(), np.uint8)


def read(data: Array, dtype: str) -> Array:
    soundfile = pytest.importorskip("soundfile")
    with soundfile.SoundFile(io.BytesIO(data.tobytes())) as file:
        return np.asarray(file.read(dtype=dtype, always_2d=True))


@pytest.mark.parametrize("dtype", few(DTYPES, count=2), ids=str)
@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("format", ["WAV", "WAVEX"])
def test_wav(format: str, subtype: str, dtype: Any) -> None:
    """Read here and by libsndfile, WAV files have the same bits."""
    file = encoded(noise(501, 3), format, subtype)
    sound, rate = gradiva.decoders.audio(batch([file]), dtype=dtype)
    assert float(rate.at(0)) == 16000
    if subtype in ("FLOAT", "DOUBLE") and dtype is not gradiva.float32:
        floats = read(file, "float32")
        unit = np.float32(np.iinfo(dtype.numpy).max)
        limits = np.iinfo(dtype.numpy)
        scaled = (floats * unit).astype(np.float64)
        away = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)
        expected = np.clip(away, limits.min, limits.max).astype(dtype.numpy)
    else:
        expected = read(file, dtype.name)
    np.testing.assert_array_equal(sound.at(0), expected)


LOSSLESS = [
    ("FLAC", "PCM_16"), ("FLAC", "PCM_24"), ("AIFF", "PCM_16"), ("AIFF", "PCM_24"),
    ("CAF", "ALAC_16"), ("W64", "PCM_16"), ("AU", "PCM_16"), ("RF64", "PCM_24"), ("WAV", "ULAW"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "subtype"), LOSSLESS)
def test_lossless(format: str, subtype: str) -> None:
    """Integers come out as they went in, in every type that holds them."""
    whole = (noise(3000) * 32767).astype(np.int16)
    file = encoded(whole, format, subtype)
    for dtype in DTYPES:
        sound, _ = gradiva.decoders.audio(batch([file]), dtype=dtype)
        np.testing.assert_array_equal(sound.at(0), read(file, dtype.name))
        if dtype is gradiva.int16 and subtype != "ULAW":
            np.testing.assert_array_equal(sound.at(0), whole)


@pytest.mark.parametrize(
    ("format", "subtype"), [("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", "MPEG_LAYER_III")]
)
def test_lossy(format: str, subtype: str) -> None:
    """A tone is still the tone; integers are the floats, rounded and saturated."""
    time = np.arange(16000) / 16000
    tone = 0.5 * np.sin(2 * np.pi * 440 * time).reshape(-1, 1)
    file = encoded(tone, format, subtype)
    sound, rate = gradiva.decoders.audio(batch([file]), downmix=True)
    assert float(rate.at(0)) == 16000
    floats = np.asarray(sound.at(0))
    assert floats.shape[0] >= 16000
    assert np.abs(np.fft.rfft(floats[:16000])).argmax() == 440
    whole, _ = gradiva.decoders.audio(batch([file]), downmix=True, dtype=gradiva.int16)
    assert np.abs(np.asarray(whole.at(0)) - np.clip(floats * 32767, -32768, 32767)).max() <= 0.51


@pytest.mark.parametrize(
    ("format", "subtype"), [*LOSSLESS, ("WAV", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS")]
)
def test_headers_agree_with_what_is_decoded(format: str, subtype: str) -> None:
    """`peek_audio` says what `decoders.audio` makes, whole; also of a WAV file without samples."""
    counts = [0, 1, 3000] if format == "WAV" else [1, 3000]
    files = batch([encoded(noise(count), format, subtype, 8000) for count in counts])
    lengths, channels, rates = (one.as_array().tolist() for one in gradiva.peek_audio(files))
    sounds, said = gradiva.decoders.audio(files)
    assert sounds.shape == list(zip(lengths, channels, strict=True))
    assert rates == said.as_array().tolist() == [8000.0] * len(counts)
    assert lengths == counts


def test_formats_are_told_by_content(tmp_path: Path) -> None:
    """Whatever a file is called; formats and channels may be mixed in a batch."""
    files = {"a.wav": ("FLAC", 2), "b.flac": ("WAV", 1), "c.txt": ("AIFF", 3)}
    for name, (format, channels) in files.items():
        (tmp_path / name).write_bytes(encoded(noise(99, channels), format, "PCM_16").tobytes())
    reader = gradiva.readers.File(files=[str(tmp_path / name) for name in files])
    ((data, _),) = reader.next_epoch(batch_size=3)
    sound, _ = gradiva.decoders.audio(data)
    assert sound.shape == [(99, 2), (99, 1), (99, 3)]


def test_parts() -> None:
    """A part has the bits of the same part of the whole."""
    whole = (noise(8000) * 32767).astype(np.int16)
    for file in (wav_file(whole, 8000), encoded(whole, "FLAC", "PCM_16", 8000)):
        part, _ = gradiva.decoders.audio(
            batch([file]), dtype=gradiva.int16, offset=0.25, duration=0.5
        )
        np.testing.assert_array_equal(part.at(0), whole[2000:6000])
        part, _ = gradiva.decoders.audio(
            batch([file]), dtype=gradiva.int16, offset=[0.75], frames=9
        )
        np.testing.assert_array_equal(part.at(0), whole[6000:6009])
        rest, _ = gradiva.decoders.audio(
            batch([file]), dtype=gradiva.int16, offset=0.99, duration=9
        )
        np.testing.assert_array_equal(rest.at(0), whole[7920:])
        with pytest.raises(OperatorValueError, match="at most 1 s"):
            gradiva.decoders.audio(batch([file]), offset=1.1)


def test_resampling_is_that_of_the_operator() -> None:
    """After mixing; and what is nothing is not resampled."""
    file = batch([wav_file((noise(3000) * 32767).astype(np.int16))])
    mixed, _ = gradiva.decoders.audio(file, downmix=True)
    both, rate = gradiva.decoders.audio(file, downmix=True, sample_rate=22050, quality=70)
    apart = audio_resample(mixed, in_rate=16000, out_rate=22050, quality=70)
    np.testing.assert_array_equal(both.at(0), apart.at(0))
    assert float(rate.at(0)) == 22050
    same, rate = gradiva.decoders.audio(file, downmix=True, sample_rate=16000)
    np.testing.assert_array_equal(same.at(0), mixed.at(0))


def test_wav_cut_at_each_byte() -> None:
    """The samples that are there, or an error; nothing else."""
    whole = (noise(6) * 32767).astype(np.int16)
    file = wav_file(whole)
    for size in range(file.size + 1):
        if size < 44:
            with pytest.raises(OperatorRuntimeError, match=r"sample 0|empty file"):
                gradiva.decoders.audio(batch([file[:size]]))
            continue
        sound, _ = gradiva.decoders.audio(batch([file[:size]]), dtype=gradiva.int16)
        np.testing.assert_array_equal(sound.at(0), whole[: (size - 44) // 4])


def test_bent_headers() -> None:
    """Each byte of a header turned over: samples or an error."""
    file = wav_file((noise(6) * 32767).astype(np.int16))
    pytest.importorskip("soundfile")
    outcomes = set()
    for at in range(44):
        for mask in (0xFF, 0x01, 0x80):
            bent = file.copy()
            bent[at] ^= mask
            try:
                sound, rate = gradiva.decoders.audio(batch([bent]))
            except OperatorRuntimeError as error:
                outcomes.add("error")
                assert "sample 0" in str(error)  # noqa: PT017  some raise, others do not
            else:
                outcomes.add("sound")
                assert np.asarray(sound.at(0)).size <= 24
                assert float(rate.at(0)) >= 1
    assert outcomes == {"error", "sound"}


@pytest.mark.parametrize(
    ("format", "subtype"), [("FLAC", "PCM_16"), ("OGG", "VORBIS"), ("MP3", None)]
)
def test_cut_files(format: str, subtype: str | None) -> None:
    """Files of other formats end early with an error, or with the samples that their header says
    where it is found out by reading."""
    file = encoded(noise(4000), format, subtype)
    for size in (*range(0, file.size, max(1, file.size // 40)), file.size - 1):
        try:
            sound, _ = gradiva.decoders.audio(batch([file[:size]]))
        except OperatorRuntimeError as error:
            assert "sample 0" in str(error)  # noqa: PT017  as above
        else:
            assert np.isfinite(np.asarray(sound.at(0))).all()
    with pytest.raises(OperatorRuntimeError, match="sample 0"):
        gradiva.decoders.audio(batch([file[: file.size // 8]]))


@pytest.fixture
def folder(tmp_path: Path) -> list[str]:
    """A signal, a text, a signal that says too much, an empty file, another signal."""
    good = wav_file(np.full((5, 1), 7, np.int16))
    huge = (
        struct.pack("<4sI4s", b"RIFF", 1 << 31, b"WAVE") + b"fmt " + struct.pack("<IHH", 16, 1, 0)
    )
    contents = [good.tobytes(), b"hello" * 20, huge + bytes(40), b"", good.tobytes()]
    names = []
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.wav"
        path.write_bytes(content)
        names.append(str(path))
    return names


def test_errors_name_the_file(folder: list[str]) -> None:
    pytest.importorskip("soundfile")
    for name in folder[1:4]:
        ((data, _),) = gradiva.readers.File(files=[name]).next_epoch(batch_size=1)
        with pytest.raises(OperatorRuntimeError, match=Path(name).name):
            gradiva.decoders.audio(data)


def test_on_error(folder: list[str]) -> None:
    """Files that cannot be decoded are left out, or replaced, and listed."""
    pytest.importorskip("soundfile")
    ((data, _),) = gradiva.readers.File(files=folder).next_epoch(batch_size=5)
    with (
        gradiva.Quarantine() as bad,  # that of the process warns once in all
        pytest.warns(UserWarning, match="left out or replaced"),
    ):
        sound, rate = gradiva.decoders.audio(data, dtype=gradiva.int16, on_error="skip")
    assert len(bad) == 3
    assert [one[:, 0].tolist() for one in sound.arrays()] == [[7] * 5] * 2
    assert rate.as_array().tolist() == [16000, 16000]
    with gradiva.Quarantine(warns=False):
        sound, rate = gradiva.decoders.audio(
            data, dtype=gradiva.int16, on_error="replace", fill_value=3
        )
    assert [one[:, 0].tolist() for one in sound.arrays()] == [[7] * 5, [3], [3], [3], [7] * 5]
    assert rate.as_array().tolist() == [16000, 3, 3, 3, 16000]


def test_on_error_in_a_pipeline(folder: list[str]) -> None:
    pytest.importorskip("soundfile")

    @gradiva.pipeline_def(batch_size=5, num_threads=2)
    def sounds() -> Any:
        data, _ = gradiva.fn.readers.file(files=folder)
        sound, rate = gradiva.fn.decoders.audio(data, on_error="skip", downmix=True)
        return gradiva.fn.spectrogram(sound, window_length=4, window_step=2), rate

    with sounds() as pipe:
        with pytest.warns(UserWarning, match="left out or replaced"):
            spectra, rate = pipe.run()
        assert [one.shape for one in spectra.arrays()] == [(3, 3)] * 2
        assert len(rate) == 2
        assert {Path(str(one.file)).name for one in pipe.quarantine} == {"1.wav", "2.wav", "3.wav"}


def test_without_soundfile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain WAV files need nothing; others say what to install, whatever `on_error` says."""
    monkeypatch.setattr(libsndfile, "soundfile", lazy_module("no_such_soundfile"))
    good = wav_file(np.full((5, 1), 7, np.int16))
    gradiva.decoders.audio(batch([good]))
    for policy in ("raise", "skip"):
        with pytest.raises(OperatorRuntimeError, match=r"pip install 'gradiva\[audio\]'"):
            gradiva.decoders.audio(
                batch([np.frombuffer(b"fLaC" + bytes(40), np.uint8)]), on_error=policy
            )


def test_too_long() -> None:
    """A header may say what it likes; what is asked for has a limit."""
    file = batch([wav_file(np.zeros((4000, 1), np.int16), 1)])
    with pytest.raises(OperatorRuntimeError, match="give `duration`"):
        gradiva.decoders.audio(file, sample_rate=1e9)
    silent = wav_file(np.zeros((4, 1), np.int16)).copy()
    silent[24:28] = 0
    with pytest.raises(OperatorRuntimeError, match="0 Hz"):
        gradiva.decoders.audio(batch([silent]))


def aac_file(
    samples: Array, rate: int, format: str = "mp4", options: dict[str, str] | None = None
) -> Array:
    """Encoded by FFmpeg's own encoder. options: of the container."""
    av = pytest.importorskip("av")
    stream = io.BytesIO()
    with av.open(stream, "w", format=format, options=options or {}) as container:
        layout = "mono" if samples.shape[1] == 1 else "stereo"
        track = container.add_stream("aac", rate=rate, layout=layout)
        planes = np.ascontiguousarray(samples.T.astype(np.float32))
        frame = av.AudioFrame.from_ndarray(planes, format="fltp", layout=layout)
        frame.sample_rate = rate
        frame.pts, frame.time_base = 0, Fraction(1, rate)  # else the priming is taken for sound
        for packet in [*track.encode(frame), *track.encode()]:
            container.mux(packet)
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("format", ["mp4", "adts", "matroska"])
def test_aac(format: str) -> None:
    """A tone comes back as it was, nearly; parts are parts of the whole. What the encoder has put
    before the first sample is left out where the file says how much that is."""
    times = np.arange(16000) / 16000
    tone = np.stack([np.sin(2 * np.pi * f * times) / 2 for f in (440, 880)], axis=1)
    file = aac_file(tone, 16000, format)
    sound, rate = gradiva.decoders.audio(gradiva.batch([file]))
    assert float(rate.at(0)) == 16000
    made = np.asarray(sound.at(0))
    assert made.shape[1] == 2
    assert abs(len(made) - len(tone)) <= 4096
    late = 1024 if format == "adts" else 0
    np.testing.assert_allclose(made[late:][2000:14000], tone[2000:14000], atol=0.02)
    part, _ = gradiva.decoders.audio(gradiva.batch([file]), offset=0.25, frames=100)
    np.testing.assert_array_equal(part.at(0), made[4000:4100])
    assert [int(one.at(0)) for one in gradiva.peek_audio(gradiva.batch([file]))][1:] == [2, 16000]
    for size in (20, 100, len(file) // 2):
        with Quarantine(warns=False) as found:
            cut, _ = gradiva.decoders.audio(gradiva.batch([file[:size]]), on_error="skip")
        assert found.total + len(cut) == 1
        assert all(one.shape[0] <= len(made) for one in cut.arrays())


_IN_PIECES = {"movflags": "frag_keyframe+empty_moov+delay_moov", "frag_duration": "200000"}


@pytest.mark.parametrize(
    ("format", "options", "delay", "padding"),
    [
        ("mp4", {}, 0, 0),
        ("ipod", {}, 0, 0),
        ("mov", {}, 0, 0),
        ("matroska", {}, 0, 1023),
        ("mp4", _IN_PIECES, 0, 1023),
        # Where the container says nothing of what the encoder has put before the audio, it stays.
        ("mp4", {"use_editlist": "0"}, 1024, 0),
        ("adts", {}, 1024, 1023),
    ],
)
def test_aac_lines_up(format: str, options: dict[str, str], delay: int, padding: int) -> None:
    """What an encoder puts before and behind a signal is cut off where the container tells of it,
    whatever the version of PyAV; all agree on how long the audio is."""
    times = np.arange(16000) / 16000
    sweep = np.sin(2 * np.pi * (200 + 900 * times) * times) / 2 * (times > 0.1) * (times < 0.95)
    file = gradiva.batch([aac_file(sweep[:, None], 16000, format, options)])
    sound, _ = gradiva.decoders.audio(file, downmix=True)
    made = np.asarray(sound.at(0))
    width = 1 << 16
    product = np.fft.rfft(made, width) * np.fft.rfft(sweep, width).conj()
    assert int(np.fft.irfft(product).argmax()) == delay
    assert 0 <= len(made) - len(sweep) - delay <= padding
    length, *_ = gradiva.peek_audio(file)
    assert int(length.at(0)) == len(made)
    end, _ = gradiva.decoders.audio(file, downmix=True, offset=0.9, frames=9999)
    np.testing.assert_array_equal(end.at(0), made[14400:])


def test_aac_without_pyav(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audio_file, "has_av", lambda: False)
    file = np.frombuffer(b"\0\0\0\x20ftypM4A " + bytes(100), np.uint8)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"need PyAV: pip install 'gradiva\[vid"):
        gradiva.decoders.audio(gradiva.batch([file]))


def test_headers_are_replaced_or_left_out(folder: list[str]) -> None:
    pytest.importorskip("soundfile")
    ((data, _),) = gradiva.readers.File(files=folder).next_epoch(batch_size=5)
    with Quarantine(warns=False) as found:
        lengths, channels, rates = gradiva.peek_audio(data, on_error="replace")
        kept = gradiva.peek_audio(data, on_error="skip")
    sounds, _ = gradiva.decoders.audio(data.at(0))
    assert int(lengths.at(0)) == sounds.shape[0]
    assert found.total == 2 * (len(data) - len(kept[0]))
    assert 0 in [int(one) for one in lengths.arrays()]
    assert 0 not in [int(one) for one in kept[0].arrays()]
    assert len(channels) == len(rates) == 5
