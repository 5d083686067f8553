"""What Pillow decodes where OpenCV or simplejpeg is absent: the same bits, or an error that says
what to install."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.capture.graph import fingerprint
from gradiva.eager.support.errors import SampleDataError
from gradiva.eager.support.lazy_import import can_import, lazy_module
from gradiva.ops.decoders import convert
from gradiva.ops.decoders.formats import decode_opencv
from gradiva.ops.decoders.jpeg import codec, cpu
from gradiva.ops.image.filter import jpeg_compression_distortion as jpegs
from gradiva.ops.image.filter import median_blur
from tests.needs import needs_opencv, needs_simplejpeg

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(3)
SHAPE = (37, 51)
COLOR = RANDOM.integers(0, 256, (*SHAPE, 3)).astype(np.uint8)
ALPHA = RANDOM.integers(0, 256, (*SHAPE, 4)).astype(np.uint8)
GRAY = COLOR[..., 0].copy()
DEEP = RANDOM.integers(0, 65536, SHAPE).astype(np.uint16)
SMOOTH = np.stack([np.add.outer(np.arange(37), np.arange(51) * k) for k in (1, 2, 3)], -1)
SMOOTH = SMOOTH.astype(np.uint8)
KINDS = ("RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA")


def encoded(pixels: Array, format: str, mode: str | None = None, **options: Any) -> Array:
    stream = io.BytesIO()
    image = Image.fromarray(pixels)
    image = image if mode is None else image.convert(mode)
    image.save(stream, format, **options)
    return np.frombuffer(stream.getvalue(), np.uint8)


FILES = {
    "png": encoded(COLOR, "PNG"),
    "png alpha": encoded(ALPHA, "PNG"),
    "png gray": encoded(GRAY, "PNG"),
    "png gray alpha": encoded(ALPHA[..., :2].copy(), "PNG"),
    "png gray 16": encoded(DEEP, "PNG"),
    "png palette": encoded(COLOR, "PNG", "P"),
    "png bits": encoded(GRAY, "PNG", "1"),
    "webp": encoded(SMOOTH, "WEBP", quality=60),
    "webp lossless": encoded(COLOR, "WEBP", lossless=True),
    "webp alpha": encoded(ALPHA, "WEBP", lossless=True, exact=True),
    "jp2": encoded(COLOR, "JPEG2000"),
    "jp2 gray": encoded(GRAY, "JPEG2000"),
    "jp2 alpha": encoded(ALPHA, "JPEG2000"),
    "jp2 gray 16": encoded(DEEP, "JPEG2000"),
    "jp2 lossy": encoded(SMOOTH, "JPEG2000", irreversible=True, quality_layers=[20]),
    "j2k": encoded(COLOR, "JPEG2000", no_jp2=True),
    "j2k gray": encoded(GRAY, "JPEG2000", no_jp2=True),
    "bmp": encoded(COLOR, "BMP"),
    "bmp gray": encoded(GRAY, "BMP"),
    "bmp palette": encoded(COLOR, "BMP", "P"),
    "bmp bits": encoded(GRAY, "BMP", "1"),
    "bmp alpha": encoded(ALPHA, "BMP"),
    "pbm": encoded(GRAY, "PPM", "1"),
    "pgm": encoded(GRAY, "PPM"),
    "ppm": encoded(COLOR, "PPM"),
}
JPEGS = {
    "444": encoded(SMOOTH, "JPEG", subsampling=0),
    "422": encoded(COLOR, "JPEG", subsampling=1),
    "420": encoded(COLOR, "JPEG", subsampling=2),
    "gray": encoded(GRAY, "JPEG"),
    "cmyk": encoded(ALPHA, "JPEG", "CMYK"),
    "rgb": encoded(COLOR, "JPEG", keep_rgb=True),
    "progressive": encoded(COLOR, "JPEG", progressive=True),
}


def all_kinds(data: Array, **options: Any) -> list[tuple[Any, bytes]]:
    made = []
    for kind in KINDS:
        for dtype in (types.UINT8, types.UINT16):
            image = gradiva.decoders.image(
                data, output_type=types.ImageType[kind], dtype=dtype, **options
            )
            made.append((image.shape, np.asarray(image).tobytes()))
    return made


@pytest.fixture
def leave_out(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes a package absent for what is decoded afterwards."""

    def leave_out(name: str) -> None:
        monkeypatch.setitem(sys.modules, name, None)
        can_import.cache_clear()
        for module in (convert, decode_opencv, codec, cpu, jpegs, median_blur):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, lazy_module(name, "what is absent"))

    yield leave_out
    monkeypatch.undo()
    can_import.cache_clear()


@needs_opencv
@pytest.mark.parametrize("name", FILES)
def test_pillow_gives_the_bits_of_opencv(leave_out: Callable[[str], None], name: str) -> None:
    expected = all_kinds(FILES[name])
    leave_out("cv2")
    assert all_kinds(FILES[name]) == expected


@needs_simplejpeg
@pytest.mark.parametrize("min_size", [None, 5])
@pytest.mark.parametrize("name", JPEGS)
def test_pillow_gives_the_bits_of_simplejpeg(
    leave_out: Callable[[str], None], name: str, min_size: int | None
) -> None:
    expected = all_kinds(JPEGS[name], min_size=min_size)
    leave_out("simplejpeg")
    assert all_kinds(JPEGS[name], min_size=min_size) == expected


@needs_opencv
@pytest.mark.parametrize("orientation", range(1, 9))
def test_upright_without_opencv(leave_out: Callable[[str], None], orientation: int) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    files = encoded(COLOR, "JPEG", exif=exif), encoded(GRAY, "PNG", exif=exif)
    expected = [all_kinds(file) for file in files]
    leave_out("cv2")
    assert [all_kinds(file) for file in files] == expected


@needs_opencv
@needs_simplejpeg
@pytest.mark.parametrize("name", ["cv2", "simplejpeg"])
def test_the_losses_of_jpeg(leave_out: Callable[[str], None], name: str) -> None:
    images = gradiva.batch([COLOR, SMOOTH, COLOR[:1], COLOR[:, :1]], layout="HWC")
    qualities = [[1, 30, 96, 100], [75, 95, 5, 50]]
    expected = [gradiva.jpeg_compression_distortion(images, quality=q) for q in qualities]
    leave_out(name)
    for quality, known in zip(qualities, expected, strict=True):
        found = gradiva.jpeg_compression_distortion(images, quality=quality)
        for one, other in zip(found, known, strict=True):
            np.testing.assert_array_equal(one, other)


def test_losses_of_large_images(
    leave_out: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow's limit for files of others is none for our own."""
    leave_out("cv2")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert gradiva.jpeg_compression_distortion(COLOR).shape == COLOR.shape


@pytest.mark.parametrize("factors", [0x11, 0x21])
def test_inks_without_the_marker_of_adobe(factors: int) -> None:
    """They are as stored: 255 - 50, also in a subsampling that only Pillow reads."""
    stream = io.BytesIO()
    flat = Image.new("CMYK", (64, 8), (50, 50, 50, 50))
    flat.save(stream, "JPEG", quality=100, subsampling=0)
    data = bytearray(stream.getvalue().replace(b"Adobe", b"other"))
    frame = data.index(b"\xff\xc0")
    data[frame + 11], data[frame + 8] = factors, 16
    found = gradiva.decoders.image(np.frombuffer(data, np.uint8), output_type=types.ANY_DATA)
    np.testing.assert_array_equal(np.asarray(found)[:, :8, :3], np.full((8, 8, 3), 205, np.uint8))


def test_what_pillow_cannot_do_says_what_to_install(leave_out: Callable[[str], None]) -> None:
    leave_out("cv2")
    leave_out("simplejpeg")
    text = np.frombuffer(b"P2 2 1 255\n7 9\n", np.uint8)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"needs cv2 for this; install it with"):
        gradiva.decoders.image(text)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"needs cv2 for this; install it with"):
        gradiva.experimental.median_blur(COLOR)
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"needs simplejpeg for this; install"):
        gradiva.decoders.image(JPEGS["cmyk"], use_fast_idct=True)
    for file in (JPEGS["420"], FILES["png"]):
        with pytest.raises(SampleDataError, match="ends early"):
            gradiva.decoders.image(file[: file.size // 2])


def test_versions_of_absent_libraries(leave_out: Callable[[str], None]) -> None:
    @pipeline_def(batch_size=1, num_threads=1)
    def pipeline() -> Any:
        images = fn.external_source(lambda: [COLOR], layout="HWC", dtype=types.UINT8, ndim=3)
        return fn.experimental.median_blur(images)

    leave_out("cv2")
    fingerprint._version.cache_clear()
    pipe = pipeline()
    found = fingerprint.library_versions(pipe._recorded())
    pipe.close()
    fingerprint._version.cache_clear()
    assert found == {"opencv-python-headless": "absent"}
