"""Damaged, cut and foreign files: a ValueError with a reason, and silence on standard error."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradiva.ops.decoders.formats.decode import decode_into, output_shape
from gradiva.ops.decoders.formats.pillow_formats import has_avif
from gradiva.ops.decoders.formats.probe import probe
from tests.oracle import flavors
from tests.tiers import few

FILES = {**flavors.jpegs(), **flavors.others()}
REFUSED = {"tif_u32", "tif_i16", *(() if has_avif() else ("avif",))}
KNOWN = [name for name in FILES if name not in REFUSED]
JPEG = flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90)
SCAN = JPEG.index(b"\xff\xda")


def as_array(data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, np.uint8)


def decoded(data: bytes, kind: str = "RGB") -> np.ndarray[Any, Any]:
    array = as_array(data)
    info = probe(array, max_pixels=1 << 20)
    out = np.full(output_shape(info, kind), 77, np.uint8)
    decode_into(array, info, out, output_type=kind)
    return out


@pytest.fixture(autouse=True)
def silence(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    printed = capfd.readouterr()
    assert printed.err == ""
    assert printed.out == ""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"\0" * 100, "unknown image format: starts with bytes 00 00"),
        (b"hello world, no image", "unknown image format: starts with bytes 68 65 6c 6c 6f"),
        (JPEG[:2], "JPEG ends before its frame header"),
        (JPEG[:30], "JPEG ends before its frame header"),
        (JPEG[: SCAN // 2], "JPEG data is damaged or ends before its pixels"),
        (JPEG[:SCAN], "JPEG data is damaged or ends before its pixels"),
        (JPEG[: SCAN + 200], "JPEG data ends early"),
        (JPEG[: len(JPEG) // 2], "JPEG data ends early"),
        (JPEG[:-2], "JPEG data ends early"),
        (b"\xff\xd8\xff\xd9", "no frame header"),
        (b"\xff\xd8\xff\xe0\0\1", "has no length"),
        (b"\0\0\0\x20ftypheic" + bytes(20), "this is HEIC, which is not supported"),
        (b"photos/some one's.jpeg", "looks like the name of a file: see imread"),
        (b"<!DOCTYPE html><html>", "this is a web page"),
        (b"GIF89a\1\0", "GIF header is damaged or ends early"),
        (FILES["tif_u32"](), "samples of 32 bits"),
        (FILES["tif_i16"](), "signed"),
        (b"P6\n10 10\n0\n", "no maximum"),
        (b"P6\nx", "no width and height"),
        (b"II*\0" + b"\xff" * 10, "directory"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)} bytes",
)
def test_reasons(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decoded(data)


@pytest.mark.parametrize("name", few(KNOWN, every=6))
@pytest.mark.parametrize("part", few([0.0, 0.02, 0.5, 0.9], 0.5))
def test_cut(name: str, part: float) -> None:
    data = FILES[name]()
    if name == "pbm_ascii":
        pytest.skip("its pixels need no separators, so a cut may leave enough of them")
    with pytest.raises(ValueError):
        decoded(data[: max(1, int(len(data) * part))])


def test_png_damage_has_a_place() -> None:
    data = bytearray(FILES["png_rgb"]())
    data[len(data) // 2] ^= 0x10
    with pytest.raises(ValueError, match=r"chunk IDAT at byte .* fails its checksum"):
        decoded(bytes(data))


def test_forgiven_like_the_reference() -> None:
    """Stray bytes in the scan and rubbish behind the end are decoded."""
    middle = len(JPEG) // 2
    stray = JPEG[:middle] + b"\xff\x01\x02" + JPEG[middle:]
    assert decoded(stray).shape == decoded(JPEG + b"rubbish").shape == (131, 197, 3)
    np.testing.assert_array_equal(decoded(JPEG + b"rubbish"), decoded(JPEG))


def test_wrong_arrays() -> None:
    for array in (np.zeros((2, 2), np.uint8), np.zeros(9, np.int32), np.zeros((), np.uint8)):
        with pytest.raises(ValueError, match="one-dimensional array of uint8"):
            probe(array)
    data = as_array(JPEG)
    info = probe(data)
    for out in (np.empty((131, 197, 1), np.uint8), np.empty((131, 394, 3), np.uint8)[:, ::2]):
        with pytest.raises(ValueError, match="C-contiguous of shape"):
            decode_into(data, info, out)
    with pytest.raises(ValueError, match="not float64"):
        decode_into(data, info, np.empty((131, 197, 3)))
    with pytest.raises(ValueError, match="unknown output_type"):
        output_shape(info, "HSV")
    strided = np.repeat(data, 2)[::2]
    decode_into(strided, probe(strided), np.empty((131, 197, 3), np.uint8))


def test_limit() -> None:
    with pytest.raises(ValueError, match=r"131 x 197 pixels .* is larger than the limit of 1000"):
        probe(as_array(JPEG), max_pixels=1000)
    bomb = bytearray(FILES["png_rgb"]())
    bomb[16:24] = b"\0\1\0\0\0\1\0\0"
    with pytest.raises(ValueError, match="larger than the limit"):
        probe(as_array(bytes(bomb)))


def damaged(data: bytes, random: np.random.Generator, header_only: bool) -> bytes:
    copy = np.frombuffer(data, np.uint8).copy()
    if random.random() < 0.5:
        copy = copy[: random.integers(0, min(len(copy), 2000 if header_only else len(copy)))]
    if len(copy):
        reach = min(len(copy), 400) if random.random() < 0.7 else len(copy)
        for place in random.integers(0, reach, random.integers(0, 8)):
            copy[place] = random.integers(256)
    return bytes(copy)


@pytest.mark.full
@pytest.mark.parametrize("name", KNOWN)
def test_fuzz_headers(name: str) -> None:
    random = np.random.default_rng(sum(name.encode()))
    data = FILES[name]()
    for _ in range(150):
        with contextlib.suppress(ValueError):
            probe(as_array(damaged(data, random, header_only=True)))


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in KNOWN if "exif" not in name])
def test_fuzz_pixels(name: str) -> None:
    random = np.random.default_rng(sum(name.encode()) + 1)
    data = FILES[name]()
    for number in range(25):
        with contextlib.suppress(ValueError):
            decoded(damaged(data, random, header_only=False), ("RGB", "ANY_DATA")[number % 2])


def test_threads() -> None:
    """Many threads, all formats at once: the same pixels as alone."""
    names = ["jpeg_420", "jpeg_exif6", "png_rgb", "tif_lzw", "webp_lossy", "jp2_rgb", "ppm"]
    alone = {name: decoded(FILES[name]()) for name in names}
    wrong: list[str] = []

    def work() -> None:
        repeated = names * 3
        wrong.extend(n for n in repeated if not np.array_equal(decoded(FILES[n]()), alone[n]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
