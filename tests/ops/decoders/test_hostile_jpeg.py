"""JPEGs that would take memory, or hours, and give no image."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import OperatorRuntimeError, OperatorValueError
from gradiva.eager.types.arrays import Array

DECODERS: list[Any] = [
    gradiva.decoders.image,
    lambda data, **options: gradiva.decoders.image_crop(data, crop=(4, 4), **options),
    lambda data, **options: gradiva.decoders.image_slice(
        data, start=(0, 0), shape=(4, 4), axes=(0, 1), **options
    ),
    lambda data, **options: gradiva.decoders.image_random_crop(data, seed=3, **options),
]


def encoded(height: int = 16, width: int = 16, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height)).save(file, "JPEG", **options)
    return file.getvalue()


def with_scans(data: bytes, more: int) -> Array:
    """A JPEG whose last scan is there again, so many times."""
    scan = data[data.rindex(b"\xff\xda") : -2]
    return np.frombuffer(data[:-2] + scan * more + b"\xff\xd9", np.uint8)


def promising(data: bytes, height: int, width: int, marker: bytes = b"\xff\xc0") -> Array:
    """A JPEG whose frame header says another size."""
    changed = bytearray(data)
    at = changed.index(marker) + 5
    changed[at : at + 4] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return np.frombuffer(bytes(changed), np.uint8)


def components_apart(data: bytes, more: int) -> Array:
    """A sequential JPEG whose first scan has one component, and which has that scan many times."""
    at = data.rindex(b"\xff\xda")
    scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" + data[at + 14 : -2]
    return np.frombuffer(data[:at] + scan * more + b"\xff\xd9", np.uint8)


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_scans(encoded(progressive=True), 300), "scans, more than the limit of 256"),
        (components_apart(encoded(), 300), "JPEG has 300 scans"),
        (promising(encoded(), 16384, 16384), "promises 16384 x 16384 pixels, more than its"),
        (promising(encoded(progressive=True), 9000, 9000, b"\xff\xc2"), "promises 9000 x 9000"),
    ],
)
def test_refused(decode: Any, data: Array, words: str) -> None:
    with pytest.raises(OperatorRuntimeError, match=words):
        decode(data)
    good = np.frombuffer(encoded(), np.uint8)
    with warnings.catch_warnings(), gradiva.Quarantine() as quarantine:
        warnings.simplefilter("ignore")
        assert len(decode(gradiva.batch([good, data, good]), on_error="skip")) == 2
    assert [words in one.reason for one in quarantine] == [True]


def test_what_encoders_make_is_taken() -> None:
    few = with_scans(encoded(progressive=True), 200)
    assert gradiva.decoders.image(few).shape == (16, 16, 3)
    # As many pixels for a byte as there can be.
    for options in ({}, {"progressive": True}):
        flat = encoded(2000, 3000, optimize=True, subsampling=2, quality=1, **options)
        assert 150 < 2000 * 3000 / len(flat) < 1024
        assert gradiva.decoders.image(np.frombuffer(flat, np.uint8)).shape == (2000, 3000, 3)


def test_fill_bytes_are_passed_over_once() -> None:
    """Before a marker any number of them may stand: a search that begins again at each of them
    would take hours."""
    begin = encoded(progressive=True)[:-2]
    fill = b"\xff" * (1 << 21) + b"\0"
    data = np.frombuffer(begin + fill + b"\xff\xda\0\2" * 300, np.uint8)
    with pytest.raises(OperatorRuntimeError, match="scans, more than the limit of 256"):
        gradiva.decoders.image(data)
    comment = b"\xff\xfe\2\2" + b"\xff\xda" * 256
    taken = np.frombuffer(begin + comment + fill + b"\xff\xd9", np.uint8)
    whole = gradiva.decoders.image(np.frombuffer(begin + b"\xff\xd9", np.uint8))
    np.testing.assert_array_equal(gradiva.decoders.image(taken), whole)


def test_shapes_are_still_told_of_the_first_bytes() -> None:
    start = np.frombuffer(encoded(4000, 6000)[:700], np.uint8)
    assert np.asarray(gradiva.peek_image_shape(start)).tolist() == [4000, 6000, 3]


@pytest.mark.parametrize("decode", DECODERS)
def test_max_pixels(decode: Any) -> None:
    files = gradiva.batch(
        [np.frombuffer(encoded(*size), np.uint8) for size in ((20, 30), (20, 31))]
    )
    assert len(decode(files, max_pixels=620)) == 2
    with pytest.raises(OperatorRuntimeError, match="limit of 600 pixels") as caught:
        decode(files, max_pixels=600)
    assert caught.value.sample == 1
    with pytest.raises(OperatorValueError, match="max_pixels"):
        decode(files, max_pixels=0)
    png = io.BytesIO()
    Image.new("L", (40, 40)).save(png, "PNG")
    with pytest.raises(OperatorRuntimeError, match="limit of 600 pixels"):
        decode(np.frombuffer(png.getvalue(), np.uint8), max_pixels=600)


def test_max_pixels_counts_before_min_size() -> None:
    data = np.frombuffer(encoded(64, 64), np.uint8)
    assert gradiva.decoders.image(data, min_size=8, max_pixels=4096).shape == (8, 8, 3)
    with pytest.raises(OperatorRuntimeError, match="limit of 4000 pixels"):
        gradiva.decoders.image(data, min_size=8, max_pixels=4000)
