"""Formulas against SciPy, which has most of them too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import batch

pytestmark = pytest.mark.full  # SciPy takes more than a second to come

Array = np.ndarray[Any, Any]
fft: Any
signal: Any


@pytest.fixture(scope="module", autouse=True)
def _scipy() -> None:
    """Not where the file is read: SciPy takes a second, which runs of other tests are spared."""
    global fft, signal
    fft = pytest.importorskip("scipy.fft")
    signal = pytest.importorskip("scipy.signal")


def noise(*shape: int) -> Array:
    return np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)


def near(ours: Any, theirs: Any, bound: float = 1e-6) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound * np.abs(theirs).max())


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [2, 7, 80, 300])
def test_cosine_transforms(kind: int, size: int) -> None:
    """Half of SciPy's; orthonormal ones are SciPy's."""
    spectra = noise(size, 9)
    made = gradiva.mfcc(batch([spectra]), dct_type=kind, n_mfcc=size).at(0)
    near(made, fft.dct(spectra.astype(np.float64), kind, axis=0) / 2)
    if kind > 1:
        made = gradiva.mfcc(batch([spectra]), dct_type=kind, n_mfcc=size, normalize=True).at(0)
        near(made, fft.dct(spectra.astype(np.float64), kind, axis=0, norm="ortho"))


@pytest.mark.parametrize(("window", "step", "nfft"), [(400, 160, 512), (64, 64, 64), (33, 7, 50)])
def test_spectrogram(window: int, step: int, nfft: int) -> None:
    """The short-time transform of SciPy, with the same window, in the middle of the transform."""
    sound = noise(3000)
    weights = 0.5 * (1 - np.cos(2 * np.pi * (np.arange(window) + 0.5) / window))
    made = gradiva.spectrogram(
        batch([sound]), window_length=window, window_step=step, nfft=nfft, center_windows=False
    ).at(0)
    _, _, theirs = signal.stft(
        sound.astype(np.float64),
        window=weights,
        nperseg=window,
        noverlap=window - step,
        nfft=nfft,
        boundary=None,
        padded=False,
    )
    near(made, np.abs(theirs * weights.sum()) ** 2)


def test_preemphasis_is_a_filter() -> None:
    sound = noise(500)
    made = gradiva.preemphasis_filter(batch([sound]), preemph_coeff=0.9, border="zero").at(0)
    near(made, signal.lfilter([1.0, -np.float32(0.9)], [1.0], sound.astype(np.float64)))


@pytest.mark.parametrize(("rate", "other"), [(16000, 22050), (8000, 48000), (44100, 48000)])
def test_resampled_tones(rate: int, other: int) -> None:
    """A tone is the tone at a higher rate, away from its ends, as SciPy's are."""
    tone = np.sin(2 * np.pi * 440 * np.arange(rate) / rate).astype(np.float32)
    made = np.asarray(
        gradiva.audio_resample(batch([tone]), in_rate=rate, out_rate=other, quality=100).at(0)
    )
    exact = np.sin(2 * np.pi * 440 * np.arange(len(made)) / other)
    theirs = signal.resample(tone.astype(np.float64), other)[: len(made)]
    inside = slice(other // 10, -other // 10)
    assert np.abs(made[inside] - exact[inside]).max() < 1e-4
    assert np.abs(made[inside] - theirs[inside]).max() < 1e-4


def test_power_spectrum() -> None:
    planes = noise(6, 5, 40)
    for axis in (0, 1, 2, -1, -2):
        made = gradiva.power_spectrum(batch([planes]), axis=axis).at(0)
        near(made, np.abs(fft.rfft(planes.astype(np.float64), axis=axis)) ** 2)


# What librosa 0.11.0 computes, in float64, of sin(0.37 t^2), t = 0..3999, at 16 kHz: a window of
# 400 values, taken in the middle of its samples, transforms of 512, a step of 160. Its filters are
# divided by half of their width (norm="slaney"), its decibels have the largest value as reference
# and a floor of -80.
PLACES = [(0, 0), (10, 7), (20, 12), (30, 20), (39, 24)]
CENTERED = [(5, 2), (40, 7), (100, 24), (3, 0), (73, 11)]
LIBROSA: dict[str, list[float]] = {
    "centered": [64.7211337, 28.0200568, 91.5476626, 5.59860018, 19.6047122],
    "slaney": [1.99261353, 0.32844984, 4.26586171, 2.49918762, 2.16244007],
    "htk": [2.89056486, 2.016011, 4.48196559, 1.67047625, 1.83505699],
    "band": [4.08266246, 13.4705799, 48.8485811, 171.153186, 681.884611],
    "decibels": [-7.54529181, -15.374832, -4.23945482, -6.56153394, -7.19008176],
    "cepstra": [-182.674007, -22.4223037, 32.4277194, -9.8484517, -73.5078726],
    "emphasis": [0.0, 0.361615432, -1.51594235, 0.0661524055],
}


def test_librosa() -> None:
    """From the wave to cepstra, at a few places of each array."""
    times = np.arange(4000)
    wave = np.sin(times * times * 0.37)
    sound = batch([wave.astype(np.float32)])
    frames: dict[str, Any] = {"window_length": 400, "nfft": 512, "window_step": 160}

    def close(name: str, made: Any, places: list[Any], bound: float = 1e-6) -> None:
        values = np.asarray(made.at(0))
        theirs = np.array(LIBROSA[name])
        ours = np.array([values[place] for place in places])
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound * np.abs(values).max())

    power = gradiva.spectrogram(sound, **frames)
    assert power.at(0).shape == (257, 26)
    close("centered", power, CENTERED)
    mel = gradiva.mel_filter_bank(power, nfilter=40, sample_rate=16000)
    close("slaney", mel, PLACES)
    htk = gradiva.mel_filter_bank(power, nfilter=40, sample_rate=16000, mel_formula="htk")
    close("htk", htk, PLACES)
    band = gradiva.mel_filter_bank(
        power, nfilter=40, sample_rate=16000, freq_low=300, freq_high=3400, normalize=False
    )
    close("band", band, PLACES)
    level = gradiva.to_decibels(mel, cutoff_db=-80)
    close("decibels", level, PLACES)
    cepstra = gradiva.mfcc(level, n_mfcc=13, normalize=True, lifter=22)
    close("cepstra", cepstra, [(0, 0), (1, 7), (5, 12), (9, 20), (12, 24)])
    emphasized = gradiva.preemphasis_filter(sound, border="zero")
    close("emphasis", emphasized, [0, 1, 100, 3999])


@pytest.mark.parametrize("seed", range(4))
def test_regions(seed: int) -> None:
    """The mean squares of SciPy's filter: the first and the last window that is loud enough."""
    generator = np.random.default_rng(seed)
    envelope = np.interp(np.arange(2000), [0, 600, 900, 1400, 2000], [1e-3, 1e-3, 1, 0.7, 1e-4])
    sound = (generator.uniform(-1, 1, 2000) * envelope).astype(np.float32)
    window, cutoff = int(generator.integers(1, 300)), -float(generator.uniform(1, 30))
    power = signal.lfilter(np.full(window, 1 / window), [1.0], sound.astype(np.float64) ** 2)
    loud = np.flatnonzero(power >= power.max() * 10 ** (cutoff / 10))
    first = max(int(loud[0]) - window + 1, 0)
    begin, length = gradiva.nonsilent_region(batch([sound]), cutoff_db=cutoff, window_length=window)
    assert (int(begin.at(0)), int(length.at(0))) == (first, int(loud[-1]) - first + 1)


@pytest.mark.parametrize("htk", [False, True])
def test_librosa_itself(htk: bool) -> None:
    """Mel bands, decibels and cepstra of noise, where librosa is installed."""
    librosa: Any = pytest.importorskip("librosa")
    power = gradiva.spectrogram(batch([noise(4000)]), window_length=400, nfft=512, window_step=160)
    given = np.asarray(power.at(0)).astype(np.float64)
    filters = librosa.filters.mel(sr=16000, n_fft=512, n_mels=40, htk=htk, dtype=np.float64)
    formula = "htk" if htk else "slaney"
    mel = gradiva.mel_filter_bank(power, nfilter=40, sample_rate=16000, mel_formula=formula)
    near(mel.at(0), filters @ given)
    level = gradiva.to_decibels(mel, cutoff_db=-30)
    theirs = librosa.power_to_db(filters @ given, ref=np.max, amin=1e-20, top_db=30)
    near(level.at(0), theirs)
    cepstra = gradiva.mfcc(level, n_mfcc=13, normalize=True, lifter=22)
    near(cepstra.at(0), librosa.feature.mfcc(S=theirs, n_mfcc=13, lifter=22))


def test_librosa_pre_emphasis() -> None:
    librosa: Any = pytest.importorskip("librosa")
    sound = noise(500)
    made = gradiva.preemphasis_filter(batch([sound]), preemph_coeff=0.9, border="zero")
    near(made.at(0), librosa.effects.preemphasis(sound, coef=0.9, zi=[0.0]))
