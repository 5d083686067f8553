"""JPEG at an eighth of its size: the bits of the library, or another way, whatever the file."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import gradiva
from gradiva import decoders, fn
from gradiva.eager.jit.background_kernel import at_once
from gradiva.eager.jit.jit import jit
from gradiva.eager.simd.intrinsics import put_word, word_at
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image_info import ImageInfo, at_scale
from gradiva.ops.decoders.jpeg import cpu as decoding
from gradiva.ops.decoders.jpeg import eighth as module
from gradiva.ops.decoders.jpeg.eighth import decode_eighth, eighth_works, fill_eighth
from gradiva.ops.decoders.jpeg.eighth_blocks import BEYOND, PLACES, clean_data
from gradiva.ops.decoders.jpeg.eighth_codes import SEVERAL, SHORT, TABLE, code_tables
from gradiva.ops.decoders.jpeg.eighth_scan import read_scan
from tests.tiers import examples

simplejpeg: Any = pytest.importorskip("simplejpeg")

Array = np.ndarray[Any, Any]
SUBSAMPLINGS = ("444", "422", "420", "440", "411", "gray")


def picture(height: int, width: int, noise: float, seed: int = 0) -> Array:
    """Waves with noise, to the ends of the range."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = np.stack([np.sin(y / 5 + x / 9), np.cos(x / 7), np.sin(y * x / 900)], -1)
    return np.clip(128 + 120 * waves + noise * random.standard_normal(waves.shape), 0, 255).astype(
        np.uint8
    )


def encoded(pixels: Array, subsampling: str = "420", quality: int = 90) -> Array:
    if subsampling == "gray":
        gray = np.ascontiguousarray(pixels[..., :1])
        made = simplejpeg.encode_jpeg(gray, quality, colorspace="GRAY", colorsubsampling="Gray")
    else:
        made = simplejpeg.encode_jpeg(pixels, quality, colorsubsampling=subsampling)
    return np.frombuffer(made, np.uint8).copy()


def by_pillow(pixels: Array, **options: Any) -> Array:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", **options)
    return np.frombuffer(stream.getvalue(), np.uint8).copy()


def eighth(data: Array) -> ImageInfo:
    info = probe(data)
    return at_scale(info, (-(-info.height // 8), -(-info.width // 8)))


def by_library(data: Array, color: str = "RGB") -> Array:
    """Raises ValueError for what the library has anything to say about."""
    info = eighth(data)
    least = {"min_height": info.height, "min_width": info.width}
    found: Array = simplejpeg.decode_jpeg(data, color, **least)
    return found


def by_ours(data: Array, color: str = "RGB") -> Array | None:
    """None: it is left to the library."""
    info = eighth(data)
    channels = 1 if color == "GRAY" else 3
    room = np.full((info.height + 1, info.width, channels), 77, np.uint8)
    done = fill_eighth(data, color, room[:-1])
    assert (room[-1] == 77).all(), "it wrote behind its output"
    return room[:-1] if done else None


def assert_same(data: Array, color: str = "RGB") -> None:
    found = by_ours(data, color)
    assert found is not None, "it was left to the library"
    np.testing.assert_array_equal(found, by_library(data, color))


def test_it_works_here() -> None:
    assert eighth_works()


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
@pytest.mark.parametrize("color", ["RGB", "BGR", "GRAY"])
def test_bits(subsampling: str, color: str) -> None:
    for height, width in ((64, 64), (8, 8), (9, 8), (17, 33), (100, 131), (48, 16), (15, 250)):
        for noise, quality in ((0, 90), (20, 50), (60, 95), (200, 100), (5, 3)):
            assert_same(encoded(picture(height, width, noise), subsampling, quality), color)


@pytest.mark.parametrize("pixels", ["black", "white", "squares", "edges"])
def test_extremes(pixels: str) -> None:
    """Blocks without any detail, and with as much as there can be."""
    y, x = np.mgrid[0:96, 0:96]
    made = {
        "black": np.zeros((96, 96)),
        "white": np.full((96, 96), 255),
        "squares": 255 * ((y + x) % 2),
        "edges": 255 * ((x // 5 + y // 3) % 2),
    }[pixels]
    whole = np.repeat(made.astype(np.uint8)[..., None], 3, 2)
    whole[..., 1] = whole[::-1, :, 1]
    for subsampling in SUBSAMPLINGS:
        for quality in (1, 75, 100):
            assert_same(encoded(whole, subsampling, quality))


@pytest.mark.parametrize(
    "options",
    [
        {"optimize": True},
        {"optimize": True, "quality": 100},
        {"restart_marker_blocks": 1},
        {"restart_marker_blocks": 5, "subsampling": "4:2:0"},
        {"restart_marker_rows": 1, "optimize": True},
        {"qtables": [[1] * 64, [2] * 64]},
        {"qtables": [[255] * 64, [200] * 64]},
        {"comment": b"\xff\xd9 and more", "exif": b"Exif\0\0" + bytes(20), "dpi": (300, 300)},
        {"icc_profile": bytes(range(256)) * 9},
    ],
    ids=str,
)
def test_files_of_other_encoders(options: dict[str, Any]) -> None:
    for noise in (3, 90):
        assert_same(by_pillow(picture(99, 130, noise), **options))
        assert_same(by_pillow(picture(99, 130, noise)[..., 0], **options))


def with_trailing(data: Array) -> Array:
    return np.concatenate([data, np.arange(99, dtype=np.uint8)])


def test_what_follows_the_image_does_not_matter() -> None:
    assert_same(with_trailing(encoded(picture(40, 50, 9))))


@pytest.mark.parametrize(
    "data",
    [
        by_pillow(picture(40, 50, 9), progressive=True),
        by_pillow(picture(40, 50, 9), keep_rgb=True),
        encoded(picture(40, 50, 9))[:-2],
        encoded(picture(40, 50, 9))[:-40],
        encoded(picture(40, 50, 9))[:300],
        np.concatenate(
            [encoded(picture(40, 50, 9))[:-2], np.array([1, 2, 3, 4, 255, 217], np.uint8)]
        ),
    ],
    ids=["progressive", "RGB", "no end", "cut", "cut in the header", "bytes before the end"],
)
def test_what_is_left_to_the_library(data: Array) -> None:
    assert by_ours(data) is None


def test_restart_markers_that_are_missing_or_out_of_order() -> None:
    data = by_pillow(picture(64, 64, 9), restart_marker_blocks=2)
    places = np.flatnonzero((data[:-1] == 0xFF) & (data[1:] >= 0xD0) & (data[1:] <= 0xD7))
    assert len(places) == 7
    assert_same(data)
    other = data.copy()
    other[places[1] + 1] = 0xD5
    assert by_ours(other) is None
    assert by_ours(np.delete(data, (places[2], places[2] + 1))) is None
    more = np.insert(data, places[2], (0xFF, 0xD2))
    assert by_ours(more) is None


def test_large_coefficients_are_left_to_the_library() -> None:
    """Their pixels would lie so far out that libjpeg's own ways differ."""
    data = encoded(picture(64, 64, 100), "444", 100)
    place = int(np.flatnonzero((data[:-1] == 0xFF) & (data[1:] == 0xDB))[0]) + 5
    data[place : place + 64] = 255
    assert by_ours(data) is None


OTHER_MEMORY = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from tests.ops.decoders.test_jpeg_eighth import by_library, by_ours, encoded, picture
files = [encoded(picture(160, 200, 30, seed), "420") for seed in range(4)]
wanted = [by_library(data) for data in files]
with ThreadPoolExecutor(3) as threads:
    for _ in range(30):
        for found, right in zip(threads.map(by_ours, files), wanted):
            assert (found == right).all()
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
def test_with_memory_that_is_overwritten_when_it_is_given_back() -> None:
    """Where the C library keeps none of it for the thread: what is used after that shows."""
    tunables = "glibc.malloc.tcache_count=0:glibc.malloc.perturb=85"
    subprocess.run(
        [sys.executable, "-c", OTHER_MEMORY],
        env={**os.environ, "GLIBC_TUNABLES": tunables, "MALLOC_PERTURB_": "85"},
        cwd=Path(__file__).parents[3],
        check=True,
        timeout=300,
    )


@settings(max_examples=examples(400))
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(SUBSAMPLINGS),
    st.integers(1, 6),
    st.booleans(),
    st.sampled_from(["RGB", "GRAY"]),
)
def test_damaged_files(seed: int, subsampling: str, count: int, inside: bool, color: str) -> None:
    """What is read at all is what the library reads, without a word of complaint."""
    assert_as_library(seed, subsampling, count, inside, color)


def test_some_damaged_files_are_read() -> None:
    read = [assert_as_library(seed, "420", 1, True, "RGB") for seed in range(60)]
    assert 5 < sum(read) < 55


def assert_as_library(seed: int, subsampling: str, count: int, inside: bool, color: str) -> bool:
    """Whether it is read."""
    random = np.random.default_rng(seed)
    height, width = random.integers(8, 80, 2).tolist()
    pixels = picture(height, width, float(random.choice([2, 30])), seed)
    data = encoded(pixels, subsampling, int(random.choice([30, 75, 98])))
    first = read_scan(data.data).begin if inside else 2  # type: ignore[union-attr]
    for place in random.integers(first, data.size, count):
        data[place] = random.choice([random.integers(256), 0, 0xFF, data[place] ^ 1])
    if random.random() < 0.2:
        data = data[: random.integers(first, data.size)].copy()
    try:
        info = eighth(data)
    except ValueError:
        return False
    if info.scale != 8 or info.height * info.width > 10**5:
        return False
    found = by_ours(data, color)
    if found is None:
        return False
    np.testing.assert_array_equal(found, by_library(data, color))
    return True


@pytest.mark.parametrize("cut", range(0, 700, 7))
def test_headers_that_end_early(cut: int) -> None:
    data = encoded(picture(30, 30, 5), "422")
    scan = read_scan(data.data)
    assert scan is not None
    assert cut >= scan.begin or read_scan(data[:cut].data) is None


def test_tables_of_codes() -> None:
    """Three codes of 1, 2 and 3 bits: the end of a block, 1 after no zeros, sixteen zeros."""
    ac = bytes((1, 1, 1, *[0] * 13)), bytes((0x00, 0x01, 0xF0))
    dc = bytes((0, 2, *[0] * 14)), bytes((0x00, 0x0C))
    tables = code_tables((dc,), (ac,))
    assert tables is not None
    of_dc, of_ac = tables[:TABLE], tables[TABLE:]
    assert (of_ac[: 0b111 << 13] != 0).all()
    assert not of_ac[0b111 << 13 : SHORT].any()
    assert said(of_ac[SHORT]) == (1, 1, 1)
    # 10, 1 bit of a value, again, and 0: two coefficients and the end in one entry.
    assert said(of_ac[SEVERAL + 0b1011000000000]) == (7, 3, 1)
    assert said(of_ac[SEVERAL + 0b1101100000000]) == (7, 33, 1)
    assert of_dc[0] & 0xFF == 2
    assert not of_dc[1 << 14 : SHORT].any(), "values of twelve bits are in no file of 8 bits"


def said(entry: Any) -> tuple[int, int, int]:
    """Bits, by how many coefficients it goes on, and whether it is the end of a block."""
    return entry & 0xFF, entry >> 8 & 0xFF, entry >> 16 & 1


@pytest.mark.parametrize("counts", [(2, *[0] * 15), (0, 4, *[0] * 14), (0, 5, *[0] * 14), [0] * 16])
def test_tables_that_cannot_be(counts: Any) -> None:
    """As many codes as there are of these lengths, or more; or none."""
    some = bytes((1, *[0] * 15)), bytes(1)
    assert code_tables(((some[0], b"\x10"),), (some,)) is None
    wrong = bytes(counts), bytes(sum(counts))
    assert code_tables((some,), (some,)) is not None
    assert code_tables((wrong,), (some,)) is None
    assert code_tables((some,), (wrong,)) is None


def test_places() -> None:
    """The first of the order that the standard draws, and none of even frequency but 0."""
    assert PLACES[:12].tolist() == [0, 1, 8, -1, 9, -1, 3, -1, -1, 24, -1, 25]
    assert sorted(set(PLACES.tolist()))[1:] == sorted(
        8 * row + column for row in (0, 1, 3, 5, 7) for column in (0, 1, 3, 5, 7)
    )


def test_cleaned_data() -> None:
    random = np.random.default_rng(0)
    for size in (0, 1, 7, 8, 9, 15, 16, 200, 3000):
        for many in (False, True):
            plain = random.integers(0, 256, size, np.uint8)
            if many:
                plain[random.random(size) < 0.3] = 0xFF
            stuffed = plain.tobytes().replace(b"\xff", b"\xff\0")
            data = np.frombuffer(b"head" + stuffed + b"\xff\xd9" + b"rest", np.uint8).copy()
            stream = np.full(data.size - 4 + BEYOND, 77, np.uint8)
            ends = np.zeros(1, np.int64)
            assert clean_data(data, 4, stream, ends)
            assert ends.tolist() == [size]
            np.testing.assert_array_equal(stream[:size], plain)
            assert not stream[size : size + BEYOND].any()
            for missing in (5, 6):
                assert not clean_data(data[:-missing].copy(), 4, stream, ends)


@jit
def _moved(source: Any, target: Any, place: int) -> Any:
    word = word_at(source, np.uint64(place))
    put_word(target, np.uint64(place + 1), word)
    return word


def test_words() -> None:
    source, target = np.arange(1, 21, dtype=np.uint8), np.zeros(21, np.uint8)
    for place in range(13):
        target[:] = 0
        word = _moved(source, target, place)
        assert word == int.from_bytes(source[place : place + 8].tobytes(), "big")
        np.testing.assert_array_equal(target[place + 1 : place + 9], source[place : place + 8])
        assert not target[: place + 1].any()
        assert not target[place + 9 :].any()


def test_which_files_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those at an eighth, also where they may not be written to; and in all modes alike."""
    asked: list[bool] = []

    def noted(data: Array, color: str, out: Array) -> bool:
        asked.append(fill_eighth(data, color, out))
        return asked[-1]

    module.eighth_works()  # which decodes a few files, too, when it is first asked
    monkeypatch.setattr(module, "fill_eighth", noted)
    monkeypatch.setattr(module, "_LEAST", 0)
    files = [encoded(picture(170, 200, 9, seed), "420") for seed in range(4)]
    with at_once():
        monkeypatch.setattr(module._background, "is_worth_compiling", lambda *_: True)
        for least, count in ((10, 4), (30, 0), (1, 4), (300, 0)):
            asked.clear()
            found = decoders.image(gradiva.as_batch(files), min_size=least)
            assert asked == [True] * count
            pipe = gradiva.Pipeline(batch_size=4, num_threads=2)
            with pipe:
                source = fn.external_source(source=lambda: files)
                pipe.set_outputs(fn.decoders.image(source, min_size=least))
            made = pipe.run()[0]
            pipe.close()
            for k in range(4):
                np.testing.assert_array_equal(found.at(k), made.at(k))
        read_only = files[0].copy()
        read_only.flags.writeable = False
        out = np.empty((22, 25, 3), np.uint8)
        assert decode_eighth(read_only, "RGB", out)
        monkeypatch.setattr(module, "_LEAST", read_only.size + 1)
        assert not decode_eighth(read_only, "RGB", np.empty_like(out))
    np.testing.assert_array_equal(out, by_library(files[0]))


def test_what_it_declines_is_decoded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._background, "is_worth_compiling", lambda *_: True)
    monkeypatch.setattr(module, "_LEAST", 0)
    data = by_pillow(picture(80, 90, 9), progressive=True)
    out = np.empty((10, 12, 3), np.uint8)
    assert not decode_eighth(data, "RGB", out)
    found = decoding.decode_jpeg(data, eighth(data), "RGB", out, False)
    np.testing.assert_array_equal(found, by_library(data))
