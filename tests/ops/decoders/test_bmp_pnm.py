"""BMP and PNM by their formats: masks, maxima, comments; AVIF by its brands."""

from __future__ import annotations

import io
import itertools
import struct
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import types
from gradiva.eager.support.errors import SampleDataError
from gradiva.eager.support.opencv import has_opencv
from gradiva.ops.decoders.formats.pillow_formats import has_avif

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(11)
GRAY = RANDOM.integers(0, 256, (5, 7)).astype(np.uint8)
COLOR = RANDOM.integers(0, 256, (5, 7, 3)).astype(np.uint8)


def decoded(data: bytes, kind: str = "RGB", dtype: Any = np.uint8) -> Array:
    array = np.frombuffer(data, np.uint8)
    image = gradiva.decoders.image(array, output_type=types.ImageType[kind], dtype=dtype)
    return np.asarray(image)


def bmp(words: Array, masks: tuple[int, ...], header: int = 40, compression: int = 3) -> bytes:
    """Pixels as numbers of 16 or 32 bits, from the top if `header` is odd."""
    height, width = words.shape
    body = b"".join(row.tobytes() + bytes(-row.nbytes % 4) for row in words[::-1])
    bits = 8 * words.dtype.itemsize
    info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, 0, 0, 0, 0, 0)
    info = (info + struct.pack(f"<{len(masks)}I", *masks)).ljust(max(header, 40), b"\0")
    offset = 14 + len(info)
    return b"BM" + struct.pack("<IHHI", offset + len(body), 0, 0, offset) + info + body


@pytest.mark.parametrize("order", list(itertools.permutations((0, 8, 16, 24))))
def test_masks_of_bytes_in_any_order(order: tuple[int, ...]) -> None:
    alpha = RANDOM.integers(0, 256, (5, 7)).astype(np.uint32)
    channels = [*np.moveaxis(COLOR.astype(np.uint32), 2, 0), alpha]
    words = np.zeros((5, 7), np.uint32)
    for channel, shift in zip(channels, order, strict=True):
        words |= channel << np.uint32(shift)
    masks = tuple(0xFF << shift for shift in order)
    files = [bmp(words, masks[:3]), bmp(words, masks, 56), bmp(words, masks, 124)]
    files.append(bmp(words, masks, 40, compression=6))
    for data in files:
        np.testing.assert_array_equal(decoded(data), COLOR)
        np.testing.assert_array_equal(decoded(data, "BGR"), COLOR[..., ::-1])
        np.testing.assert_array_equal(decoded(data, "ANY_DATA"), np.dstack([COLOR, alpha]))
        gray = COLOR.astype(np.float64) @ [0.299, 0.587, 0.114]
        assert np.abs(decoded(data, "GRAY")[..., 0] - gray).max() < 1
        part = gradiva.decoders.image_slice(
            np.frombuffer(data, np.uint8), start=(1, 2), shape=(3, 4), axis_names="HW"
        )
        np.testing.assert_array_equal(part, COLOR[1:4, 2:6])


@pytest.mark.parametrize("bits", [(5, 5, 5, 0), (5, 6, 5, 0), (4, 4, 4, 4), (3, 3, 2, 8)])
@pytest.mark.parametrize("turned", [False, True])
def test_masks_of_few_bits(bits: tuple[int, ...], turned: bool) -> None:
    words, masks, expected, shift = np.zeros((5, 7), np.uint16), [], [], 0
    for size in bits:
        top = (1 << size) - 1
        values = RANDOM.integers(0, top + 1, (5, 7)).astype(np.uint16)
        words |= values << np.uint16(shift)
        masks.append(top << shift)
        expected.append(np.floor(values * 255 / max(top, 1) + 0.5))
        shift += size
    order = [2, 1, 0] if turned else [0, 1, 2]
    masks[:3] = [masks[k] for k in order]
    image = np.stack([expected[k] for k in order], -1)
    for header in (40, 56, 108):
        given = tuple(masks) if header > 40 else tuple(masks[:3])
        found = decoded(bmp(words, given, header))
        usual = turned and header == 40 and bits[:2] in ((5, 5), (5, 6))  # OpenCV shifts
        assert np.abs(found - image).max() <= (7 if usual else 0)
    if bits[3]:
        found = decoded(bmp(words, tuple(masks), 56), "ANY_DATA")
        np.testing.assert_array_equal(found, np.dstack([image, expected[3]]))


def test_wrong_masks() -> None:
    words = np.zeros((5, 7), np.uint32)
    for masks in ((0xFF, 0xFF, 0xFF00), (0xFF00FF, 0xFF00, 0xFF000000), (0xFF, 0, 0xFF00)):
        with pytest.raises(SampleDataError, match="BMP header is damaged"):
            decoded(bmp(words, masks))
    with pytest.raises(SampleDataError, match="the file is cut"):
        decoded(bmp(words, (0xFF, 0xFF00, 0xFF0000))[:-8])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_headers_of_12_bytes(size: int) -> None:
    """Such as OS/2 wrote; the smallest of these files are shorter than usual headers."""
    color = COLOR[:size, :size]
    rows = b"".join(row.tobytes() + bytes(-row.nbytes % 4) for row in color[::-1, :, ::-1])
    head = struct.pack("<IHHII", 26 + len(rows), 0, 0, 26, 12)
    data = b"BM" + head + struct.pack("<HHHH", size, size, 1, 24) + rows
    np.testing.assert_array_equal(decoded(data), color)
    np.testing.assert_array_equal(decoded(data, "ANY_DATA"), color)
    deep = np.dstack([color[..., ::-1], color[..., :1]])[::-1]  # not of OS/2, but without a doubt
    data = b"BM" + head + struct.pack("<HHHH", size, size, 1, 32) + deep.tobytes()
    for kind in ("RGB", "ANY_DATA"):
        np.testing.assert_array_equal(decoded(data, kind), color)


@pytest.mark.parametrize("maximum", [1, 2, 15, 100, 254, 255, 256, 1023, 65534, 65535])
@pytest.mark.parametrize("kind", [2, 3, 5, 6])
def test_maxima(kind: int, maximum: int) -> None:
    if kind < 4 and not has_opencv():
        pytest.skip("OpenCV is absent")
    image = COLOR if kind in (3, 6) else GRAY[..., None]
    values = image.astype(np.int64) * 7919 % (maximum + 1)
    values.flat[0], values.flat[1] = 0, maximum
    if kind in (2, 3):
        body = " ".join(map(str, values.ravel().tolist())).encode() + b"\n"
    else:
        body = values.astype(">u2" if maximum > 255 else "u1").tobytes()
    for gap in ("\n", " ", "# note\n", "\n# note\n"):
        data = f"P{kind}{gap}7{gap}5{gap}{maximum}\n".encode() + body
        found = decoded(data, "ANY_DATA")
        assert np.abs(found - np.floor(values * 255 / maximum + 0.5)).max() <= (kind in (2, 3))
        rgb = decoded(data, "RGB", np.float32)
        step = 1 / 255 if kind in (2, 3) and maximum < 255 else 2e-5
        assert np.abs(rgb - values / maximum).max() <= step
        if kind == 6:
            gray = (values / maximum) @ [0.299, 0.587, 0.114]
            found = decoded(data, "GRAY", np.float32)[..., 0]
            assert np.abs(found - gray).max() <= (2e-3 if maximum < 1024 else 1e-4)


def test_comments() -> None:
    """They may touch a number, also the last one."""
    bits = np.packbits(GRAY > 127, axis=1).tobytes()
    expected = np.where(GRAY > 127, 0, 255)
    for head in (b"P4\n7 5\n", b"P4# x\n7# y\n5# z\n", b"P4 # x\n7 5\n"):
        np.testing.assert_array_equal(decoded(head + bits, "GRAY")[..., 0], expected)
    for head in (b"P5\n7 5\n255\n", b"P5\n7# w\n5 255# last\n", b"P5#\n#\n7 5#\n255 "):
        np.testing.assert_array_equal(decoded(head + GRAY.tobytes(), "GRAY")[..., 0], GRAY)
    first = GRAY.copy()
    first[0, 0] = ord("#")
    found = decoded(b"P5\n7 5\n255\n" + first.tobytes(), "GRAY")[..., 0]
    np.testing.assert_array_equal(found, first)
    for head in (b"P5 7 5 100\n", b"P5# x\n7 5 255\n"):
        with pytest.raises(SampleDataError, match="damaged or ends early"):
            decoded(head + GRAY.tobytes()[:-1])


@pytest.mark.skipif(not has_avif(), reason="Pillow has no AVIF")
def test_brands() -> None:
    out = io.BytesIO()
    Image.fromarray(COLOR).save(out, "AVIF", quality=90)
    data = out.getvalue()
    expected = decoded(data)
    for brand in (b"mif1", b"miaf", b"avif"):
        other = data[:8] + brand + data[12:]
        np.testing.assert_array_equal(decoded(other), expected)
        shape = gradiva.peek_image_shape(np.frombuffer(other, np.uint8))
        assert np.asarray(shape).tolist() == [5, 7, 3]
    alien = data.replace(b"avif", b"heic", 2)
    with pytest.raises(SampleDataError, match="HEIC"):
        decoded(alien)
