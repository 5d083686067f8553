"""Operators on audio: bits that depend on the sample alone, in every mode; odd audio."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, batch
from gradiva.ops.audio.mel_filter_bank import SCALES, mel_weights
from gradiva.ops.audio.resampling import lobes_of
from gradiva.ops.decoders.audio.audio import wav_file

Array = np.ndarray[Any, Any]


def sounds(*sizes: int) -> list[Array]:
    return [np.random.default_rng(size).uniform(-1, 1, size).astype(np.float32) for size in sizes]


CALLS: dict[str, Callable[[Any], Any]] = {
    "spectrogram": lambda x: gradiva.spectrogram(x, window_length=400, window_step=160, nfft=512),
    "frames first": lambda x: gradiva.spectrogram(x, window_step=100, layout="tf"),
    "mel": lambda x: gradiva.mel_filter_bank(gradiva.spectrogram(x, window_step=10), nfilter=40),
    "mel of frames": lambda x: gradiva.mel_filter_bank(
        gradiva.spectrogram(x, window_step=10, layout="tf"), nfilter=40
    ),
    "decibels": lambda x: gradiva.to_decibels(gradiva.spectrogram(x)),
    "cepstra": lambda x: gradiva.mfcc(gradiva.spectrogram(x, window_step=10), n_mfcc=13),
    "preemphasis": gradiva.preemphasis_filter,
    "silence": lambda x: gradiva.nonsilent_region(x, window_length=64)[1],
    "resampling": lambda x: gradiva.audio_resample(x, in_rate=16000, out_rate=22050),
}


@pytest.mark.parametrize("name", CALLS)
def test_bits_depend_on_the_sample_alone(name: str) -> None:
    """Not on the others of its batch, nor on how many threads there are."""
    samples = sounds(9000, 700, 20011, 4096, 1)
    together = CALLS[name](batch(samples)).arrays()
    before = gradiva.get_num_threads()
    gradiva.set_num_threads(1)
    try:
        for sample, expected in zip(samples, together, strict=True):
            np.testing.assert_array_equal(CALLS[name](batch([sample])).at(0), expected)
    finally:
        gradiva.set_num_threads(before)


@pytest.mark.parametrize("name", CALLS)
def test_odd_sounds(name: str) -> None:
    """Silence gives numbers; NaN and infinity leave the other samples of the batch alone."""
    (noise,) = sounds(3000)
    lost, endless = noise.copy(), noise.copy()
    lost[100:900], endless[2000] = np.nan, np.inf
    (expected,) = CALLS[name](batch([noise])).arrays()
    silent, *others, last = CALLS[name](
        batch([np.zeros(3000, np.float32), lost, endless, noise])
    ).arrays()
    assert np.isfinite(silent).all()
    assert [one.shape for one in others] == ([expected.shape] * 2)
    np.testing.assert_array_equal(last, expected)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """WAV files with silence at their ends."""
    names = []
    for number, size in enumerate((900, 1600, 1200, 2000, 700)):
        noise = np.random.default_rng(number).integers(-20000, 20000, (size, 1))
        samples = np.pad(noise, ((300, 500), (0, 0))).astype(np.int16)
        path = tmp_path / f"{number}.wav"
        path.write_bytes(wav_file(samples, 16000).tobytes())
        names.append(str(path))
    return names


def features(data: Any) -> Any:
    """Log-mel spectra of what is not silent."""
    sound, _ = gradiva.decoders.audio(data, downmix=True, sample_rate=8000)
    begin, length = gradiva.nonsilent_region(sound, window_length=64, cutoff_db=-40)
    sound = gradiva.slice(sound, begin, length, axes=[0])
    sound = gradiva.preemphasis_filter(sound)
    spectra = gradiva.spectrogram(sound, nfft=512, window_length=320, window_step=160)
    mel = gradiva.mel_filter_bank(spectra, sample_rate=8000, nfilter=40)
    return gradiva.to_decibels(mel, cutoff_db=-80)


@pytest.mark.core
def test_features_in_every_mode(files: list[str]) -> None:
    """Eager, captured, compiled, deferred and in a pipeline: the same bits."""
    reader = gradiva.readers.File(files=files)
    eager = [features(data).arrays() for data, _ in reader.next_epoch(batch_size=2)]
    expected = [one for part in eager for one in part]
    assert len(expected) == 5
    assert all(one.shape[0] == 40 for one in expected)

    def same(made: list[Array]) -> None:
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_array_equal(one, other)

    reader = gradiva.readers.File(files=files)
    same(
        [
            one
            for data, _ in reader.next_epoch(batch_size=2, capture=True)
            for one in features(data).arrays()
        ]
    )
    compiled = gradiva.capture.compile(features)
    reader = gradiva.readers.File(files=files)
    same([one for data, _ in reader.next_epoch(batch_size=3) for one in compiled(data).arrays()])
    reader = gradiva.readers.File(files=files)
    with gradiva.EvalMode.deferred:
        same(
            [one for data, _ in reader.next_epoch(batch_size=1) for one in features(data).arrays()]
        )

    @gradiva.pipeline_def(batch_size=5, num_threads=2)
    def pipeline() -> Any:
        data, _ = gradiva.fn.readers.file(files=files)
        return features(data)

    with pipeline() as pipe:
        (made,) = pipe.run()
        same(made.arrays())


def test_region_of_noise_between_silence() -> None:
    """A window that reaches into the noise is the first that is loud, and the last."""
    sound = np.zeros(5000, np.float32)
    sound[2000:3000] = 1
    begin, length = gradiva.nonsilent_region(batch([sound]), window_length=100, cutoff_db=-10)
    # 10 of 100 samples are -10 dB.
    assert int(begin.at(0)) == 2000 + 9 - 99
    assert int(begin.at(0)) + int(length.at(0)) == 3000 + 90


def test_loud_sounds_leave_nothing_behind() -> None:
    """Nor does NaN: windows beyond it are as they would be."""
    for odd in (1e15, np.nan):
        sound = np.full(4000, 1e-3, np.float32)
        sound[1000] = odd
        begin, length = gradiva.nonsilent_region(
            batch([sound[1001:]]), window_length=64, reference_power=1e-6, cutoff_db=-1
        )
        whole = gradiva.nonsilent_region(
            batch([np.where(np.arange(4000) < 1000, 0, sound).astype(np.float32)]),
            window_length=64,
            reference_power=1e-6,
            cutoff_db=-1,
        )
        assert int(begin.at(0)) + int(length.at(0)) == 2999
        assert int(whole[0].at(0)) + int(whole[1].at(0)) == 4000


def test_mirrored_as_often_as_it_takes() -> None:
    """Audio much shorter than a window."""
    for size in (1, 2, 3, 7):
        sound = sounds(size)[0]
        made = gradiva.spectrogram(batch([sound]), window_length=64, window_step=8).at(0)
        padded = np.pad(sound, 64, mode="reflect") if size > 1 else np.full(129, sound[0])
        frame = padded[32:96] * (0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(64) + 0.5) / 64))
        exact = np.abs(np.fft.rfft(frame.astype(np.float64))) ** 2
        np.testing.assert_allclose(made[:, 0], exact, rtol=0, atol=1e-6 * exact.max())


def test_mel_scales() -> None:
    """Known points, and back; filters of equal area, or of equal height."""
    for formula, (to_mel, to_hertz) in SCALES.items():
        places = np.array([0.0, 10, 999, 1000, 1001, 8000, 22050])
        np.testing.assert_allclose(to_hertz(to_mel(places)), places, rtol=1e-12, atol=1e-9)
        assert np.all(np.diff(to_mel(places)) > 0), formula
    assert float(SCALES["slaney"][0](1000.0)) == pytest.approx(15)
    assert float(SCALES["htk"][0](1000.0)) == pytest.approx(1000, abs=0.02)
    flat = mel_weights(4097, 40, 16000, 0, 8000, "slaney", False)
    assert flat.max() <= 1
    area = mel_weights(4097, 40, 16000, 0, 8000, "slaney", True).sum(axis=1) * 8000 / 4096
    np.testing.assert_allclose(area, 1, rtol=0.01)


def test_lobes() -> None:
    assert [lobes_of(quality) for quality in (0, 50, 100)] == [3, 16, 64]


@pytest.mark.full
def test_decibels_are_logarithms() -> None:
    """Of all float32 numbers of every exponent, to a few units in the last place."""
    bits = np.arange(0, 0x7F800000, 997, dtype=np.int64).astype(np.uint32)
    values = bits.view(np.float32)
    made = np.asarray(gradiva.to_decibels(batch([values]), reference=1, cutoff_db=-500).at(0))
    with np.errstate(divide="ignore"):
        exact = np.maximum(10 * np.log10(values.astype(np.float64)), -500)
    np.testing.assert_allclose(made, exact, rtol=4e-7, atol=2e-6)
    assert made[0] == -500
    infinite = gradiva.to_decibels(batch([np.array([np.inf], np.float32)]), reference=1)
    assert float(infinite.at(0)[0]) == np.inf


def test_sounds_per_sample_and_single() -> None:
    """A Tensor gives a Tensor; arguments per sample are those of the sample."""
    one, other = sounds(300, 500)
    single = gradiva.spectrogram(gradiva.tensor(one))
    np.testing.assert_array_equal(single, gradiva.spectrogram(batch([one])).at(0))
    made = gradiva.preemphasis_filter(batch([one, other]), preemph_coeff=[0.5, 0.9])
    for sample, coefficient, result in zip((one, other), (0.5, 0.9), made.arrays(), strict=True):
        alone = gradiva.preemphasis_filter(batch([sample]), preemph_coeff=coefficient)
        np.testing.assert_array_equal(result, alone.at(0))


def test_integers_are_refused_with_a_hint() -> None:
    whole = batch([np.zeros(99, np.int16)])
    for operator in (gradiva.spectrogram, gradiva.to_decibels, gradiva.power_spectrum):
        with pytest.raises(OperatorTypeError, match="`cast` converts it"):
            operator(whole)


def test_a_mistaken_length_is_no_memory_error() -> None:
    with pytest.raises(OperatorValueError, match="`nfft`"):
        gradiva.spectrogram(batch(sounds(99)), nfft=1 << 40)
    with pytest.raises(OperatorValueError, match="at most"):
        gradiva.audio_resample(batch(sounds(99)), scale=1e30)


def test_wav_header_of_other_chunks() -> None:
    """Chunks of other programs, of odd sizes, stand before the samples."""
    samples = np.arange(6, dtype=np.int16).reshape(6, 1)
    plain = wav_file(samples).tobytes()
    note = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    file = np.frombuffer(plain[:36] + note + plain[36:], np.uint8)
    made, _ = gradiva.decoders.audio(batch([file]), dtype=gradiva.int16)
    np.testing.assert_array_equal(made.at(0), samples)
