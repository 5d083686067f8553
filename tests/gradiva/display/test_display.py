"""What a notebook shows of a value: thumbnails whose pixels are looked at here."""

from __future__ import annotations

import base64
import html.parser
import io
import re
from typing import Any

import numpy as np
import PIL.Image
import pytest

import gradiva
from gradiva.display.colors import PAINT, color
from gradiva.display.thumbnails import Drawing, draw

Array = np.ndarray[Any, Any]


def pictures(page: str) -> list[Array]:
    """The pixels of the pictures in a page."""
    found = re.findall(r"src='data:image/png;base64,([^']*)'", page)
    return [np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(data)))) for data in found]


def drawn(array: Any, layout: str = "", size: int = 16) -> tuple[Array, str]:
    drawing = draw(np.asarray(array), layout, size)
    assert drawing.pixels is not None, drawing
    return drawing.pixels, drawing.note


def gray(values: Any, dtype: Any) -> Array:
    return np.array(values, dtype)[..., None]


def levels(pixels: Array) -> list[int]:
    """The red values of the corners of a picture."""
    corners: list[int] = pixels[[0, 0, -1, -1], [0, -1, 0, -1], 0].tolist()
    return corners


@pytest.mark.parametrize(
    ("values", "dtype", "expected", "note"),
    [
        ([[0, 100], [200, 255]], np.uint8, [0, 100, 200, 255], ""),
        ([[0, 0.2], [0.6, 1]], np.float32, [0, 51, 153, 255], ""),
        ([[0, 0.2], [0.4, 0.6]], np.float16, [0, 51, 102, 153], ""),
        ([[0, 20], [40, 250]], np.float32, [0, 20, 40, 250], ""),
        ([[-1, 0], [0.5, 1]], np.float32, [0, 128, 191, 255], "scaled from -1..1"),
        ([[0, 1], [2, 4]], np.float64, [0, 64, 128, 255], "scaled from 0..4"),
        ([[0, 300], [600, 1200]], np.float32, [0, 64, 128, 255], "scaled from 0..1200"),
        ([[-3, -3], [-3, -3]], np.float32, [128] * 4, "all -3"),
        ([[False, True], [True, False]], np.bool_, [0, 255, 255, 0], ""),
        ([[0, 255], [255, 0]], np.uint8, [0, 255, 255, 0], ""),
        ([[-1e308, 1e308], [0, 0]], np.float64, [0, 255, 128, 128], "scaled from -1e+308..1e+308"),
    ],
)
def test_ranges(values: Any, dtype: Any, expected: list[int], note: str) -> None:
    pixels, said = drawn(gray(values, dtype), "HWC")
    assert pixels.shape == (16, 16, 3)
    assert levels(pixels) == expected
    assert (pixels[..., 0] == pixels[..., 2]).all()
    assert said == note


def test_sixteen_bits() -> None:
    values = np.linspace(0, 13107, 64).astype(np.uint16).reshape(8, 8, 1)
    pixels, note = drawn(values, "HWC")
    assert note == ""
    assert levels(pixels) == [0, 6, 45, 51]


def test_not_finite() -> None:
    pixels, note = drawn(gray([[np.nan, 0.2], [np.inf, 1]], np.float32), "HWC")
    assert pixels[0, 0].tolist() == pixels[-1, 0].tolist() == list(PAINT)
    assert pixels[0, -1].tolist() == [51] * 3
    assert note == "2 NaN or infinite"
    pixels, note = drawn(np.full((2, 2, 3), np.nan, np.float32), "HWC")
    assert (pixels == PAINT).all()
    assert note == "12 NaN or infinite"


def test_channels() -> None:
    image = np.zeros((2, 2, 4), np.uint8)
    image[..., 0], image[..., 1], image[..., 2] = 10, 20, 30
    assert drawn(image[..., :3], "HWC")[0][0, 0].tolist() == [10, 20, 30]
    assert drawn(image[..., :3].transpose(2, 0, 1), "CHW")[0][0, 0].tolist() == [10, 20, 30]
    assert drawn(image[..., 0], "HW")[0].shape == (16, 16, 3)
    pixels, note = drawn(image[..., :2], "HWC")
    assert pixels[0, 0].tolist() == [10, 20, 0]
    assert note == "2 channels as red and green"
    assert drawn(image, "HWC")[0][0, 0].tolist() == [205] * 3  # transparent: the ground
    image[..., 3] = 255
    assert drawn(image, "HWC")[0][0, 0].tolist() == [10, 20, 30]
    pixels, note = drawn(image.astype(np.float32) - 20, "HWC")
    assert note == "scaled from -10..235; first 3 of 4 channels"
    flags = np.array([[[True, False, True]]])
    assert drawn(flags, "HWC")[0][0, 0].tolist() == [255, 0, 255]
    many = np.zeros((4, 4, 9), np.uint8)
    many[..., 8] = 200
    pixels, note = drawn(many, "HWC")
    assert note == "channels 0, 2, 3, 5, 6, 8 of 9"
    assert pixels[0, 0].tolist() == [0, 0, 0, 255]
    assert pixels[0, -1].tolist() == [200, 200, 200, 255]


def test_masks() -> None:
    mask = np.array([[0, 3], [7, 255]], np.uint8)
    pixels, note = drawn(mask, "HW")
    assert note == "mask: 0, 3, 7, 255"
    assert [tuple(p) for p in pixels[[0, 0, -1, -1], [0, -1, 0, -1]].tolist()] == [
        (0, 0, 0),
        color(3),
        color(7),
        (200, 200, 200),
    ]
    assert drawn(mask.astype(np.int64)[..., None], "HWC")[0].tolist() == pixels.tolist()
    assert len({color(label) for label in range(64)}) == 64
    noise = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert drawn(noise, "HW")[1] == ""
    # A large mask keeps its classes: no colors in between.
    large = np.zeros((90, 90), np.int32)
    large[:, 41:] = 5
    assert {tuple(p) for p in drawn(large, "HW")[0].reshape(-1, 3).tolist()} == {
        (0, 0, 0),
        color(5),
    }


@pytest.mark.parametrize(("layout", "word"), [("FHWC", "frames"), ("DHWC", "slices")])
def test_series(layout: str, word: str) -> None:
    frames = np.zeros((11, 4, 4, 3), np.float32)
    frames += np.arange(11)[:, None, None, None] / 10
    pixels, note = drawn(frames, layout, 8)
    assert note == f"{word} 0, 2, 4, 6, 8, 10 of 11"
    assert pixels.shape == (4, 6 * 4 + 5 * 2, 4)
    assert pixels[0, [0, 6, 12, 18, 24, 30], 0].tolist() == [0, 51, 102, 153, 204, 255]
    assert pixels[0, [4, 5], 3].tolist() == [0, 0]  # nothing between frames
    planar = frames.transpose(0, 3, 1, 2)
    same, _ = drawn(planar, f"{layout[0]}CHW", 8)
    assert (same == pixels).all()
    assert drawn(frames[:2], layout, 8)[1] == f"2 {word}"
    assert drawn(frames[..., 0], layout[:3], 8)[0].shape == pixels.shape
    assert (drawn(frames[:, None], "F" + layout.replace("F", "D"), 8)[0] == pixels).all()


def test_waveform() -> None:
    wave = np.zeros(400, np.float32)
    wave[200:] = 0.5
    pixels, note = drawn(wave, "", 100)
    assert note == "peak 0.5"
    assert pixels.shape == (50, 150, 4)
    ink = pixels[..., 2] == 246
    assert np.flatnonzero(ink[:, 120]).tolist() == [0]  # the peak is the upper edge
    assert set(np.flatnonzero(ink[:, 20]).tolist()) <= {24, 25}
    assert pixels[5, 20].tolist() == [0, 0, 0, 0]
    wave[10] = np.nan
    both = np.stack([np.zeros(400, np.float32), wave], axis=1)
    pixels, note = drawn(both, "tc", 100)
    assert note == "peak 0.5; 2 channels; 1 NaN or infinite"
    assert tuple(pixels[40, 4].tolist()) == (*PAINT, 255)
    assert (drawn(both.T, "ct", 100)[0] == pixels).all()
    short, note = drawn(np.ones(3, np.int16), "t", 100)
    assert note == "peak 1"
    assert short.shape == (50, 150, 4)


def encoded(kind: str) -> Array:
    stream = io.BytesIO()
    PIL.Image.new("RGB", (40, 20), (10, 200, 30)).save(stream, kind, lossless=True)
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WebP", "TIFF"])
def test_encoded(kind: str) -> None:
    drawing = draw(encoded(kind), "", 20)
    assert drawing.note == f"encoded {kind}, 40 x 20"
    assert drawing.pixels is not None
    assert drawing.pixels.shape == (10, 20, 3)
    np.testing.assert_allclose(drawing.pixels[5, 5].astype(int), [10, 200, 30], atol=3)


def test_damaged_files_are_said_to_be_damaged() -> None:
    for kind in ("PNG", "JPEG"):
        whole = encoded(kind)
        for length in (12, 30, len(whole) // 2):
            drawing = draw(whole[:length], "", 20)
            assert f"encoded {kind}" in drawing.text or f"encoded {kind}" in drawing.note
    page = gradiva.batch([encoded("PNG")[:40], encoded("JPEG")])._repr_html_()
    assert page.count("<img") == 1
    assert "not decoded" in page


def test_numbers_are_text() -> None:
    assert draw(np.array([[1.5, 2.0, 3.0, 4.0]], np.float32), "", 64) == Drawing(
        None, "[[1.5, 2. , 3. , 4. ]]"
    )
    many = draw(np.arange(100), "", 64)
    assert many.text == "100 values\n0..99, mean 49.5"
    assert draw(np.zeros((0, 4, 3), np.uint8), "HWC", 64).text == "empty"
    broken = np.full(65, np.nan)
    assert draw(broken, "", 64).text == "65 values\n65 NaN or infinite"
    page = gradiva.batch([np.ones((2, 4), np.float32)] * 2)._repr_html_()
    assert "<img" not in page
    assert page.count("[1., 1., 1., 1.]") == 4


def test_lines_of_numbers_are_short() -> None:
    page = gradiva.batch([np.arange(30.0)] * 2)._repr_html_()
    assert page.count("[ 0.,  1.,  2.,") == 2
    assert "white-space:pre;" in page  # a number is never broken
    assert max(map(len, draw(np.full((8, 8), -123.4567), "", 64).text.splitlines())) <= 36


def test_huge_sound_and_numbers_are_thinned_first() -> None:
    # 10^9 values in the memory of one.
    sound = np.broadcast_to(np.float32(0.5), 1_000_000_000)
    pixels, note = drawn(sound, "t", 64)
    assert pixels.shape == (32, 96, 4)
    assert note == "peak 0.5; of every 954th sample"
    text = draw(np.broadcast_to(np.int32(7), 1_000_000_000), "", 64).text
    assert text == "1000000000 values\n7..7, mean 7\n(of every 239th value)"
    frames = np.broadcast_to(np.uint8(9), (12, 100_000, 100_000, 3))
    pixels, note = drawn(frames, "FHWC", 16)
    assert note == "frames 0, 2, 4, 7, 9, 11 of 12"
    assert pixels[0, 0].tolist() == [9, 9, 9, 255]


def test_huge_images_are_thinned_first() -> None:
    # 10^12 pixels in the memory of one: a copy of all would not end.
    huge = np.broadcast_to(np.array([1, 2, 3], np.uint8), (1_000_000, 1_000_000, 3))
    pixels, _ = drawn(huge, "HWC", 64)
    assert pixels.shape == (64, 64, 3)
    assert (pixels == [1, 2, 3]).all()
    thin, _ = drawn(np.zeros((1, 5000, 3), np.uint8), "HWC", 64)
    assert thin.shape == (1, 64, 3)


class Page(html.parser.HTMLParser):
    """Tags are closed, nothing is loaded from elsewhere, nothing has a color of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in ("div", "code", "figure", "figcaption", "img", "pre", "br"), tag
        for name, value in attributes:
            assert not name.startswith("on")
            if name == "src":
                assert value is not None
                assert value.startswith("data:image/png;base64,")
            if name == "style":
                assert value is not None
                assert not re.search(r"(?<![-\w])color:(?!inherit)|background:(?!none)|url", value)
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    "value",
    [
        gradiva.batch([np.zeros((8, 8, 3), np.uint8)] * 3, layout="HWC"),
        gradiva.batch([np.zeros((8, 8, 3), np.uint8), np.zeros((0, 3, 3), np.uint8)], layout="HWC"),
        gradiva.batch([], layout="HWC"),
        gradiva.batch([1, 2, 3]),
        gradiva.batch([np.zeros((3, 4))]),
        gradiva.tensor(5),
        gradiva.tensor(np.zeros((8, 8), np.float16), layout="HW"),
        gradiva.tensor(np.zeros((3, 5, 4)), layout="AXC"),
    ],
    ids=repr,
)
def test_every_page_is_sound(value: Any) -> None:
    page = Page()
    text = value._repr_html_()
    page.feed(text)
    page.close()
    assert page.open == []
    assert "dtype=" in text
    assert "device=" in text


def test_names_are_escaped(tmp_path: Any) -> None:
    name = "<b>&'x.png"
    (tmp_path / "one").mkdir()
    PIL.Image.new("RGB", (20, 20)).save(tmp_path / "one" / name)
    (files, _), *_ = gradiva.readers.File(file_root=str(tmp_path)).next_epoch(batch_size=1)
    page = files._repr_html_()
    Page().feed(page)
    assert "&lt;b&gt;&amp;&#x27;x.png" in page
    assert "<b>" not in page
    assert len(pictures(page)) == 1


def test_thumbnails_of_a_batch() -> None:
    images = np.zeros((20, 8, 8, 3), np.uint8)
    images[:, 0, 0] = np.arange(20)[:, None]
    page = gradiva.as_batch(images, layout="HWC")._repr_html_()
    shown = pictures(page)
    assert len(shown) == 16
    assert [int(picture[0, 0, 0]) for picture in shown] == list(range(16))
    assert "... and 4 more" in page
    assert "shape=(8, 8, 3), dtype=uint8, layout=&#x27;HWC&#x27;, device=&#x27;cpu&#x27;" in page


@pytest.mark.parametrize(
    ("shape", "dtype", "image"),
    [
        ((20, 20, 3), np.uint8, True),
        ((3, 20, 20), np.float32, True),
        ((20, 20), np.float32, True),
        ((5, 20, 20, 3), np.uint8, True),
        ((30, 4), np.float32, False),
        ((4, 4, 3), np.float32, False),
        ((20, 20, 9), np.float32, False),
        ((4000, 2), np.float32, True),
        ((4000,), np.int32, False),
    ],
)
def test_guesses_without_a_layout(shape: tuple[int, ...], dtype: Any, image: bool) -> None:
    page = gradiva.tensor(np.zeros(shape, dtype))._repr_html_()
    assert ("<img" in page) == image


def test_pipeline_outputs_and_lazy_values() -> None:
    images = np.full((2, 9, 8, 3), 7, np.uint8)

    @gradiva.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        return gradiva.fn.external_source(lambda: images, batch=True, layout="HWC")

    made = pipe()
    made.build()
    (outputs,) = made.run()
    assert len(pictures(outputs._repr_html_())) == 2
    assert len(pictures(outputs[0]._repr_html_())) == 1
    with gradiva.EvalMode.deferred:
        lazy = gradiva.flip(gradiva.as_batch(images, layout="HWC"))
        assert pictures(lazy._repr_html_())[1][0, 0].tolist() == [7, 7, 7]
