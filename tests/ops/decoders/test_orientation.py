"""EXIF's orientation: wherever it stands in a file, for images, windows and shapes."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva.ops.decoders.formats.pillow_formats import has_avif

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
STORED = np.random.default_rng(0).integers(0, 256, (24, 40, 3)).astype(np.uint8)


def exif(orientation: int, order: str = "<", kind: int = 3) -> bytes:
    """A directory with one entry: kind 1 is BYTE, 3 SHORT, 4 LONG."""
    value = struct.pack(order + {1: "B3x", 3: "H2x", 4: "I"}[kind], orientation)
    mark = b"II" if order == "<" else b"MM"
    head = struct.pack(order + "HIHHHI", 42, 8, 1, 274, kind, 1)
    return mark + head + value + bytes(4)


def saved(fmt: str, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(STORED).save(out, fmt, **options)
    return out.getvalue()


def segment(block: bytes) -> bytes:
    body = b"Exif\0\0" + block
    return b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def jpeg(block: bytes, place: str) -> bytes:
    """Before all, or behind the frame header, or right before the scan."""
    plain = saved("JPEG", quality=95, subsampling=0)
    at = 2
    if place == "frame":
        at = plain.index(b"\xff\xc0")
        at += 2 + int.from_bytes(plain[at + 2 : at + 4], "big")
    elif place == "scan":
        at = plain.index(b"\xff\xda")
    return plain[:at] + segment(block) + plain[at:]


def png(block: bytes, place: str) -> bytes:
    """Behind the header, or behind the pixels."""
    plain = saved("PNG")
    at = 33 if place == "header" else plain.index(b"IEND") - 4
    return plain[:at] + chunk(b"eXIf", block) + plain[at:]


def upright(stored: Array, orientation: int) -> Array:
    if orientation >= 5:
        stored = stored.transpose(1, 0, 2)
    down, right = orientation in (3, 4, 7, 8), orientation in (2, 3, 6, 7)
    return stored[:: -1 if down else 1, :: -1 if right else 1]


def check(data: bytes, expected: Array) -> None:
    """The image, its shape, and a window."""
    array = np.frombuffer(data, np.uint8)
    np.testing.assert_array_equal(gradiva.decoders.image(array), expected)
    assert np.asarray(gradiva.peek_image_shape(array)).tolist() == list(expected.shape)
    part = gradiva.decoders.image_slice(array, start=(3, 5), shape=(17, 11), axis_names="HW")
    np.testing.assert_array_equal(part, expected[3:20, 5:16])
    flat = np.asarray(gradiva.peek_image_shape(array, adjust_orientation=False))
    assert flat.tolist() == list(STORED.shape)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("place", ["first", "frame", "scan"])
def test_jpeg(place: str, order: str) -> None:
    flat = np.asarray(gradiva.decoders.image(np.frombuffer(jpeg(exif(1), "first"), np.uint8)))
    for kind in (1, 3, 4):
        for value in (2, 6, 8):
            check(jpeg(exif(value, order, kind), place), upright(flat, value))
    least = gradiva.decoders.image(
        np.frombuffer(jpeg(exif(6, order), place), np.uint8), min_size=(20, 12)
    )
    assert np.asarray(least).shape == (20, 12, 3)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("place", ["header", "end"])
def test_png(place: str, order: str) -> None:
    for kind in (1, 3, 4):
        for value in (3, 5, 7):
            check(png(exif(value, order, kind), place), upright(STORED, value))


@pytest.mark.parametrize("order", ["<", ">"])
def test_webp(order: str) -> None:
    for kind in (1, 3, 4):
        for prefix in (b"", b"Exif\0\0"):
            data = saved("WEBP", lossless=True, exif=prefix + exif(6, order, kind))
            check(data, upright(STORED, 6))


@pytest.mark.skipif(not has_avif(), reason="Pillow has no AVIF")
def test_avif() -> None:
    data = saved("AVIF", quality=100, subsampling="4:4:4", exif=exif(6))
    flat = np.asarray(
        gradiva.decoders.image(np.frombuffer(data, np.uint8), adjust_orientation=False)
    )
    check(data, upright(flat, 6))


def test_adobe_behind_the_frame() -> None:
    """The colors of four channels hang on a segment that may stand there, too."""
    out = io.BytesIO()
    Image.fromarray(STORED).convert("CMYK").save(out, "JPEG", quality=95)
    plain = out.getvalue()
    at = plain.index(b"\xff\xee")
    end = at + 2 + int.from_bytes(plain[at + 2 : at + 4], "big")
    rest = plain[:at] + plain[end:]
    scan = rest.index(b"\xff\xda")
    moved = rest[:scan] + plain[at:end] + rest[scan:]
    first, second = (
        gradiva.decoders.image(np.frombuffer(data, np.uint8)) for data in (plain, moved)
    )
    np.testing.assert_array_equal(first, second)


def test_scans_behind_the_end_do_not_count() -> None:
    """A film behind a photograph; markers in a comment are none, either."""
    plain = saved("JPEG", progressive=True)
    note = b"\xff\xfe" + struct.pack(">H", 1002) + b"\xff\xda" * 500
    expected = gradiva.decoders.image(np.frombuffer(plain, np.uint8))
    for data in (plain + b"\xff\xda" * 300, plain[:2] + note + plain[2:]):
        found = gradiva.decoders.image(np.frombuffer(data, np.uint8))
        np.testing.assert_array_equal(found, expected)
    # An end marker in a comment is none: the scans behind it count.
    scan = plain.index(b"\xff\xda")
    end = b"\xff\xfe\0\4\xff\xd9"
    again = plain[scan:-2] * 300
    bad = plain[:scan] + end + again + b"\xff\xd9"
    with pytest.raises(gradiva.OperatorRuntimeError, match="scans, more than the limit of 256"):
        gradiva.decoders.image(np.frombuffer(bad, np.uint8))
