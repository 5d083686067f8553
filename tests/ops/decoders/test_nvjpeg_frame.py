"""The reader of JPEG frames, on real files of every flavor and on damaged ones."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu.declarations import Subsampling
from gradiva.ops.decoders.jpeg.gpu.frame import JpegFrame, read_frame
from gradiva.ops.decoders.jpeg.segments import count_scans
from tests.needs import needs_opencv
from tests.oracle import flavors, odd_jpegs
from tests.tiers import examples, few

pytestmark = pytest.mark.tiny

JPEGS = flavors.jpegs()
BASE = flavors.pil(flavors.ASTRONAUT, "JPEG", quality=90)
PROGRESSIVE = JPEGS["jpeg_progressive"]()
SCAN, FRAME = BASE.index(b"\xff\xda"), BASE.index(b"\xff\xc0")


def array(data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, np.uint8)


def frame(data: bytes) -> JpegFrame:
    return read_frame(array(data), probe(array(data)))


@pytest.mark.parametrize("name", few(JPEGS, every=5))
def test_agrees_with_pillow(name: str) -> None:
    data = JPEGS[name]()
    found = frame(data)
    with Image.open(io.BytesIO(data)) as image:
        layers: list[tuple[int, int, int, int]] = image.layer  # type: ignore[attr-defined]
        assert (found.info.width, found.info.height) == image.size
        assert found.factors == tuple((layer[1], layer[2]) for layer in layers)
        assert ("progressive" in found.info.coding) == bool(image.info.get("progressive"))
        assert found.info.orientation == image.getexif().get(0x0112, 1)
    assert found.damage == ""
    assert 0 <= found.share < 1
    assert found.interleaved


@pytest.mark.parametrize(
    ("name", "subsampling", "plain"),
    [
        ("jpeg_444", Subsampling.CSS_444, True),
        ("jpeg_422", Subsampling.CSS_422, True),
        ("jpeg_420", Subsampling.CSS_420, True),
        pytest.param("jpeg_cv440", Subsampling.CSS_440, True, marks=needs_opencv),
        pytest.param("jpeg_cv411", Subsampling.CSS_411, True, marks=needs_opencv),
        ("jpeg_gray", Subsampling.GRAY, True),
        ("jpeg_cmyk", Subsampling.CSS_444, True),
        ("jpeg_sampled_4x2", Subsampling.CSS_410, True),
        ("jpeg_sampled_mixed", Subsampling.UNKNOWN, False),
    ],
)
def test_subsampling(name: str, subsampling: Subsampling, plain: bool) -> None:
    found = frame(JPEGS[name]())
    assert (found.subsampling, found.plain_factors) == (subsampling, plain)


def with_factors(*factors: int) -> bytes:
    """BASE with other sampling factors written into its frame header."""
    data = bytearray(BASE)
    for i, factor in enumerate(factors):
        data[FRAME + 11 + 3 * i] = factor
    return bytes(data)


@pytest.mark.parametrize(
    ("factors", "subsampling", "plain"),
    [
        ((0x24, 0x11, 0x11), Subsampling.CSS_410V, True),
        ((0x22, 0x22, 0x22), Subsampling.CSS_444, False),
        ((0x22, 0x12, 0x12), Subsampling.CSS_422, False),
        ((0x22, 0x12, 0x21), Subsampling.UNKNOWN, False),
        ((0x11, 0x22, 0x22), Subsampling.UNKNOWN, False),
        ((0x31, 0x11, 0x11), Subsampling.UNKNOWN, True),
        ((0x32, 0x21, 0x21), Subsampling.UNKNOWN, False),
    ],
)
def test_rare_factors(factors: tuple[int, ...], subsampling: Subsampling, plain: bool) -> None:
    found = frame(with_factors(*factors))
    assert found.subsampling == subsampling
    assert found.plain_factors == (plain and subsampling != Subsampling.UNKNOWN) or (
        subsampling == Subsampling.UNKNOWN
    )


@pytest.mark.parametrize("factors", [(0x01, 0x11, 0x11), (0x51, 0x11, 0x11), (0, 0, 0)])
def test_impossible_factors_are_damage(factors: tuple[int, ...]) -> None:
    assert "sampling factors" in frame(with_factors(*factors)).damage


def test_colors_as_stored() -> None:
    assert frame(JPEGS["jpeg_rgb"]()).stored_rgb
    assert not frame(BASE).stored_rgb
    start = BASE.index(b"JFIF") - 4
    without_jfif = BASE[:start] + BASE[start + 18 :]
    assert not frame(without_jfif).stored_rgb
    place = without_jfif.index(b"\xff\xc0")
    named = bytearray(without_jfif)
    for i, letter in enumerate(b"RGB"):
        named[place + 10 + 3 * i] = letter
    assert frame(bytes(named)).stored_rgb
    adobe = b"\xff\xee\0\x0eAdobe\0\x64\0\0\0\0"
    assert frame(without_jfif[:2] + adobe + b"\0" + without_jfif[2:]).stored_rgb
    assert not frame(without_jfif[:2] + adobe + b"\1" + without_jfif[2:]).stored_rgb
    # JFIF is always YCbCr, whatever Adobe's segment says: libjpeg's rule.
    assert not frame(BASE[:2] + adobe + b"\0" + BASE[2:]).stored_rgb


def test_restarts_and_scans() -> None:
    assert frame(BASE).restart_interval == 0
    assert frame(JPEGS["jpeg_restart"]()).restart_interval == 3
    assert count_scans(memoryview(BASE)) == 1
    assert count_scans(memoryview(JPEGS["jpeg_restart"]())) == 1
    assert count_scans(memoryview(PROGRESSIVE)) == PROGRESSIVE.count(b"\xff\xda") == 10
    assert count_scans(memoryview(PROGRESSIVE[: len(PROGRESSIVE) // 2])) in range(1, 10)
    assert count_scans(memoryview(odd_jpegs.ARITHMETIC)) == 1


def test_a_file_of_several_scans_is_seen_from_its_first() -> None:
    data = bytearray(BASE)
    assert data[SCAN + 4] == 3
    data[SCAN + 4] = 1
    assert not frame(bytes(data)).interleaved


@pytest.mark.parametrize(
    ("data", "damage"),
    [
        (BASE[:-2], "has no end marker"),
        (BASE[: SCAN + 300], "has no end marker"),
        (BASE[:SCAN], "ends before its first scan"),
        (BASE[: FRAME + 30], "ends before its first scan"),
        (BASE[:SCAN] + b"junk" + BASE[SCAN:], "ends before its first scan"),
        (BASE[:FRAME] + BASE[FRAME:SCAN] + BASE[FRAME:], "has two frame headers"),
        (BASE[:SCAN].replace(b"\xff\xc4", b"\xff\xe5") + BASE[SCAN:], "lacks tables"),
        (BASE.replace(b"\xff\xdb", b"\xff\xe5"), "lacks tables"),
    ],
)
def test_damage_behind_the_frame_header_is_noted(data: bytes, damage: str) -> None:
    assert frame(data).damage == damage


def test_padding_behind_the_end_does_no_harm() -> None:
    assert frame(BASE + bytes(5000)).damage == ""
    assert frame(BASE + b"\n").damage == ""


def test_shares_are_even() -> None:
    """Small changes of a picture move its share anywhere."""
    shares = np.array(
        [
            frame(flavors.pil(flavors.ASTRONAUT[i:, j:], "JPEG")).share
            for i in range(20)
            for j in range(20)
        ]
    )
    low = (shares < 0.65).mean()
    assert abs(low - 0.65) < 4 * (0.65 * 0.35 / 400) ** 0.5  # four standard deviations
    assert frame(BASE).share == frame(bytes(bytearray(BASE))).share
    # Files padded to one length differ, too.
    padded = [
        flavors.pil(flavors.ASTRONAUT[i:], "JPEG", quality=90).ljust(12000, b"\0")
        for i in range(10)
    ]
    assert len({frame(data).share for data in padded}) == 10


def test_other_formats_are_refused() -> None:
    png = array(flavors.pil(flavors.ASTRONAUT, "PNG"))
    with pytest.raises(ValueError, match="a png file has no JPEG frame"):
        read_frame(png, probe(png))
    with pytest.raises(ValueError, match="empty file"):
        read_frame(np.empty(0, np.uint8), probe(array(BASE)))


def survives(data: bytes) -> None:
    try:
        found = frame(data)
    except ValueError:
        return  # the reason of the CPU's reader
    assert isinstance(found, JpegFrame)
    count_scans(memoryview(data))


SEEDS = [
    BASE[: SCAN + 400] + b"\xff\xd9",
    PROGRESSIVE,
    JPEGS["jpeg_exif6"](),
    JPEGS["jpeg_ycck"](),
    odd_jpegs.ARITHMETIC,
    odd_jpegs.SAMPLED_MIXED,
]
quiet = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@quiet
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(2, 700), st.integers(0, 255))),
    st.integers(0, 10**6),
)
def test_changed_bytes_never_break_it(
    seed: bytes, changes: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(seed)
    for position, value in changes:
        data[position % len(data)] = value
    survives(bytes(data[: 3 + end % len(data)]))


@quiet
@given(st.binary(max_size=300))
def test_any_bytes_behind_a_beginning_never_break_it(tail: bytes) -> None:
    survives(b"\xff\xd8\xff" + tail)
    survives(BASE[: FRAME + 19] + tail)


def test_every_cut_of_a_file(photographs: Path) -> None:
    small = flavors.pil(flavors.ASTRONAUT[:16, :16], "JPEG", exif=flavors.exif(6))
    for end in range(3, len(small)):
        survives(small[:end])
    for path in photographs.rglob("*.jpg"):
        assert frame(path.read_bytes()).damage == ""
