"""`gradiva.show` of audio and spectrograms: players, axes, and what does not fit."""

from __future__ import annotations

import base64
import io
import re
import wave
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorTypeError, OperatorValueError
from gradiva.display.audio import rates_of, wav_of


def tones(*sizes: int, channels: int | None = None) -> Any:
    shapes = [(size,) if channels is None else (size, channels) for size in sizes]
    made = [np.sin(np.arange(np.prod(shape)) / 9).reshape(shape) for shape in shapes]
    return gradiva.batch([one.astype(np.float32) / 2 for one in made])


def players(html: str) -> list[bytes]:
    found = re.findall(r"<audio controls [^>]*src='data:audio/wav;base64,([^']*)'></audio>", html)
    return [base64.b64decode(one) for one in found]


def heard(data: bytes) -> tuple[int, int, np.ndarray[Any, Any]]:
    with wave.open(io.BytesIO(data)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return file.getframerate(), file.getnchannels(), samples


def test_players() -> None:
    """Each sound at its own rate; its first seconds, if it is long."""
    sounds = tones(4000, 200_000)
    figure = gradiva.show(sounds, sample_rate=[8000, 16000])
    (rate, channels, samples), (other, _, cut) = map(heard, players(figure._repr_html_()))
    assert (rate, channels, other) == (8000, 1, 16000)
    np.testing.assert_array_equal(samples, np.round(sounds.at(0).astype(np.float64) * 32767))
    assert len(cut) == 160_000
    assert "0.5 s at 8000 Hz" in figure.cells[0].caption[2]
    assert "the first 10 s are played" in figure.cells[1].caption[2]
    assert players(gradiva.show(sounds)._repr_html_()) == []


def test_rates_of_a_decoder() -> None:
    """The second output of `decoders.audio`; channels stay two, and more are mixed."""
    rates = gradiva.batch([np.array(8000, np.float32), np.array(22050, np.float32)])
    figure = gradiva.show(tones(300, 500, channels=2), sample_rate=rates)
    assert [heard(one)[:2] for one in players(figure._repr_html_())] == [(8000, 2), (22050, 2)]
    figure = gradiva.show(tones(300, channels=3), sample_rate=8000)
    assert heard(players(figure._repr_html_())[0])[1] == 1
    single = gradiva.show(tones(300).tensors[0], sample_rate=8000)
    assert len(players(single._repr_html_())) == 1


def test_loud_whole_and_lost_numbers() -> None:
    """Louder signals are made softer, integers are parts of their largest value."""
    loud = heard(wav_of(np.array([[4.0], [-2.0], [np.nan]], np.float32), 8000))[2]
    assert loud.tolist() == [32767, -16384, 0]
    whole = heard(wav_of(np.array([[32767], [-16384]], np.int16), 8000))[2]
    assert whole.tolist() == [32767, -16384]
    small = heard(wav_of(np.array([[255], [128], [1]], np.uint8), 8000))[2]
    assert small.tolist() == [32767, 0, -32767]


def test_players_of_many_sounds_are_short() -> None:
    figure = gradiva.show([np.zeros(200_000, np.float32)] * 60, sample_rate=44100)
    assert len(figure._repr_html_()) < 8 << 20
    assert len(players(figure._repr_html_())) == 60


@pytest.mark.parametrize("layout", ["ft", "tf"])
def test_axes_of_spectrograms(layout: str) -> None:
    """Low frequencies at the bottom, in either layout; marks at the left and below."""
    spectrum = np.zeros((65, 100), np.float32)
    spectrum[:8] = 1
    given = gradiva.batch([spectrum if layout == "ft" else spectrum.T], layout=layout)
    (cell,) = gradiva.show(given, sample_rate=16000, window_step=160, size=160).cells
    assert cell.pixels is not None
    assert cell.audio == b""
    picture = cell.pixels[:160, 54:]
    assert cell.pixels.shape == (178, 320 + 54, 4)
    assert picture[155, 100, 0] == 255
    assert picture[5, 100, 0] == 0
    assert cell.pixels[:, :54, 3].any()
    assert cell.pixels[160:, 54:, 3].any()
    assert "65 x 100 frames, 1 s" in cell.caption[2]
    (frames,) = gradiva.show(given, sample_rate=16000).cells
    assert "s;" not in frames.caption[2].replace("frames;", "")
    (bands,) = gradiva.show(given, sample_rate=16000, frequencies=np.arange(65) ** 2).cells
    assert bands.pixels is not None
    assert (bands.pixels != frames.pixels).any()


def test_what_is_no_sound_is_drawn_as_ever() -> None:
    image = gradiva.batch([np.zeros((20, 20, 3), np.uint8)], layout="HWC")
    (cell,) = gradiva.show(image, sample_rate=8000).cells
    assert cell.audio == b""
    assert cell.pixels is not None
    (empty,) = gradiva.show(gradiva.batch([np.zeros(0, np.float32)]), sample_rate=8000).cells
    assert empty.text == "empty"


@pytest.mark.parametrize("rate", [0, -1, float("nan"), 1e9, [8000, 8000], "fast", None])
def test_rates_that_are_refused(rate: Any) -> None:
    sounds = tones(300, 300, 300)
    if rate is None:
        assert rates_of(None, 3) is None
        return
    with pytest.raises((OperatorValueError, OperatorTypeError), match="`sample_rate`"):
        gradiva.show(sounds, sample_rate=rate)


def test_axes_that_are_refused() -> None:
    spectra = gradiva.batch([np.ones((5, 9), np.float32)], layout="ft")
    with pytest.raises(OperatorValueError, match="`frequencies`"):
        gradiva.show(spectra, sample_rate=8000, frequencies=[1, 2])
    with pytest.raises(OperatorValueError, match="`window_step`"):
        gradiva.show(spectra, sample_rate=8000, window_step=0)
