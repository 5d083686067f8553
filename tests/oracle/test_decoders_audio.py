"""decoders.audio against DALI."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import batch
from gradiva.ops.decoders.audio.audio import wav_file

from .drawing import each
from .reference import Array, reference

soundfile = pytest.importorskip("soundfile")

FORMATS = (
    ("WAV", "PCM_U8"), ("WAV", "PCM_16"), ("WAV", "PCM_24"), ("WAV", "PCM_32"), ("WAV", "FLOAT"),
    ("WAV", "DOUBLE"), ("WAV", "ULAW"), ("WAV", "ALAW"), ("FLAC", "PCM_16"), ("FLAC", "PCM_24"),
    ("AIFF", "PCM_16"), ("OGG", "VORBIS"), ("OGG", "OPUS"),
)  # fmt: skip
FLOATS = ("FLOAT", "DOUBLE")
LOSSY = ("VORBIS", "OPUS")
OTHER_RATES = st.integers(4000, 32000).filter(lambda rate: rate != 16000)


def encoded(samples: Array, format: str, subtype: str, rate: int) -> Array:
    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=format, subtype=subtype)
    return np.frombuffer(stream.getvalue(), np.uint8)


def noise(seed: int, frames: int, channels: int) -> Array:
    return np.asarray(np.random.default_rng(seed).uniform(-0.6, 0.6, (frames, channels)))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 999),
    format=st.sampled_from(FORMATS),
    channels=st.integers(1, 3),
    frames=st.lists(st.integers(0, 2000), min_size=3, max_size=3),
    dtype=st.sampled_from((gradiva.float32, gradiva.int16, gradiva.int32)),
    downmix=st.booleans(),
    sample_rate=st.one_of(st.none(), each(OTHER_RATES)),
    quality=st.floats(0, 100, width=32),
)
def test_drawn(
    seed: int,
    format: tuple[str, str],
    channels: int,
    frames: list[int],
    dtype: Any,
    downmix: bool,
    sample_rate: Any,
    quality: float,
) -> None:
    if format[0] != "WAV":  # no file comes of no samples
        frames = [max(one, 600) for one in frames]
    mixes = (downmix and channels > 1) or sample_rate is not None
    if format[1] in FLOATS and not dtype.is_float and not mixes:
        return  # see `test_floats_as_integers`
    files = batch([encoded(noise(seed, n, channels), *format, 16000) for n in frames])
    arguments: dict[str, Any] = {"dtype": dtype, "downmix": downmix, "quality": quality}
    if sample_rate is not None:
        arguments["sample_rate"] = sample_rate
    ours = gradiva.decoders.audio(files, **arguments)
    theirs = reference("decoders.audio", [files], outputs=2, **arguments)
    np.testing.assert_array_equal(ours[1].as_array(), theirs[1])
    for one, other in zip(ours[0].arrays(), theirs[0], strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if not mixes and format[1] not in LOSSY:
            np.testing.assert_array_equal(one, other)
            continue
        top = 1.0 if dtype.is_float else float(np.iinfo(dtype.numpy).max)
        # Places in the table of windows are float32: one unit in the last place of 1024 to 4095,
        # in entries of which 32 are a sample, is the most that both may be apart.
        bound = 2.0**-13 / 32 if dtype is not gradiva.int16 else 1.0 / top
        gap = np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0)
        assert gap <= bound * top


def test_floats_as_integers() -> None:
    """DALI leaves -1, 0 and 1 of them; here 1.0 is the largest value."""
    file = batch([encoded(noise(0, 90, 1), "WAV", "FLOAT", 16000)])
    theirs = reference("decoders.audio", [file], outputs=2, dtype=gradiva.int16)[0][0]
    assert np.unique(theirs).tolist() in ([0], [-1, 0], [-1, 0, 1], [0, 1])
    floats, _ = gradiva.decoders.audio(file)
    ours, _ = gradiva.decoders.audio(file, dtype=gradiva.int16)
    np.testing.assert_allclose(ours.at(0), np.asarray(floats.at(0)) * 32767, rtol=0, atol=0.501)


def test_cut_and_empty() -> None:
    """A WAV file that is cut has what is there, in both."""
    whole = wav_file((noise(1, 100, 2) * 32767).astype(np.int16))
    for size in (44, 45, 48, 99, 443):
        files = batch([whole[:size]])
        ours = gradiva.decoders.audio(files)[0].at(0)
        theirs = reference("decoders.audio", [files], outputs=2)[0][0]
        np.testing.assert_array_equal(ours, theirs)
