"""Operators on audio against DALI: drawn audio and arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.ops.audio.audio_types import SOUND_TYPES
from gradiva.ops.audio.mel_filter_bank import SCALES, mel_weights
from gradiva.ops.audio.resampling import lobes_of

from .drawing import each, f32, some
from .reference import DTYPES, Array, check, reference

drawn = settings(max_examples=40, derandomize=True, deadline=None)
SIGNED = [dtype for dtype in SOUND_TYPES if dtype.is_float or dtype.is_signed]


def sounds(seed: int, shapes: Sequence[tuple[int, ...]], dtype: str = "float32") -> list[Array]:
    """Noise between silence at the ends."""
    generator = np.random.default_rng(seed)
    made = []
    for shape in shapes:
        noise = generator.uniform(-1, 1, shape) * np.hanning(shape[0] + 2)[1:-1].reshape(
            -1, *[1] * (len(shape) - 1)
        )
        if np.dtype(dtype).kind != "f":
            info = np.iinfo(dtype)
            noise = noise * (info.max // 2) + (info.max // 2 if info.min == 0 else 0)
        made.append(noise.astype(dtype))
    return made


def near(name: str, samples: list[Array], bound: float = 1e-6, **arguments: Any) -> None:
    """The operator gives what DALI gives, up to `bound` of the largest value."""
    layout = arguments.pop("input_layout", "")
    ours = batch(samples, layout=layout)
    operator: Any = getattr(gradiva, name)
    made = operator(ours, **arguments)
    theirs = reference(name, [ours], named=arguments)
    assert made.layout == theirs.layout
    for one, expected in zip(made.arrays(), theirs, strict=True):
        assert one.dtype == expected.dtype
        assert one.shape == expected.shape
        most = float(np.abs(expected.astype(np.float64)).max(initial=0))
        np.testing.assert_allclose(one, expected, rtol=0, atol=bound * most)


sizes = st.lists(st.integers(1, 3000), min_size=3, max_size=3)
seeds = st.integers(0, 999)


@drawn
@given(
    seed=seeds,
    lengths=sizes,
    window=st.integers(3, 600),
    step=st.integers(1, 400),
    more=st.integers(0, 80),
    given_window=st.booleans(),
    arguments=some(
        power=st.sampled_from((1, 2)),
        layout=st.sampled_from(("ft", "tf")),
        reflect_padding=st.booleans(),
        center_windows=st.booleans(),
    ),
)
def test_spectrogram(
    seed: int,
    lengths: list[int],
    window: int,
    step: int,
    more: int,
    given_window: bool,
    arguments: dict[str, Any],
) -> None:
    if not arguments.get("center_windows", True):
        lengths = [max(length, window) for length in lengths]
    arguments |= {"window_length": window, "window_step": step, "nfft": window + more}
    if given_window:
        arguments["window_fn"] = np.random.default_rng(seed).uniform(0, 1, window).tolist()
    near("spectrogram", sounds(seed, [(n,) for n in lengths]), **arguments)


@drawn
@given(
    seed=seeds,
    shape=st.lists(st.integers(3, 40), min_size=1, max_size=3),
    more=st.integers(0, 50),
    data=st.data(),
    power=st.sampled_from((1, 2)),
)
def test_power_spectrum(
    seed: int, shape: list[int], more: int, data: st.DataObject, power: int
) -> None:
    axis = data.draw(st.integers(-1, len(shape) - 1))
    samples = sounds(seed, [tuple(shape)])
    near("power_spectrum", samples, nfft=shape[axis] + more, axis=axis, power=power)


@drawn
@given(
    seed=seeds,
    bins=st.integers(33, 600),
    frames=st.integers(1, 300),
    layout=st.sampled_from(("ft", "tf")),
    rate=st.sampled_from((8000.0, 16000.0, 22050.0, 44100.0)),
    arguments=some(
        nfilter=st.integers(1, 200),
        freq_low=f32(0, 2000),
        normalize=st.booleans(),
        mel_formula=st.sampled_from(("slaney", "htk")),
        freq_high=f32(2100, 4000),
    ),
)
def test_mel_filter_bank(
    seed: int, bins: int, frames: int, layout: str, rate: float, arguments: dict[str, Any]
) -> None:
    shape = (bins, frames) if layout == "ft" else (frames, bins)
    samples = [np.abs(one) for one in sounds(seed, [shape])]
    # Ours are exact to 3e-7 of the largest value (float64 says so). DALI computes where
    # filters begin and end in float32, a few units in the last place off, which is its own error.
    formula, normalize = arguments.get("mel_formula", "slaney"), arguments.get("normalize", True)
    low, high = arguments.get("freq_low", 0.0), arguments.get("freq_high", rate / 2)
    count = arguments.get("nfilter", 128)
    to_mel, to_hertz = SCALES[formula]
    narrowest = np.diff(to_hertz(np.linspace(to_mel(low), to_mel(high), count + 2))).min()
    bound = max(6e-6, 4 * 2.0**-23 * high / narrowest)
    near("mel_filter_bank", samples, bound, input_layout=layout, sample_rate=rate, **arguments)
    weights = mel_weights(bins, count, rate, low, high, formula, normalize)
    ours = gradiva.mel_filter_bank(batch(samples, layout=layout), sample_rate=rate, **arguments).at(
        0
    )
    exact = weights @ samples[0] if layout == "ft" else samples[0] @ weights.T
    np.testing.assert_allclose(ours, exact, rtol=0, atol=3e-7 * np.abs(exact).max(initial=0))


@drawn
@given(
    seed=seeds,
    exponent=st.integers(-30, 30),
    arguments=some(
        multiplier=st.sampled_from((10.0, 20.0)),
        reference=f32(0.0625, 10),
        cutoff_db=f32(-200, -10),
    ),
)
def test_to_decibels(seed: int, exponent: int, arguments: dict[str, Any]) -> None:
    generator = np.random.default_rng(seed)
    samples = [
        (10.0 ** generator.uniform(exponent - 8, exponent, shape)).astype(np.float32)
        for shape in ((20, 30), (1, 400), (3, 1))
    ]
    ours = gradiva.to_decibels(batch(samples), **arguments)
    for one, expected in zip(
        ours.arrays(), reference("to_decibels", [samples], **arguments), strict=True
    ):
        np.testing.assert_allclose(one, expected, rtol=0, atol=1e-4)


@drawn
@given(
    seed=seeds,
    shape=st.lists(st.integers(2, 90), min_size=2, max_size=3),
    data=st.data(),
    kind=st.integers(1, 4),
    normalize=st.booleans(),
    count=st.integers(1, 100),
    lifter=st.one_of(st.just(0.0), f32(1, 40)),
)
def test_mfcc(
    seed: int,
    shape: list[int],
    data: st.DataObject,
    kind: int,
    normalize: bool,
    count: int,
    lifter: float,
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    near(
        "mfcc",
        sounds(seed, [tuple(shape)]),
        axis=axis,
        dct_type=kind,
        normalize=normalize and kind > 1,
        n_mfcc=count,
        lifter=lifter,
    )


PLAIN = ("uint8", "int8", "uint16", "int16", "int32", "uint32", "int64", "float32", "float64")


@drawn
@given(
    seed=seeds,
    source=st.sampled_from(PLAIN),
    target=st.sampled_from(PLAIN),
    coefficient=each(f32(-2, 2)),
    border=st.sampled_from(("clamp", "zero", "reflect")),
)
def test_preemphasis_filter(
    seed: int, source: str, target: str, coefficient: Any, border: str
) -> None:
    samples = sounds(seed, [(50,), (2,), (333,)], source)
    check(
        "preemphasis_filter",
        samples,
        preemph_coeff=coefficient,
        border=border,
        dtype=DTYPES[target],
    )


@drawn
@given(
    seed=seeds,
    name=st.sampled_from(("uint8", "int8", "int16", "uint16", "int32", "float32")),
    window=st.integers(1, 300),
    arguments=some(cutoff_db=f32(-50, 3), reference_power=f32(0.0625, 2)),
)
def test_nonsilent_region(seed: int, name: str, window: int, arguments: dict[str, Any]) -> None:
    samples = [
        np.pad(one, (seed % 300, 3 * k))
        for k, one in enumerate(sounds(seed, [(900,), (70,)], name))
    ]
    # -1: sums run on from the beginning; they are of integers, or float32 sums of DALI.
    arguments |= {"window_length": window, "reset_interval": window}
    ours = gradiva.nonsilent_region(batch(samples), **arguments)
    theirs = reference("nonsilent_region", [samples], outputs=2, **arguments)
    slack = 1 if name == "float32" else 0
    for made, expected in zip(ours, theirs, strict=True):
        for one, other in zip(made.arrays(), expected, strict=True):
            assert one.dtype == other.dtype == np.int32
            assert abs(int(one) - int(other)) <= slack


@drawn
@given(
    seed=seeds,
    channels=st.integers(0, 3),
    source=st.sampled_from(SOUND_TYPES),
    target=st.sampled_from(SIGNED),
    quality=f32(0, 100),
    arguments=st.one_of(
        some(scale_=each(f32(0.125, 4))),
        some(in_rate_=each(st.integers(4000, 48000)), out_rate_=each(st.integers(4000, 48000))),
        some(out_length_=each(st.integers(1, 2000), np.int64)),
    ),
)
def test_audio_resample(
    seed: int, channels: int, source: Any, target: Any, quality: float, arguments: dict[str, Any]
) -> None:
    """Unsigned outputs: see `test_unsigned_outputs`."""
    lengths = (900, 33, 400)
    shapes = [(n, channels) if channels else (n,) for n in lengths]
    samples = sounds(seed, shapes, source.name)
    arguments |= {"quality": quality, "dtype": target}
    made = gradiva.audio_resample(batch(samples), **arguments)
    expected = reference("audio_resample", [samples], **arguments)
    for one, other in zip(made.arrays(), expected, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        bound = 1e-6  # sums of up to 128 products in another order
        if target.name in ("int8", "int16"):
            bound = 1.0 / np.iinfo(other.dtype).max
        top = 1.0 if target.is_float else np.iinfo(other.dtype).max
        np.testing.assert_allclose(
            one.astype(np.float64), other.astype(np.float64), rtol=0, atol=bound * top
        )


def recipe(sound: Array, rate_in: int, rate_out: int, quality: float) -> Array:
    """Resampling as it is defined, with float32 positions as there and all else in float64."""
    lobes = lobes_of(quality)
    ratio, count = rate_in / rate_out, int(np.ceil(len(sound) * rate_out / rate_in))
    size = 64 * lobes + 1
    places = np.arange(size) - size // 2
    entries = np.sinc(places / 32) * 0.5 * (1 + np.cos(np.pi * places * 2 / size))
    entries = np.concatenate([entries, np.zeros(64)])
    made = np.zeros(count)
    for k in range(count):
        if k % 256 == 0:
            base = int(np.floor(k * ratio))
            place = np.float32(k * ratio - base)
        head = int(np.ceil(place))
        first = max(head - lobes, -base)
        taps = np.arange(first, min(head + lobes, len(sound) - base))
        at = (np.float32(first) - place + (taps - first).astype(np.float32)) * np.float32(32)
        at = (at + np.float32(32 * lobes)).astype(np.float64)
        low = np.floor(at).astype(int)
        weights = entries[low] + (at - low) * (entries[low + 1] - entries[low])
        made[k] = np.sum(sound[base + taps].astype(np.float64) * weights)
        place += np.float32(ratio)
    return made


@pytest.mark.parametrize("quality", [0.0, 50.0, 77.0, 100.0])
@pytest.mark.parametrize("rates", [(16000, 22050), (44100, 16000), (8000, 48000), (11025, 8000)])
def test_resampling_is_exact_but_for_positions(rates: tuple[int, int], quality: float) -> None:
    """To 5e-7 of the largest value, where positions are float32 numbers by definition; DALI is
    that, too."""
    sound = np.random.default_rng(int(quality)).uniform(-1, 1, 2500).astype(np.float32)
    arguments: dict[str, Any] = {"in_rate": rates[0], "out_rate": rates[1], "quality": quality}
    exact = recipe(sound, *rates, quality)
    ours = gradiva.audio_resample(batch([sound]), **arguments).at(0)
    theirs = reference("audio_resample", [[sound]], **arguments)[0]
    for made in (ours, theirs):
        np.testing.assert_allclose(made, exact, rtol=0, atol=5e-7 * np.abs(exact).max())


def test_unsigned_outputs() -> None:
    """A few values in a hundred are others in DALI, by up to half of the range."""
    samples = sounds(3, [(900,)])
    ours = gradiva.audio_resample(batch(samples), scale=1.25, dtype=gradiva.uint8).at(0)
    theirs = reference("audio_resample", [samples], scale=1.25, dtype=gradiva.uint8)[0]
    floats = gradiva.audio_resample(batch(samples), scale=1.25).at(0)
    np.testing.assert_array_equal(ours, np.clip(np.floor((floats + 1) * 127.5 + 0.5), 0, 255))
    assert 0.9 < np.mean(ours == theirs) < 1


@pytest.mark.parametrize("target", SOUND_TYPES, ids=str)
@pytest.mark.parametrize("source", SOUND_TYPES, ids=str)
def test_conversions(source: Any, target: Any) -> None:
    """Each type as each other one, where nothing is resampled."""
    if source.is_float:
        values = np.array([-2, -1, -0.5, -0.1, 0, 0.001, 0.3, 0.5, 0.999, 1, 1.5], np.float32)
    else:
        info = np.iinfo(source.numpy)
        low, high = info.min, info.max
        numbers = [low, low + 1, high // 4, high // 2, high // 2 + 1, high - 1, high]
        values = np.array(numbers, source.numpy)
    ours = gradiva.audio_resample(batch([values]), scale=1, dtype=target).at(0)
    # One value at a time: with others beside it, DALI mixes digits of them in.
    theirs = [reference("audio_resample", [[values[k : k + 1]]], scale=1, dtype=target)[0]
              for k in range(len(values))]  # fmt: skip
    expected = np.concatenate(theirs)
    top = 1.0 if target.is_float else float(np.iinfo(target.numpy).max)
    bound = 2.0**-23 if target.is_float else max(1.0 / top, 2.0**-23)
    np.testing.assert_allclose(ours.astype(np.float64), expected.astype(np.float64), 0, bound * top)
