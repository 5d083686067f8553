"""Decoding a window gives the bits of a crop of the whole image, whatever the file.

Here without the library of `test_jpeg_window`, which has the same promises with it."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from gradiva.ops.decoders.formats.decode import decode_into, output_shape
from gradiva.ops.decoders.formats.decode_region import decode_region_into
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg import rows as jpeg_rows
from gradiva.ops.decoders.jpeg import window as jpeg_window
from gradiva.ops.decoders.jpeg.codec import has_simplejpeg
from tests.needs import needs_simplejpeg
from tests.tiers import examples

Array = np.ndarray[Any, Any]
SUBSAMPLINGS = ("4:4:4", "4:2:2", "4:2:0", "gray")
SIZES = ((1, 1), (16, 16), (17, 33), (64, 48), (95, 61), (131, 197))
KINDS = ("RGB", "BGR", "GRAY", "YCbCr")


@pytest.fixture(autouse=True)
def _by_simplejpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jpeg_window, "window_decoder_works", lambda: False)


def picture(height: int, width: int) -> Array:
    """Noise on a ramp: every block differs from its neighbors."""
    noise = np.random.default_rng(height * width).integers(0, 90, (height, width, 3))
    y, x = np.mgrid[0:height, 0:width]
    values: Array = noise + np.stack([2 * y, 3 * x, y + x], -1)
    return (values % 256).astype(np.uint8)


def encoded(array: Array, format: str = "JPEG", **options: Any) -> Array:
    stream = io.BytesIO()
    Image.fromarray(array).save(stream, format, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


@cache
def jpeg(size: tuple[int, int], subsampling: str, **options: Any) -> Array:
    pixels = picture(*size)
    if subsampling == "gray":
        return encoded(pixels[..., 0], **options)
    return encoded(pixels, subsampling=subsampling, **options)


def exif(orientation: int) -> bytes:
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags.tobytes()


def whole(data: Array, dtype: Any = np.uint8, **options: Any) -> Array:
    info = probe(data)
    out = np.empty(output_shape(info, options.get("output_type", "RGB")), dtype)
    decode_into(data, info, out, **options)
    return out


def region(data: Array, window: Any, dtype: Any = np.uint8, **options: Any) -> Array:
    info = probe(data)
    channels = output_shape(info, options.get("output_type", "RGB"))[2]
    out = np.empty((window[2], window[3], channels), dtype)
    decode_region_into(data, info, window, out, **options)
    return out


def assert_crop(data: Array, window: Any, dtype: Any = np.uint8, **options: Any) -> None:
    top, left, height, width = window
    expected = whole(data, dtype, **options)[top : top + height, left : left + width]
    np.testing.assert_array_equal(region(data, window, dtype, **options), expected)


def windows(size: tuple[int, int]) -> st.SearchStrategy[tuple[int, int, int, int]]:
    def one(extent: int) -> st.SearchStrategy[tuple[int, int]]:
        return st.integers(0, extent - 1).flatmap(
            lambda low: st.integers(1, extent - low).map(lambda length: (low, length))
        )

    return st.tuples(one(size[0]), one(size[1])).map(lambda w: (w[0][0], w[1][0], w[0][1], w[1][1]))


files = st.tuples(st.sampled_from(SIZES), st.sampled_from(SUBSAMPLINGS))


@settings(max_examples=examples(150), deadline=None)
@given(files, st.data(), st.sampled_from(KINDS), st.booleans())
def test_jpeg(file: Any, data: st.DataObject, kind: str, fast: bool) -> None:
    window = data.draw(windows(file[0]))
    fast &= has_simplejpeg()
    assert_crop(jpeg(*file, quality=85), window, output_type=kind, use_fast_idct=fast)


@settings(max_examples=examples(60), deadline=None)
@given(files, st.data(), st.booleans(), st.sampled_from((0, 1, 3)))
def test_jpeg_of_other_kinds(file: Any, data: st.DataObject, progressive: bool, rows: int) -> None:
    """Progressive files, and files with restart markers."""
    options = {"progressive": progressive, "restart_marker_rows": rows}
    assert_crop(jpeg(*file, **options), data.draw(windows(file[0])))


@settings(max_examples=examples(80), deadline=None)
@given(files, st.data(), st.integers(1, 8))
def test_oriented_jpeg(file: Any, data: st.DataObject, orientation: int) -> None:
    size = file[0] if orientation < 5 else file[0][::-1]
    assert_crop(jpeg(*file, exif=exif(orientation)), data.draw(windows(size)))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.data(),
    st.sampled_from(("uint8", "uint16", "int16", "float32")),
    st.sampled_from(KINDS),
    st.sampled_from(("PNG", "BMP", "TIFF", "PPM", "WEBP", "JPEG", "CMYK")),
)
def test_formats(data: st.DataObject, dtype: str, kind: str, format: str) -> None:
    """Value ranges and colors are those of the whole image."""
    pixels = picture(37, 53)
    if format == "CMYK":
        stream = io.BytesIO()
        Image.fromarray(pixels).convert("CMYK").save(stream, "JPEG")
        file = np.frombuffer(stream.getvalue(), np.uint8)
    else:
        file = encoded(pixels, format)
    assert_crop(file, data.draw(windows((37, 53))), dtype, output_type=kind)


@needs_simplejpeg
@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_rows_below_are_not_decoded(subsampling: str) -> None:
    """What the whole exercise is for: of a common file, only the upper rows are decoded."""
    data = jpeg((131, 197), subsampling)
    info = probe(data)
    memory = np.empty((131, 197, 3), np.uint8)
    upper = jpeg_rows.decode_jpeg_rows(data, info, "RGB", 40, False, memory)
    assert 40 <= len(upper) <= 40 + 4
    np.testing.assert_array_equal(upper[:40], whole(data)[:40])


def test_input_is_not_written() -> None:
    data = jpeg((131, 197), "4:2:0").copy()
    data.flags.writeable = False
    before = data.copy()
    region(data, (3, 4, 10, 11))
    np.testing.assert_array_equal(data, before)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_cut_file(kept: float) -> None:
    """A file that ends early is refused, also where it ends below the window."""
    data = jpeg((131, 197), "4:2:0")
    with pytest.raises(ValueError, match="ends early"):
        region(data[: int(kept * data.size)], (0, 0, 20, 20))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(2, 20_000), st.binary(min_size=1, max_size=3), st.data())
def test_damaged_file(position: int, junk: bytes, data: st.DataObject) -> None:
    """Damage is judged as in the whole image: the same refusal, or the same pixels."""
    file = jpeg((131, 197), "4:2:0", quality=95).copy()
    position = min(position, file.size - len(junk))
    file[position : position + len(junk)] = np.frombuffer(junk, np.uint8)
    window = data.draw(windows((131, 197)))
    expected, refusal = judged(lambda: whole(file))
    assume(expected is None or expected.shape == (131, 197, 3))
    got, our_refusal = judged(lambda: region(file, window))
    assert our_refusal == refusal
    if expected is not None:
        top, left, height, width = window
        np.testing.assert_array_equal(got, expected[top : top + height, left : left + width])


def judged(decode: Callable[[], Array]) -> tuple[Array | None, str]:
    """Pixels, or the reason why there are none."""
    try:
        return decode(), ""
    except ValueError as refusal:
        return None, str(refusal)


def test_window_outside() -> None:
    data = jpeg((17, 33), "4:4:4")
    for window in ((-1, 0, 3, 3), (0, 0, 18, 3), (5, 31, 3, 3)):
        with pytest.raises(ValueError, match="leaves the image"):
            region(data, window)
