"""Audio with a player, spectrograms with axes: what `show` draws where it is told a rate."""

from __future__ import annotations

import io
import math
import wave
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.support.errors import OperatorValueError, wrong_value
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor, to_array

from .axes import Array
from .colors import to_pixels
from .grid import font
from .thumbnails import fit
from .waveform import waveform

if TYPE_CHECKING:
    import PIL.Image as pil
    import PIL.ImageDraw as pil_draw
else:
    from gradiva.eager.support.lazy_import import lazy_module

    pil = lazy_module("PIL.Image", "pillow")
    pil_draw = lazy_module("PIL.ImageDraw", "pillow")

__all__ = ["draw_audio", "rates_of", "wav_of"]

_LONGEST: Final = 10.0
_MOST_BYTES: Final = 4 << 20
"""Of the players of a figure together; each plays as much of its sound as fits, or 10 s."""
_INK: Final = (128, 128, 128, 255)
_LEFT, _BELOW = 54, 18
_CHANNELS: Final = 8


def rates_of(given: Any, count: int) -> list[float] | None:
    """One rate for each sample, from a number, one per sample, or a batch of scalars."""
    if given is None:
        return None
    if isinstance(given, Batch):
        given = [np.asarray(one).reshape(-1) for one in given.cpu().arrays()]
    elif isinstance(given, Tensor):
        given = np.asarray(given.cpu())
    try:
        rates = np.asarray(to_array(given), np.float64).reshape(-1)
    except (TypeError, ValueError):
        rates = np.zeros(0)
    rates = np.repeat(rates, count) if rates.size == 1 else rates
    if rates.size != count or not np.all((rates >= 1) & (rates <= 1e7)):
        raise wrong_value(
            "sample_rate", f"a rate in Hz, or one for each of {count} samples", repr(given)
        )
    return [float(rate) for rate in rates]


def draw_audio(
    array: Array,
    layout: str,
    size: int,
    rate: float,
    step: int | None,
    frequencies: Any,
    count: int,
) -> tuple[Array, str, bytes] | None:
    """Pixels, a note and the WAV file of a player (b"" for spectrograms); None for what is neither
    a signal nor a spectrogram. count: of the players of the figure."""
    letters = layout.lower()
    if array.size == 0 or array.dtype.kind not in "iuf":
        return None
    if array.ndim == 2 and letters in ("ft", "tf"):
        spectrum = array if letters == "ft" else array.T
        return (*_spectrogram(spectrum, size, rate, step, frequencies), b"")
    if letters == "ct" and array.ndim == 2:
        array = array.T
    elif letters not in ("", "t", "tc") or array.ndim not in (1, 2):
        return None
    sound = array.reshape(len(array), -1)
    if sound.shape[1] > _CHANNELS or not len(sound):
        return None
    pixels, note = waveform(sound, 2 * size, size // 2)
    seconds = min(_LONGEST, _MOST_BYTES / (count * 2 * min(sound.shape[1], 2) * rate))
    played = sound[: max(1, int(seconds * rate))]
    notes = [f"{len(sound) / rate:.3g} s at {rate:g} Hz", note]
    if len(played) < len(sound):
        notes.append(f"the first {len(played) / rate:.3g} s are played")
    return pixels, "; ".join(notes), wav_of(played, rate)


def wav_of(sound: Array, rate: float) -> bytes:
    """A WAV file of 16 bits, of one channel or two; louder signals than 1 are made softer."""
    values = sound.astype(np.float64)
    if sound.dtype.kind != "f":
        info = np.iinfo(sound.dtype)
        middle = 0.0 if info.min < 0 else (info.max + 1) / 2
        values = (values - middle) / (info.max - middle)
    values = np.where(np.isfinite(values), values, 0.0)
    if values.shape[1] > 2:
        values = values.mean(axis=1, keepdims=True)
    values /= max(1.0, float(np.abs(values).max()))
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(values.shape[1])
        file.setsampwidth(2)
        file.setframerate(round(rate))
        file.writeframes(np.round(values * 32767).astype("<i2").tobytes())
    return stream.getvalue()


def _spectrogram(
    spectrum: Array, size: int, rate: float, step: int | None, frequencies: Any
) -> tuple[Array, str]:
    """The picture between its axes: low frequencies at the bottom, seconds to the right."""
    rows, frames = spectrum.shape
    marks = [(2 * mark / rate, mark) for mark in _round_marks(rate / 2, max(2, size // 40))]
    if frequencies is not None:
        places = np.asarray(frequencies, np.float64).reshape(-1)
        if len(places) != rows:
            raise OperatorValueError(
                argument="frequencies", expected=f"{rows}, one for each row", got=len(places)
            )
        last = max(rows - 1, 1)
        marks = [(row / last, places[row]) for row in _ticks(rows - 1, max(2, size // 40))]
    pixels, note = to_pixels(spectrum[::-1, :, None], spectrum[..., None])
    shown = fit(pixels, 2 * size)
    # A row and a column are as wide as they are needed.
    resized = pil.fromarray(np.ascontiguousarray(shown)).resize((2 * size, size))
    paper = pil.new("RGBA", (2 * size + _LEFT, size + _BELOW), (0, 0, 0, 0))
    paper.paste(resized, (_LEFT, 0))
    pen, letters = pil_draw.Draw(paper), font(10)
    for place, hertz in marks:
        y = (1 - place) * (size - 1)
        pen.line([(_LEFT - 4, y), (_LEFT, y)], fill=_INK)
        text, top = _hertz(hertz), min(max(y - 6, 0), size - 11)
        pen.text((_LEFT - 6 - letters.getlength(text), top), text, fill=_INK, font=letters)
    seconds = None if step is None else frames * step / rate
    end = float(frames) if seconds is None else seconds
    for mark in _round_marks(end, max(2, size // 40)):
        x = _LEFT + mark / end * (2 * size - 1)
        pen.line([(x, size), (x, size + 4)], fill=_INK)
        text = f"{mark:g}" + ("" if seconds is None else " s")
        width = letters.getlength(text)
        left = min(max(x - width / 2, 0), 2 * size + _LEFT - width)
        pen.text((left, size + 5), text, fill=_INK, font=letters)
    what = f"{rows} x {frames} frames" + ("" if seconds is None else f", {seconds:.3g} s")
    return np.asarray(paper), "; ".join([what, *([note] if note else [])])


def _ticks(last: int, count: int) -> list[int]:
    """Rows with a mark, the first and the last among them."""
    return sorted({round(k * last / count) for k in range(count + 1)})


def _round_marks(end: float, count: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten from 0 to `end`, about `count` of them."""
    raw = end / count
    power = 10.0 ** math.floor(math.log10(raw))
    unit = next(power * k for k in (1, 2, 5, 10) if power * k >= raw)
    return [k * unit for k in range(int(end / unit + 1e-9) + 1)]


def _hertz(value: float) -> str:
    """A frequency, short."""
    return f"{value:.0f} Hz" if value < 1000 else f"{value / 1000:.3g} kHz"
