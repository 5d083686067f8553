"""All that walks over the segments of a JPEG says the same of one file, and what libjpeg-turbo
says: on the files of `jpeg_kinds`, which have everything that such a walk can meet."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva.ops.decoders.formats.probe import check_data, probe
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.decoders.jpeg.eighth_scan import read_scan
from gradiva.ops.decoders.jpeg.gpu.frame import read_frame
from gradiva.ops.decoders.jpeg.plain_headers import PlainHeader, read_plain_headers
from gradiva.ops.decoders.jpeg.rows import shortenable
from gradiva.ops.decoders.jpeg.segments import END, SCAN, count_scans, ends_well, segments
from tests.tiers import few

from .jpeg_kinds import exif, kinds, segment

KINDS = kinds()
BASE = KINDS["base"]
simplejpeg: Any = pytest.importorskip("simplejpeg")

Array = np.ndarray[Any, Any]


def array(data: bytes) -> Array:
    return np.frombuffer(data, np.uint8)


def plain(data: bytes) -> PlainHeader:
    found = np.full((1, len(PlainHeader._fields)), 7, np.int64)
    read_plain_headers(array(data), np.array([0]), np.array([len(data)]), 1 << 20, found)
    return PlainHeader._make(found[0].tolist())


def probed(data: bytes) -> ImageInfo | None:
    try:
        info = probe(array(data))
        check_data(array(data), info)
    except ValueError:
        return None
    return info


def by_library(data: bytes) -> tuple[int, int, str, str] | None:
    """Height, width, colors and subsampling by libjpeg-turbo; None for what it refuses."""
    try:
        found: tuple[int, int, str, str] = simplejpeg.decode_jpeg_header(data)
    except ValueError:
        return None
    return found


@pytest.mark.parametrize("name", KINDS)
def test_header(name: str) -> None:
    """What libjpeg-turbo reads has the size, the number of channels, and the colors that it has."""
    data = KINDS[name]
    found, expected = probed(data), by_library(data)
    if expected is None:
        return
    assert found is not None
    height, width, colors, _ = expected
    assert (found.height, found.width) == (height, width)
    assert found.channels == {"Gray": 1, "CMYK": 4, "YCCK": 4}.get(colors, 3)
    assert (found.color == "ycck") == (colors == "YCCK")
    assert count_scans(memoryview(data)) >= 1


@pytest.mark.parametrize("name", KINDS)
def test_walks_agree(name: str) -> None:
    data = KINDS[name]
    view, info, header = memoryview(data), probed(data), plain(data)
    if info is None:
        assert header.channels == 0
        return
    if header.channels:
        assert header[:3] == (info.height, info.width, info.channels)
        assert (info.coding, info.bits) == ("baseline", 8)
        assert header.has_exif or info.orientation == 1
    frame = read_frame(array(data), info)
    expected = by_library(data)
    if not frame.damage and expected is not None and info.channels == 3:
        assert frame.stored_rgb == (expected[2] == "RGB")
    if header.is_whole:
        factors = header.first, header.second, header.third
        assert frame.factors == tuple(divmod(pair, 16) for pair in factors[: header.channels])
        known = frame.stored_rgb, frame.restart_interval, frame.interleaved, frame.damage
        assert known == (bool(header.is_rgb), header.restart, True, "")
    scan = read_scan(view)
    if scan is not None:
        assert (scan.height, scan.width, len(scan.components)) == (
            info.height,
            info.width,
            info.channels,
        )
        assert scan.restart == frame.restart_interval
        assert scan.begin == next(end for marker, _, _, end, _ in segments(view) if marker == SCAN)
    part = shortenable(view, info)
    if part is not None:
        assert int.from_bytes(data[part.position : part.position + 2], "big") == info.height
        assert count_scans(view) == 1


@pytest.mark.parametrize("name", few(KINDS, every=4))
def test_pixels(name: str) -> None:
    """Whole and in a window: libjpeg-turbo's pixels, turned as Pillow turns them; what it refuses
    is refused."""
    data = KINDS[name]
    try:
        expected: Array | None = simplejpeg.decode_jpeg(data, "RGB")
    except ValueError:
        expected = None
    info = probed(data)
    try:
        got = gradiva.decoders.image(array(data))
    except gradiva.GradivaError:
        assert expected is None
        return
    assert info is not None
    if expected is None or info.channels == 4:
        return
    if name not in NOT_BY_PILLOW:
        assert info.orientation == orientation_by_pillow(data)
    if info.orientation == 6:
        expected = np.rot90(expected, -1)
    np.testing.assert_array_equal(got, expected)
    if min(expected.shape[:2]) > 40:
        window = gradiva.decoders.image_slice(
            array(data), start=(7, 9), shape=(20, 30), axes=(0, 1)
        )
        np.testing.assert_array_equal(window, expected[7:27, 9:39])


NOT_BY_PILLOW = {"exif 1 and 6", "tem"}
"""Pillow takes the first EXIF segment, we the first one that tells of a turn; and it does not know
all markers."""


def orientation_by_pillow(data: bytes) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Image.open(io.BytesIO(data)) as image:
            found: int = image.getexif().get(0x0112, 1)
    return found


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("garbage before the frame", "byte 158 is 0x12 where a marker should begin"),
        ("stuffed zero before the frame", "byte 159 is 0x00 where a marker should begin"),
        ("second soi", "another image begins at byte 20"),
        ("second soi first", "another image begins at byte 2"),
        ("end first", "no frame header before its image data"),
        ("scan first", "no frame header before its image data"),
        ("hierarchical", "hierarchical JPEG is not supported"),
        ("only fill bytes", "ends before its frame header"),
        ("two components", "2 components in 17 bytes"),
        ("progressive, cut", "Bogus Huffman table definition"),
    ],
)
def test_reasons(name: str, problem: str) -> None:
    with pytest.raises(gradiva.GradivaError, match=re.escape(problem)):
        gradiva.decoders.image(array(KINDS[name]))


def test_zeros_behind_the_first_segments() -> None:
    """A file whose end was never written."""
    with pytest.raises(ValueError, match="byte 20 is 0x00 where a marker should begin"):
        probe(array(BASE[:20] + bytes(100)))


@pytest.mark.parametrize("length", [0, 1])
def test_a_segment_without_length_is_passed_over(length: int) -> None:
    """As libjpeg-turbo does: its two bytes are its length."""
    odd = b"\xff\xe5" + length.to_bytes(2, "big")
    for place in (2, 20, BASE.index(b"\xff\xda")):
        data = BASE[:place] + odd + BASE[place:]
        np.testing.assert_array_equal(
            gradiva.decoders.image(array(data)), simplejpeg.decode_jpeg(data)
        )


def test_behind_stray_bytes() -> None:
    """What follows stray bytes behind the frame header counts, as in libjpeg-turbo and Pillow."""
    for name in ("exif behind garbage", "ycck, adobe behind garbage"):
        info = probe(array(KINDS[name]))
        assert info.orientation == (6 if name.startswith("exif") else 1)
        assert info.color == ("ycbcr" if name.startswith("exif") else "ycck")


def test_jfif_and_adobe_are_as_long_as_libjpeg_wants_them() -> None:
    """A shorter JFIF segment does not tell of colors: Adobe's does, which says RGB."""
    adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\0")
    for size, is_rgb in ((14, False), (13, True), (5, True)):
        jfif = segment(0xE0, BASE[6 : 6 + size])
        data = BASE[:2] + jfif + adobe + BASE[20:]
        assert (simplejpeg.decode_jpeg_header(data)[2] == "RGB") == is_rgb
        assert read_frame(array(data), probe(array(data))).stored_rgb == is_rgb
        assert plain(data).is_rgb == is_rgb


@pytest.mark.parametrize("name", ["interval too short", "interval too long"])
def test_restart_intervals_that_libjpeg_refuses(name: str) -> None:
    data = KINDS[name]
    assert by_library(data) is None
    assert "restart interval" in read_frame(array(data), probe(array(data))).damage
    assert plain(data).channels == 0


def test_segments() -> None:
    view = memoryview(KINDS["fill bytes before the scan"])
    found = list(segments(view))
    assert [marker for marker, *_ in found] == [
        *(0xE0, 0xDB, 0xDB, 0xC0, 0xC4, 0xC4, 0xC4, 0xC4, SCAN, END)
    ]
    assert all(stray < 0 for *_, stray in found)
    assert all(view[begin] == 0xFF and view[begin + 1] == marker for marker, begin, *_ in found)
    assert found[-1][3] == len(view)
    stray = [one for one in segments(memoryview(KINDS["garbage before tables"])) if one[4] >= 0]
    assert [(marker, begin, place) for marker, begin, _, _, place in stray] == [(0xDB, 23, 20)]


def test_ends() -> None:
    bad = ("no end marker", "half", "cut before the scan", "end before the scan", "only an end")
    good = ("base", "mpo", "video behind", "progressive", "scans apart", "app in the scan")
    assert [ends_well(memoryview(KINDS[name])) for name in bad] == [False] * len(bad)
    assert [ends_well(memoryview(KINDS[name])) for name in good] == [True] * len(good)
    scan = BASE.index(b"\xff\xda")
    for size in range(3):
        assert ends_well(memoryview(BASE[: scan + 14] + bytes(size) + b"\xff\xd9"))
    assert count_scans(memoryview(KINDS["scans apart"])) == 3
    assert count_scans(memoryview(KINDS["mpo"])) == 1


@pytest.mark.parametrize("fraction", few([k / 20 for k in range(2, 20)], every=3))
def test_a_cut_progressive_file_is_no_black_image(fraction: float) -> None:
    """simplejpeg does not tell of an error behind a warning, and leaves the memory as it was."""
    data = KINDS["progressive"]
    for size in range(int(fraction * len(data)), int((fraction + 0.05) * len(data))):
        with pytest.raises(gradiva.GradivaError, match=r"ends early|damaged"):
            gradiva.decoders.image(array(data[:size]))


def test_a_black_image_with_a_flaw_is_taken() -> None:
    stream = io.BytesIO()
    Image.new("RGB", (64, 64)).save(stream, "JPEG", progressive=True)
    data = stream.getvalue()
    place = data.rindex(b"\xff\xda")
    flawed = data[:place] + b"\1" + data[place:]
    with pytest.raises(ValueError, match="extraneous"):
        simplejpeg.decode_jpeg(flawed)
    assert not np.asarray(gradiva.decoders.image(array(flawed))).any()


def test_exif_comes_from_the_first_image_alone() -> None:
    turned = BASE[:2] + exif(6) + BASE[2:]
    assert probe(array(BASE + turned)).orientation == 1
    assert probe(array(turned + BASE)).orientation == 6
