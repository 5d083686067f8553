"""Videos in a notebook: a strip of frames, and an animation beside it."""

from __future__ import annotations

import base64
import io
import re
import types
from typing import Any

import numpy as np
import PIL.features
import PIL.Image
import PIL.ImageSequence
import pytest

import gradiva
from gradiva.display.animation import animation
from gradiva.display.thumbnails import draw

Array = np.ndarray[Any, Any]


def video(count: int, height: int = 30, width: int = 40) -> Array:
    """Frame k is of gray 10 * k, with a bar that is k wide."""
    frames = np.zeros((count, height, width, 3), np.uint8)
    for k in range(count):
        frames[k] = 10 * k
        frames[k, :, :k] = (200, 30, 30)
    return frames


def films(page: str) -> list[Any]:
    """The moving pictures of a page."""
    found = re.findall(
        r"alt='the same as an animation'[^>]*src='data:([^;]*);base64,([^']*)'", page
    )
    return [(kind, PIL.Image.open(io.BytesIO(base64.b64decode(data)))) for kind, data in found]


def frames_of(image: Any) -> list[Array]:
    return [np.asarray(one.convert("RGB")) for one in PIL.ImageSequence.Iterator(image)]


@pytest.mark.parametrize("count", [2, 16, 23])
def test_film_of_a_batch(count: int) -> None:
    batch = gradiva.batch([video(count), video(1)], layout="FHWC")
    ((_, image),) = films(batch._repr_html_())
    made = frames_of(image)
    assert len(made) == min(count, 16)
    assert made[0].shape[:2] == (90, 120)
    shown = np.linspace(0, count - 1, len(made)).round().astype(int)
    for frame, k in zip(made, shown, strict=True):
        assert abs(int(frame[45, 100, 0]) - 10 * k) < 12


def test_film_of_a_figure() -> None:
    figure = gradiva.show(gradiva.batch([video(5)], layout="FHWC"), size=100)
    ((_, image),) = films(figure._repr_html_())
    assert image.size == (80, 60)
    assert figure.pixels().shape[1] > 200  # the strip alone: it is a picture that stands


def test_both_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = video(4)
    without = types.SimpleNamespace(check=lambda name: False)
    monkeypatch.setattr("gradiva.display.animation.pil_features", without)
    kind, data = animation(frames)
    assert kind == "image/png"
    for made, frame in zip(frames_of(PIL.Image.open(io.BytesIO(data))), frames, strict=True):
        np.testing.assert_array_equal(made, frame)
    monkeypatch.undo()
    if PIL.features.check("webp"):
        kind, data = animation(frames)
        assert kind == "image/webp"
        assert len(frames_of(PIL.Image.open(io.BytesIO(data)))) == 4


def test_what_has_no_film() -> None:
    for layout, frames in (("DHWC", video(5)), ("FHWC", video(1)), ("HWC", video(1)[0])):
        assert draw(frames, layout, 16).animation is None
    batch = gradiva.batch([video(5)], layout="DHWC")
    assert films(batch._repr_html_()) == []


def test_floats_are_scaled_as_the_strip_is() -> None:
    frames = np.zeros((11, 4, 4, 3), np.float32)
    frames += np.arange(11)[:, None, None, None] / 10
    drawing = draw(frames, "FHWC", 8)
    assert drawing.animation is not None
    assert np.abs(drawing.animation[:, 0, 0, 0] - 25.5 * np.arange(11)).max() <= 0.5
